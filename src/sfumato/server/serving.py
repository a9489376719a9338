"""Start a server on an address, and stop it in good order."""

from __future__ import annotations

import ipaddress
import logging
import os
import re
import signal
import socket
import ssl
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

from sfumato.errors import MissingExtra, ParameterError
from sfumato.server.access import Door
from sfumato.server.app import App
from sfumato.server.databases import open_all
from sfumato.server.edge import BACKLOG, Connection, Gate, places_for
from sfumato.server.limits import Limits, Meter
from sfumato.server.logs import Handler, Log
from sfumato.server.metrics import Metrics
from sfumato.server.proxies import Proxies
from sfumato.server.repeating import repeating
from sfumato.server.service import Service

if TYPE_CHECKING:
    import uvicorn

PATIENCE = 10  # seconds that requests under way get when the server is stopped
# seconds that a thread may keep the interpreter while others want it: with the usual 5 milliseconds
# a long question that is being read makes every other one wait several times as long
_SWITCH = 0.0005
_LONGEST = 1000  # bytes of an address
_ADDRESS = rb"(http://(\[[^\]\s]+\]|[^\s:/]+):[0-9]+(/\S*)?\n)?"


class Wire(NamedTuple):
    """Where SQL tools connect to: a listening socket, and TLS if there is any."""

    sock: socket.socket
    tls: ssl.SSLContext | None


def create_app(
    folders: Sequence[str | Path],
    *,
    host: str = "127.0.0.1",
    require_tokens: bool = False,
    proxies: Sequence[str] = (),
    limits: Limits | None = None,
    log: Log | None = None,
    ledger: str | None = None,
    beside: bool = False,
) -> App:
    """The application over these databases, for a server that listens on ``host``.

    ``proxies`` are the addresses of proxies in front of it, whose word is taken for where a request
    comes from. Behind one, as on any address that others can reach, everybody needs a token.
    ``ledger`` is the URL of one that several servers share; ``beside`` others, which are workers of
    the same server, this one writes a ledger in the folder.
    """
    require_libraries()
    loopback = is_loopback(host)
    reachable = not loopback or bool(proxies)
    trusted = Proxies.of(proxies)
    if log is None:
        log = Log()
        for name in ("sfumato", "psycopg"):
            _tell_in_lines(logging.getLogger(name), log)
    databases = open_all(folders, log, ledger=ledger, beside=beside)
    try:
        for served in databases.values():
            if reachable and not len(served.tokens):
                where = host if not loopback else "the proxy"
                raise ParameterError(
                    f"{where} can be reached by others, and {served.folder} has no valid token; "
                    f"make one: sfumato statdb token create {served.folder} --name NAME",
                    parameter="host",
                )
    except BaseException:
        for served in databases.values():
            served.close()
        raise
    limits, threads = limits or Limits(), max(2, os.cpu_count() or 1)
    return App(
        Service(
            door=Door(databases, loopback, require_tokens or reachable, trusted),
            limits=limits,
            meter=Meter(limits, threads=threads),
            metrics=Metrics(),
            log=log,
            pool=ThreadPoolExecutor(threads + 1, "query"),  # one more than anybody can fill
        )
    )


def run(app: App, sock: socket.socket, wire: Wire | None = None) -> None:
    """Serve until the process is told to stop; requests under way are answered first."""
    running(create_server(app, wire), sock)


def running(server: uvicorn.Server, sock: socket.socket) -> None:
    """Let a server serve until the process is told to stop."""
    # uvicorn repeats the signal that stopped it, to whoever handled it before
    before = {one: signal.signal(one, _ignore) for one in (signal.SIGINT, signal.SIGTERM)}
    sys.setswitchinterval(_SWITCH)
    try:
        server.run(sockets=[sock])
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
        sock.close()


