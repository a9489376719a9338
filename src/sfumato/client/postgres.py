"""Ask a server over the PostgreSQL protocol, where only that port can be reached.

    db = sf.connect("postgresql://data.example.org:5433/patients", token=...)

The calls and what they give are those of client/__init__.py: answers come as the Arrow streams
that HTTP gives, one to a row, which the setting ``sfumato.answers = arrow`` asks for.
"""

from __future__ import annotations

import io
import json
import socket
import ssl
import struct
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import parse_qs, unquote, urlsplit

import numpy as np
import pyarrow as pa

from sfumato.client import Connection, count_of, is_near, result_of
from sfumato.core.answer import Answer, CountAnswers, Result
from sfumato.core.query import Query
from sfumato.errors import ParameterError, QueryRefused, RemoteError
from sfumato.queries.asked import condition_of, question_of, several
from sfumato.queries.sql.writing import sql_of

_AT_ONCE = 50  # questions that are sent before the first answer is read
_REFUSED = ("42601", "42703", "42803", "42804", "0A000", "22P02")


def connect(
    url: str, token: str | None, database: str | None, timeout: float
) -> PostgresConnection:
    """A connection to a database by postgresql://HOST:PORT/DATABASE?sslrootcert=FILE."""
    line = _Line.to(url, token, database, timeout)
    try:
        line.open()
    except BaseException:
        line.close()
        raise
    return PostgresConnection(line.database, cast(Any, line))


class PostgresConnection(Connection):
    """A database on a server; what it answers is what StatDB answers."""

    _line: _Line  # type: ignore[assignment]

    def count(self, where: str | Query = "") -> Answer:
        """How many rows satisfy a condition."""
        return count_of(self.query(condition_of(where)))

    def query(self, query: str | Query) -> Result:
        """Answer ``SELECT ... FROM t [WHERE ...] [GROUP BY ...]``; empty groups are included."""
        (found,) = self._line.tables([_text(query)])
        return result_of(found)

    def counts(self, queries: Iterable[str | Query]) -> CountAnswers:
        """How many rows satisfy each query of a workload, as arrays."""
        texts = [_text(query) for query in several(queries)]
        found = [count_of(result_of(table)) for table in self._line.tables(texts)]
        numbers = np.array([(one.estimate, one.lo, one.hi) for one in found], np.float64)
        estimate, lo, hi = numbers.reshape(-1, 3).T
        return CountAnswers(estimate, lo.astype(np.int64), hi.astype(np.int64))

    def schema(self) -> dict[str, Any]:
        """The public domains of all columns, sizes, and the guarantee in words."""
        found: dict[str, Any] = json.loads(self._line.value("SHOW sfumato.schema"))
        return found

    def databases(self) -> list[dict[str, Any]]:
        """The database that is asked: a connection is to one."""
        known = self.schema()
        return [{name: known[of] for name, of in _TOLD.items()}]

    def check(self, receipt: str) -> dict[str, Any] | None:
        """Receipts are checked over HTTP."""
        raise RemoteError(
            "receipts are checked over HTTP", status=0, code="not_supported",
            hint=f"sfumato statdb log check URL {receipt[:100]}",
        )  # fmt: skip


_TOLD = {"name": "database", "rows": "rows", "m": "m", "generation": "generation"}


def _text(query: str | Query) -> str:
    return query if isinstance(query, str) else sql_of(question_of(query))


