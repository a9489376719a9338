"""Connections before they are requests: how many, how long, and how much of a head.

A request costs nothing until its head is whole, so a client that never finishes one must cost next
to nothing, too. A head has a limit in bytes and in seconds; of all that is not told as head or body
(trailers, extensions of chunks, empty lines) no more is read than of a head. When all places for
connections are taken, whoever has waited longest without a request under way makes room: a client
that says at once what it wants is not kept out by thousands that say nothing.

What is refused here is told in the one shape of errors, and never reaches the application.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Protocol

from sfumato.server.errors import ApiError, invalid
from sfumato.server.headers import SECURITY
from sfumato.server.http import Reply, next_id
from sfumato.server.limits import Limits

if TYPE_CHECKING:
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
else:
    HttpToolsProtocol = object  # ``guarded`` adds uvicorn's class, which is imported there


class Guest(Protocol):
    """A connection of any protocol."""

    def end(self) -> None:
        """End it at once."""

    def refuse(self, error: ApiError) -> None:
        """Say why, if nothing else is being said, and end the connection."""

    def is_silent(self) -> bool:
        """Whether it has asked nothing yet."""

    def is_idle(self) -> bool:
        """Whether no request of it is under way."""


@dataclass(slots=True, eq=False)
class Gate:
    """All connections of one server, the oldest first."""

    limits: Limits
    places: int
    refused: Counter[str]
    _open: dict[Guest, None] = field(default_factory=dict)

    def enter(self, connection: Guest) -> None:
        """Give a new connection a place, somebody else's if need be."""
        if len(self._open) >= self.places and not self._make_room():
            self.refused["full"] += 1
            connection.refuse(_full())
            return
        self._open[connection] = None

    def leave(self, connection: Guest) -> None:
        """The connection is gone."""
        self._open.pop(connection, None)

    def __len__(self) -> int:
        """How many there are."""
        return len(self._open)

    def _make_room(self) -> bool:
        for wanted in ("is_silent", "is_idle"):
            oldest = next((one for one in self._open if getattr(one, wanted)()), None)
            if oldest is not None:
                self.refused["displaced"] += 1
                self.leave(oldest)
                oldest.end()
                return True
        return False


