"""Start a desk: a folder of its own, a port of this machine, and an address that works once."""

from __future__ import annotations

import errno
import shutil
import socket
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.errors import ParameterError
from sfumato.io import unfinished
from sfumato.io.owner_state import private_file
from sfumato.server.edge import Gate, guarded, places_for
from sfumato.server.logs import Log
from sfumato.server.serving import address_of, listen, require_libraries, server_of
from sfumato.studio.app import LIMITS, App
from sfumato.studio.desk import Desk
from sfumato.studio.door import Door

if TYPE_CHECKING:
    import uvicorn

HOST, PORT = "127.0.0.1", 8010


@contextmanager
def new_desk() -> Iterator[Desk]:
    """A desk over a folder that only its owner may open, removed at the end.

    One that is left by a desk that was killed is removed by whichever command runs next.
    """
    require_libraries()
    home = unfinished.beside(Path(tempfile.gettempdir()) / "desk", unfinished.NEW)
    with unfinished.begun(home, home.with_name("desk")):
        home.mkdir(mode=0o700)
        desk = Desk(home)
        try:
            yield desk
        finally:
            desk.clear()
            shutil.rmtree(home, ignore_errors=True)


def listen_near(port: int) -> tuple[socket.socket, bool]:
    """A socket on this port, or on a free one if somebody has it; and whether it is this one."""
    try:
        return listen(HOST, port), True
    except ParameterError as error:
        taken = isinstance(error.__cause__, OSError) and error.__cause__.errno == errno.EADDRINUSE
        if not taken:
            raise
    return listen(HOST, 0), False


def app_of(desk: Desk, sock: socket.socket, log: Log | None = None) -> tuple[App, str]:
    """The application for a socket, and the address that lets its owner in, once."""
    door = Door(sock.getsockname()[1])
    return App(desk, door, log or Log()), f"{address_of(sock)}{door.query}"


def server_for(app: App) -> uvicorn.Server:
    """A server that is not started yet; it is given a listening socket."""
    gate = Gate(LIMITS, places_for(LIMITS), Counter())
    return server_of(app, guarded(gate), app.log)


def page_that_opens(desk: Desk, address: str) -> Path:
    """A file that leads a browser to the address.

    What a browser is started with can be seen by everybody on the machine; this file cannot.
    """
    page = (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>sfumato</title>\n'
        f'<meta http-equiv="refresh" content="0;url={address}"></head>\n'
        f'<body><p><a href="{address}">To the desk</a></p></body></html>\n'
    )
    return private_file(desk.home / "open.html", page.encode())
