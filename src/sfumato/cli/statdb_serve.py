"""sfumato statdb serve: put databases behind HTTP."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import fields
from pathlib import Path
from socket import socket
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sfumato.cli import show
from sfumato.cli.ledgers import ledger_option
from sfumato.errors import SfumatoWarning
from sfumato.server.limits import Limits
from sfumato.server.logs import Log

if TYPE_CHECKING:
    from sfumato.server.serving import Wire

_Function = TypeVar("_Function", bound=Callable[..., Any])
_USUAL = {one.name: one.default for one in fields(Limits)}


def _limit(name: str, text: str) -> Callable[[_Function], _Function]:
    usual = _USUAL[name]
    kind = click.FloatRange if isinstance(usual, float) else click.IntRange
    return click.option(
        f"--limit-{name.replace('_', '-')}",
        name,
        type=kind(0, min_open=True),
        default=usual,
        show_default=True,
        help=text,
    )


@click.command()
@click.argument("folders", nargs=-1, required=True, metavar="FOLDER...")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=8000,
    show_default=True,
    help="Port to listen on; 0 takes a free one.",
)
@click.option(
    "--address-file",
    metavar="FILE",
    help="Write the address into FILE once it can be asked; removed at the end.",
)
@click.option(
    "--workers",
    type=click.IntRange(1, 256),
    default=1,
    show_default=True,
    help="Processes that answer; limits are counted by each.",
)
@click.option(
    "--postgres-port",
    type=click.IntRange(0, 65_535),
    help="Answer SQL tools (psql, DBeaver, Metabase) there as well; 0 takes a free one.",
)
@click.option(
    "--postgres-certificate",
    metavar="FILE",
    help="Certificate for TLS with SQL tools, as PEM; needed where others can connect.",
)
@click.option("--postgres-key", metavar="FILE", help="Its key, if it is in a file of its own.")
@click.option("--require-tokens", is_flag=True, help="Ask for tokens on loopback addresses, too.")
@click.option(
    "--behind-proxy",
    is_flag=True,
    help="A proxy on this machine hands requests on; tokens are asked for.",
)
@click.option(
    "--proxy-address",
    "proxies",
    multiple=True,
    metavar="ADDRESS",
    help="Address or network of a proxy on another machine; may be repeated.",
)
@_limit("rate", "Plain questions a second in the long run, per token; long ones count as several.")
@_limit("burst", "The same at once after a pause, per token; a batch of n counts as n.")
@_limit("concurrency", "Requests at once, per token.")
@_limit("together", "Requests at once, of all tokens.")
@_limit("body", "Longest body of a request, in bytes.")
@_limit("batch", "Most questions in a batch.")
@_limit("groups", "Most groups of a GROUP BY.")
@_limit("seconds", "Longest time for the questions of a request.")
@_limit("head", "Longest head of a request, in bytes.")
@_limit("head_seconds", "Longest time for the head of a request.")
@_limit("connections", "Most connections.")
@_limit("failures", "Requests a second without a valid token, per address.")
@ledger_option
@click.option("--get", "path", metavar="PATH", help="Print what GET PATH answers, and stop.")
def serve(
    folders: tuple[str, ...],
    host: str,
    port: int,
    address_file: str | None,
    workers: int,
    postgres_port: int | None,
    postgres_certificate: str | None,
    postgres_key: str | None,
    require_tokens: bool,
    behind_proxy: bool,
    proxies: tuple[str, ...],
    ledger: str | None,
    path: str | None,
    **limits: Any,
) -> int:
    """Answer questions about the databases in FOLDER... over HTTP, and show a page to ask them.

    Only this machine can reach the usual address. On any other, every database needs a token:
    sfumato statdb token create FOLDER --name NAME.

    \b
    sfumato statdb serve patients.statdb
    sfumato statdb serve patients.statdb --workers 4
    sfumato statdb serve patients.statdb --postgres-port 5433
    sfumato statdb serve patients.statdb --port 0 --address-file server.url
    sfumato statdb serve patients.statdb --get "/v1/query?sql=SELECT COUNT(*) FROM t"
    """
    from sfumato.server.proxies import LOOPBACK
    from sfumato.server.serving import address_of, create_app, listen, stated, tools
    from sfumato.server.workers import Plan

    trusted = (*proxies, *(LOOPBACK if behind_proxy else ()))
    certificate = (postgres_certificate, postgres_key)
    plan = Plan(folders, host, require_tokens, trusted, Limits(**limits), ledger, certificate)
    if workers > 1 and path is None:
        _work(plan, port, postgres_port, workers, address_file)
        return 0
    app = create_app(
        plan.folders,
        host=plan.host,
        require_tokens=plan.require_tokens,
        proxies=plan.proxies,
        limits=plan.limits,
        log=None if path is None else Log(io.StringIO()),
        ledger=plan.ledger,
    )
    for name, served in app.service.databases.items():
        if served.state.statdb.seed is not None:
            _warn_of_seed(name)
    if path is not None:
        return _get(app, path)
    with ExitStack() as unserved:
        unserved.callback(app.service.close)
        sock = unserved.enter_context(listen(host, port))
        wire = None
        if postgres_port is not None:
            wire = tools(host, listen(host, postgres_port), *certificate)
            unserved.callback(wire.sock.close)
        with stated(address_of(sock), address_file):
            unserved.pop_all()  # from here on the server closes them
            _run(app, sock, wire)
    return 0


def _work(
    plan: Any, port: int, postgres_port: int | None, count: int, address_file: str | None
) -> None:
    """Serve by several processes."""
    from sfumato.server.serving import address_of, require_libraries, stated, tools
    from sfumato.server.workers import Workers, reserved, sockets
    from sfumato.statdb.access.places import database_name
    from sfumato.statdb.store.header import read_header

    require_libraries()
    names = [database_name(Path(one)) for one in plan.folders]
    for name, folder in zip(names, plan.folders, strict=True):
        if read_header(Path(folder))["facts"].get("seed") is not None:
            _warn_of_seed(name)
    log = Log()
    with reserved(plan), ExitStack() as listening:
        socks = [listening.enter_context(one) for one in sockets(plan.host, port, count)]
        url, wires = address_of(socks[0]), []
        if postgres_port is not None:
            wires = [listening.enter_context(one)
                     for one in sockets(plan.host, postgres_port, count)]  # fmt: skip
            tools(plan.host, wires[0], *plan.certificate)  # refused here, if it must be
        workers = Workers(plan, socks, log, wires)
        workers.start()
        with stated(url, address_file):
            _say(url, names, wires[0] if wires else None)
            log.write("start", url=url, databases=len(names), workers=count)
            workers.watch()
    log.write("stop")


def _warn_of_seed(name: str) -> None:
    warnings.warn(
        f"{name} was made with a seed that is short, for experiments: whoever tries seeds "
        "and guesses rows can check the guess; do not serve people's data from it",
        SfumatoWarning,
        stacklevel=3,
    )


def _run(app: Any, sock: socket, wire: Wire | None) -> None:
    """Say where, and serve."""
    from sfumato.server.serving import address_of, run

    url, names = address_of(sock), app.service.databases
    _say(url, list(names), None if wire is None else wire.sock)
    app.service.log.write("start", url=url, databases=len(names))
    run(app, sock, wire)
    app.service.log.write("stop")


def _say(url: str, names: Sequence[str], wire: socket | None) -> None:
    from sfumato.server.serving import address_of

    page = show.console()
    show.say(page, "Serving ", show.bold(", ".join(names)), f" on {url}", wrap=False)
    if wire is not None:
        address = address_of(wire, "postgresql")
        show.say(page, f"SQL tools connect to {address}/{names[0]}", wrap=False)
    show.say(page, "Ask there, or stop with Ctrl-C.")


def _get(app: Any, path: str) -> int:
    """Ask without a server, in Datasette's manner; the ledger is written all the same."""
    from sfumato.server.in_process import get

    reply = get(app, path)
    click.echo(reply.body, nl=reply.media.startswith("application/json"))
    return 0 if reply.status < 400 else 2
