"""sfumato studio: a desk in the browser, for this machine only."""

from __future__ import annotations

import webbrowser
from typing import Any

import click

from sfumato.cli import show
from sfumato.cli.reading import file_options

_PORT = 8010


@click.command()
@click.argument("table", required=False)
@click.option(
    "-s", "--schema", metavar="FILE", help="Begin with the roles of this schema, not with guesses."
)
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=_PORT,
    show_default=True,
    help="Port to listen on; a free one is taken where somebody has it, and for 0.",
)
@click.option("--no-browser", is_flag=True, help="Print the address, and open nothing.")
@click.option(
    "--address-file",
    metavar="FILE",
    help="Write the address into FILE, for its owner alone, once it can be opened; removed at the "
    "end.",
)
@file_options
def studio(
    table: str | None,
    schema: str | None,
    port: int,
    no_browser: bool,
    address_file: str | None,
    **reading: Any,
) -> int:
    """Open a desk in the browser: look at TABLE, decide, publish.

    \b
    sfumato studio
    sfumato studio patients.csv
    sfumato studio patients.csv -s schema.toml --no-browser

    Only this machine can reach it, with the address that is printed, which works once. Nothing
    leaves the machine, and nothing is written but where you say. What the desk keeps lies in a
    folder of its own, which is removed when you stop it with Ctrl-C.
    """
    from sfumato.server.serving import running, stated
    from sfumato.studio.serving import app_of, listen_near, new_desk, page_that_opens, server_for

    with new_desk() as desk:
        if table is not None:
            given = {name: value for name, value in reading.items() if value}
            desk.open(table, schema=schema, reading=given)
        sock, wanted = listen_near(port)
        with sock:
            app, address = app_of(desk, sock)
            page = show.console()
            if not wanted:
                show.say(page, f"Somebody has port {port}; this desk takes a free one.")
            show.say(page, "The desk is at ", show.bold(address), wrap=False)
            show.say(page, "The address works once. Stop with Ctrl-C.")
            with stated(address, address_file, private=True):
                if not no_browser:
                    webbrowser.open(page_that_opens(desk, address).as_uri())
                running(server_for(app), sock)
    show.say(page, "The desk is cleared.")
    return 0