def create_server(app: App, wire: Wire | None = None) -> uvicorn.Server:
    """A server that is not started yet; it is given a listening socket, and may have another."""
    from sfumato.server.wire.endpoint import Endpoint

    limits, metrics = app.service.limits, app.service.metrics
    gate = Gate(limits, places_for(limits), metrics.refused)
    metrics.connections = gate.__len__
    if wire is not None:
        app.beside = [Endpoint(app.service, gate, wire.sock, wire.tls)]
    return server_of(app, repeating(gate, app.service), app.service.log)


def server_of(app: Any, connections: type[Connection], log: Log) -> uvicorn.Server:
    """A server of any application."""
    import uvicorn

    logger = logging.getLogger("uvicorn.error")
    _tell_in_lines(logger, log)
    logger.propagate = False
    logger.setLevel(logging.WARNING)
    config = uvicorn.Config(
        app,
        http=connections,
        backlog=BACKLOG,
        lifespan="on",
        ws="none",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=PATIENCE,
    )
    return uvicorn.Server(config)


def _tell_in_lines(logger: logging.Logger, log: Log) -> None:
    """Let what a library says be lines of the server's log."""
    logger.handlers = [Handler(log)]


def listen(host: str, port: int, *, spread: bool = False) -> socket.socket:
    """A socket on an address; port 0 takes a free one.

    Several may listen on one address if all of them ``spread`` what comes.
    """
    try:
        kind, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=kind, reuse_port=spread)
    except OSError as error:
        raise ParameterError(
            f"cannot listen on {host} port {port}: {error.strerror}; choose another --port, or "
            "stop who has it",
            parameter="port",
        ) from error


def tools(host: str, sock: socket.socket, certificate: str | None, key: str | None) -> Wire:
    """How SQL tools are served on a socket; where others can reach it, a certificate is needed."""
    from sfumato.server.wire.startup import tls_context

    if certificate is None and not is_loopback(host):
        raise ParameterError(
            f"{host} can be reached by others, and tokens would come there as plain text; give "
            "--postgres-certificate and --postgres-key, or leave out --postgres-port",
            parameter="postgres_certificate",
        )
    return Wire(sock, None if certificate is None else tls_context(certificate, key))


def address_of(sock: socket.socket, scheme: str = "http") -> str:
    """The URL of a listening socket."""
    host, port = sock.getsockname()[:2]
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


@contextmanager
def stated(url: str, path: str | None, *, private: bool = False) -> Iterator[None]:
    """Keep the address in a file for as long as it is served; None for no file.

    The socket listens already, so whoever reads the file may ask at once. The file appears whole:
    what a killed server left behind is replaced, and nothing else. A ``private`` one only its
    owner may read.
    """
    if path is None:
        yield
        return
    file, text = Path(path), f"{url}\n"
    whole = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        if not _is_free(file):
            raise ParameterError(
                f"{path} exists, and is no address of a server that was stopped; choose another "
                "--address-file",
                parameter="address_file",
            )
        whole.touch(0o600 if private else 0o666, exist_ok=False)
        whole.write_text(text, "utf-8")
        whole.replace(file)
    except OSError as error:
        whole.unlink(missing_ok=True)
        raise ParameterError(
            f"cannot write {path}: {error.strerror}; choose another --address-file",
            parameter="address_file",
        ) from error
    try:
        yield
    finally:
        # another server may have taken the file since, or its owner used the name otherwise
        with suppress(OSError):
            if _begin_of(file) == text.encode():
                file.unlink()


def _is_free(file: Path) -> bool:
    """Whether nothing is lost when an address is written there: as after mktemp, or a kill."""
    if not file.exists():
        return True
    return file.is_file() and re.fullmatch(_ADDRESS, _begin_of(file)) is not None


def _begin_of(file: Path) -> bytes:
    with file.open("rb") as opened:
        return opened.read(_LONGEST)


def stop_quietly() -> None:
    """What a signal does that asks to stop."""
    os.kill(os.getpid(), signal.SIGTERM)


def _ignore(_signal: int, _frame: FrameType | None) -> None: ...


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine only."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def require_libraries() -> None:
    """Raise if the extra is not installed."""
    try:
        import starlette
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise MissingExtra("sfumato statdb serve", "server") from error
    del starlette