class Connection(HttpToolsProtocol):
    """Uvicorn's connection, with limits on what comes before a request."""

    gate: Gate  # of the class that ``guarded`` makes
    _deadline: asyncio.TimerHandle | None = None
    has_asked = False
    _in_head = True
    _is_deaf = False  # what comes now is no HTTP any more
    _untold = 0  # bytes since the parser last made something of them

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a head."""
        super().connection_made(transport)
        self._watch()
        self.gate.enter(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Give the place back."""
        self._unwatch()
        self.gate.leave(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on, as long as it leads somewhere."""
        if self.transport.is_closing() or self._is_deaf:
            return
        self._untold += len(data)
        super().data_received(data)
        if self._untold > self.gate.limits.head:
            self.gate.refused["head_too_large"] += 1
            self.refuse(_too_large(self.gate.limits.head))
        elif (self._in_head or self._untold) and self._deadline is None:
            self._watch()

    def on_message_begin(self) -> None:
        """A head begins."""
        self._in_head = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """A head is whole, and starts a request."""
        self._in_head = False
        self._untold = 0
        self._unwatch()
        if len(self.url) + sum(len(a) + len(b) for a, b in self.headers) > self.gate.limits.head:
            self.gate.refused["head_too_large"] += 1
            self.refuse(_too_large(self.gate.limits.head))
            return
        if not self.url.startswith(b"/") and not self._names_one_host():
            self.refuse(invalid("the address names another host than Host", "ask for a path"))
            return
        super().on_headers_complete()
        self.has_asked = True

    def on_body(self, body: bytes) -> None:
        """A part of a body."""
        self._untold = 0
        if not self.transport.is_closing():
            super().on_body(body)

    def on_message_complete(self) -> None:
        """A request is whole."""
        self._untold = 0
        if not self.transport.is_closing():
            super().on_message_complete()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002
        """What is no HTTP, told like everything else."""
        self.gate.refused["no_http"] += 1
        if self._answering() and not self._has_broken_body():
            # it stands behind requests that are whole: these are answered, and nothing is read on
            self._is_deaf = True
            self.cycle.keep_alive = False
            self.flow.pause_reading()
            return
        self.refuse(invalid("this is no HTTP request", "leave HTTP to a library"))

    def refuse(self, error: ApiError) -> None:
        """Say why, if nothing else is being said, and end the connection."""
        self._unwatch()
        free = not self._answering() or self._has_broken_body()
        if free and not self.transport.is_closing():
            self.transport.write(_told(error))
        self.transport.close()

    def end(self) -> None:
        """End the connection at once."""
        self.transport.abort()

    def is_silent(self) -> bool:
        """Whether it has asked nothing yet."""
        return not self.has_asked

    def is_idle(self) -> bool:
        """Whether no request of it is under way."""
        return not self._answering()

    def _answering(self) -> bool:
        return self.has_asked and not self.cycle.response_complete

    def _names_one_host(self) -> bool:
        """Whether http://host/path, as proxies are asked, is of the host that the header names."""
        scheme, _, rest = self.url.partition(b"://")
        authority = re.split(rb"[/?#]", rest, maxsplit=1)[0].lower()
        named = dict(self.headers).get(b"host", b"").lower()
        return not rest or (scheme.lower() in (b"http", b"https") and authority == named)

    def _has_broken_body(self) -> bool:
        """Whether what is under way waits for the rest of its body, and nothing was said of it."""
        return self.cycle.more_body and not self.cycle.response_started and not self.pipeline

    def _watch(self) -> None:
        seconds = self.gate.limits.head_seconds
        self._deadline = self.loop.call_later(seconds, self._too_late)

    def _unwatch(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _too_late(self) -> None:
        if self._answering():  # what comes meanwhile has time until then
            self._watch()
            return
        self.gate.refused["head_too_slow"] += 1
        self.refuse(_too_slow(self.gate.limits.head_seconds))


def guarded(gate: Gate) -> type[Connection]:
    """The class of a server's connections."""
    from uvicorn.protocols.http import httptools_impl

    bases = (Connection, httptools_impl.HttpToolsProtocol)
    return type("GuardedConnection", bases, {"gate": gate})


def places_for(limits: Limits) -> int:
    """How many connections there may be, so that files can still be opened beside them."""
    try:
        import resource
    except ImportError:  # not on POSIX
        return limits.connections
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files == resource.RLIM_INFINITY:
        return limits.connections
    return max(8, min(limits.connections, files - 2 * BACKLOG))


BACKLOG = 192  # connections that wait to be accepted; they come all at once


def _told(error: ApiError) -> bytes:
    request_id = next_id()
    reply = Reply.of_error(error, request_id)
    headers: list[tuple[bytes, Any]] = [
        (b"content-type", reply.media.encode()),
        (b"content-length", b"%d" % len(reply.body)),
        (b"x-request-id", request_id.encode()),
        (b"cache-control", b"no-store"),
        (b"connection", b"close"),
        *((name.lower().encode(), value.encode()) for name, value in reply.headers),
        *SECURITY,
    ]
    lines = b"".join(b"%s: %s\r\n" % header for header in headers)
    start = f"HTTP/1.1 {reply.status} {HTTPStatus(reply.status).phrase}\r\n".encode()
    return b"%s%s\r\n%s" % (start, lines, reply.body)


def _full() -> ApiError:
    return ApiError(
        "busy", "too many requests are under way", "wait a moment, and ask again", retry_after=1
    )


def _too_large(limit: int) -> ApiError:
    return ApiError(
        "head_too_large",
        f"the head of the request is longer than {limit:,} bytes",
        "send fewer or shorter headers, and long questions with POST",
    )


def _too_slow(seconds: float) -> ApiError:
    return ApiError(
        "request_timeout",
        f"the head of the request was not there after {seconds:g} seconds",
        "send it at once",
    )
