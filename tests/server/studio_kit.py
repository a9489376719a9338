"""A desk on a port of its own, for tests that talk to it as browsers and strangers do."""

from __future__ import annotations

import http.client
import io
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sfumato.server.logs import Log
from sfumato.studio.desk import Desk
from sfumato.studio.serving import app_of, listen_near, new_desk, server_for
from tests.support.waiting import PATIENCE

PATIENTS = Path(__file__).parents[2] / "src" / "sfumato" / "data"


@dataclass(frozen=True, slots=True)
class Running:
    """A desk that is served, its address, and what it logs."""

    desk: Desk
    address: str
    room: str
    log: io.StringIO

    @property
    def port(self) -> int:
        return int(urlsplit(self.address).port or 0)

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def served(table: Path | None = None) -> Iterator[Running]:
    with new_desk() as desk:
        if table is not None:
            desk.open(str(table))
        sock, _ = listen_near(0)
        log = io.StringIO()
        app, address = app_of(desk, sock, Log(log))
        server = server_for(app)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]}, daemon=True)
        thread.start()
        try:
            yield Running(desk, address, app.door.room, log)
        finally:
            server.should_exit = True
            thread.join(PATIENCE)
            sock.close()
            assert not thread.is_alive()


@dataclass(frozen=True, slots=True)
class Told:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def code(self) -> str:
        return str(json.loads(self.body)["error"]["code"])


def request(
    running: Running, method: str, path: str, body: bytes | None = None, **headers: str
) -> Told:
    """One request, exactly with these headers (and Host, unless it is given)."""
    connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=PATIENCE)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        connection.request(method, path, body, named)
        answer = connection.getresponse()
        return Told(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
    finally:
        connection.close()


def enter(running: Running) -> str:
    """The cookie that the printed address gives."""
    told = request(running, "GET", "/?" + urlsplit(running.address).query)
    assert told.status == 200
    return told.headers["set-cookie"].partition(";")[0]


def post(running: Running, cookie: str, action: str, words: Any = None, **headers: str) -> Told:
    """What the page would send."""
    usual = {
        "Cookie": cookie, "Origin": running.origin, "Content_Type": "application/json",
        "Sec_Fetch_Site": "same-origin",
    }  # fmt: skip
    kept = {name: value for name, value in {**usual, **headers}.items() if value}
    return request(running, "POST", running.room + action, json.dumps(words or {}).encode(), **kept)
