"""Servers that SQL tools can ask, and a client that may send whatever it likes."""

from __future__ import annotations

import io
import socket
import struct
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from sfumato.server.app import App
from sfumato.server.logs import Log
from sfumato.server.serving import Wire, address_of, create_app, create_server, listen
from tests.server.kit import GENEROUS
from tests.support.waiting import PATIENCE


@dataclass(frozen=True)
class Served:
    """A running server: its HTTP address, and the port for tools."""

    app: App
    url: str
    port: int
    lines: io.StringIO

    def address(self, database: str, **options: object) -> str:
        stated = {"host": "127.0.0.1", "port": self.port, "dbname": database, "user": "tester",
                  "connect_timeout": int(PATIENCE), **options}  # fmt: skip
        return " ".join(f"{name}={value}" for name, value in stated.items())

    @contextmanager
    def connected(self, database: str, **options: object) -> Iterator[psycopg.Connection[Any]]:
        with psycopg.connect(self.address(database, **options), autocommit=True) as connection:
            yield connection

    def rows(self, database: str, sql: str, values: Sequence[Any] | None = None) -> list[Any]:
        with self.connected(database) as connection:
            return connection.execute(sql.encode(), values).fetchall()

    def log(self) -> str:
        self.app.service.log.flush()
        return self.lines.getvalue()


@contextmanager
def serving(*folders: Path, tls: Any = None, **options: Any) -> Iterator[Served]:
    lines = io.StringIO()
    app = create_app(folders, **{"limits": GENEROUS, **options}, log=Log(lines))
    sock, tools = listen("127.0.0.1", 0), listen("127.0.0.1", 0)
    port = tools.getsockname()[1]
    server = create_server(app, Wire(tools, tls))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]}, daemon=True)
    thread.start()
    try:
        yield Served(app, address_of(sock), port, lines)
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
        assert not thread.is_alive()


class Raw:
    """A client that speaks bytes."""

    def __init__(self, port: int, patience: float = PATIENCE) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), patience)
        self.stream = self.socket.makefile("rb")

    def __enter__(self) -> Raw:
        return self

    def __exit__(self, *_: object) -> None:
        self.stream.close()
        self.socket.close()

    def send(self, content: bytes) -> None:
        self.socket.sendall(content)

    def begin(self, database: str, **settings: str) -> list[tuple[bytes, bytes]]:
        self.send(startup(database, **settings))
        return self.until(b"Z")

    def message(self) -> tuple[bytes, bytes] | None:
        """The next message; None if the server hung up."""
        try:
            head = self.stream.read(5)
        except ConnectionError:
            return None
        if len(head) < 5:
            return None
        kind, length = struct.unpack("!cI", head)
        return kind, self.stream.read(length - 4)

    def until(self, last: bytes) -> list[tuple[bytes, bytes]]:
        """All messages to one of a kind, or to the end."""
        found: list[tuple[bytes, bytes]] = []
        while (one := self.message()) is not None:
            found.append(one)
            if one[0] == last:
                break
        return found

    def ask(self, sql: str) -> list[tuple[bytes, bytes]]:
        self.send(framed(b"Q", sql.encode() + b"\0"))
        return self.until(b"Z")


def framed(kind: bytes, body: bytes) -> bytes:
    return struct.pack("!cI", kind, len(body) + 4) + body


def startup(database: str, **settings: str) -> bytes:
    pairs = {"user": "tester", "database": database, **settings}
    body = b"".join(f"{name}\0{value}\0".encode() for name, value in pairs.items()) + b"\0"
    return struct.pack("!II", len(body) + 8, 196608) + body


def fields(error: bytes) -> dict[str, str]:
    """The fields of an error."""
    return {part[:1].decode(): part[1:].decode() for part in error.split(b"\0") if part}