@dataclass(slots=True, eq=False)
class _Line:
    """One connection, one statement at a time; opened again when it was lost."""

    host: str
    port: int
    database: str
    token: str | None = field(repr=False)
    tls: ssl.SSLContext | None
    timeout: float
    lock: threading.Lock = field(default_factory=threading.Lock)
    sock: socket.socket | None = None
    stream: io.BufferedReader | None = None

    @classmethod
    def to(cls, url: str, token: str | None, database: str | None, timeout: float) -> _Line:
        try:
            parts = urlsplit(url)
            host, port, options = parts.hostname or "", parts.port or 5432, parse_qs(parts.query)
        except ValueError:
            host, port, options = "", 0, {}
        named = unquote(parts.path.strip("/")) if host else ""
        database = database or named
        if not host or not database or (named and named != database):
            raise ParameterError(
                f"{url!r} names no database; postgresql://127.0.0.1:5433/patients does",
                parameter="url",
            )
        if token is None and parts.password is not None:
            token = unquote(parts.password)
        (root,) = options.get("sslrootcert", [None])[:1]
        tls = ssl.create_default_context(cafile=root) if root or not is_near(host) else None
        return cls(host, port, database, token, tls, timeout)

    def tables(self, texts: Sequence[str]) -> Iterator[pa.Table]:
        """The answers to questions, in their order."""
        for start in range(0, len(texts), _AT_ONCE):
            for content in self._asked(texts[start : start + _AT_ONCE]):
                with pa.ipc.open_stream(bytes.fromhex(content[2:])) as stream:
                    yield stream.read_all()

    def value(self, statement: str) -> str:
        """The one value that a statement gives."""
        (found,) = self._asked([statement])
        return found

    def close(self) -> None:
        """Hang up; the next question connects again."""
        if self.sock is not None:
            with suppress(OSError):
                self.sock.sendall(b"X\0\0\0\4")
            self.sock.close()
        self.sock = self.stream = None

    def open(self) -> None:
        """Connect, under TLS where it is needed, and say who asks."""
        try:
            self._open()
        except (OSError, EOFError) as error:
            self.close()
            raise RemoteError(
                f"no answer from {self.host}: {str(error) or type(error).__name__}", status=0,
                code="unreachable", hint="is the server running, and the address right?",
            ) from error  # fmt: skip

    def _open(self) -> None:
        self.sock = socket.create_connection((self.host, self.port), self.timeout)
        if self.tls is not None:
            self.sock.sendall(struct.pack("!II", 8, 80877103))
            if self.sock.recv(1) != b"S":
                raise OSError("the server has no TLS")
            self.sock = self.tls.wrap_socket(self.sock, server_hostname=self.host)
        self.stream = self.sock.makefile("rb")
        settings = {"user": "sfumato", "database": self.database,
                    "options": "-c sfumato.answers=arrow"}  # fmt: skip
        body = b"".join(f"{name}\0{value}\0".encode() for name, value in settings.items())
        self.sock.sendall(struct.pack("!II", len(body) + 9, 196608) + body + b"\0")
        kind, content = self._message()
        if kind == b"R" and content == struct.pack("!I", 3):
            self._send(b"p", (self.token or "").encode() + b"\0")
        self._until_ready()

    def _asked(self, statements: Sequence[str]) -> list[str]:
        with self.lock:
            try:
                return self._once(statements)
            except (OSError, EOFError):
                self.close()  # it was idle for long, perhaps; asking again is harmless
            try:
                return self._once(statements)
            except (OSError, EOFError) as error:
                self.close()
                raise RemoteError(
                    f"the connection to {self.host} was lost", status=0, code="unreachable",
                    hint="ask again later",
                ) from error  # fmt: skip

    def _once(self, statements: Sequence[str]) -> list[str]:
        if self.sock is None:
            self.open()
        for text in statements:
            self._send(b"Q", text.replace("\0", " ").encode() + b"\0")
        found, problem = [], None
        for _ in statements:
            # all are read, whatever becomes of the first: the next question begins anew
            try:
                found.append(self._until_ready())
            except (QueryRefused, RemoteError) as error:
                problem = problem or error
        if problem is not None:
            raise problem
        return found

    def _until_ready(self) -> str:
        """The last value before the server waits; what it refuses is raised."""
        value, problem = "", None
        while True:
            kind, content = self._message()
            if kind == b"D":
                value = content[6:].decode()
            elif kind == b"E":
                problem = _error(content)
            if kind == b"Z" or (problem is not None and self._is_over()):
                break
        if problem is not None:
            raise problem
        return value

    def _is_over(self) -> bool:
        """Whether the server hung up after an error."""
        assert self.stream is not None
        over = not self.stream.peek(1)
        if over:
            self.close()
        return over

    def _send(self, kind: bytes, body: bytes) -> None:
        assert self.sock is not None
        self.sock.sendall(struct.pack("!cI", kind, len(body) + 4) + body)

    def _message(self) -> tuple[bytes, bytes]:
        assert self.stream is not None
        head = self.stream.read(5)
        if len(head) < 5:
            raise EOFError("the server hung up")
        kind, length = struct.unpack("!cI", head)
        return kind, self.stream.read(length - 4)


def _error(content: bytes) -> QueryRefused | RemoteError:
    told = {part[:1]: part[1:].decode() for part in content.split(b"\0") if part}
    state, message, at = told.get(b"C", ""), told.get(b"M", ""), told.get(b"P")
    if state in _REFUSED:
        return QueryRefused(message, clause="query", position=int(at) if at else None)
    return RemoteError(message, status=0, code=state, hint=told.get(b"H", ""))
