"""A request as handlers see it, and what they give back."""

from __future__ import annotations

import asyncio
import json
import math
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, MutableMapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from urllib.parse import parse_qsl

from sfumato.server.errors import ApiError, invalid
from sfumato.server.headers import SECURITY
from sfumato.server.limits import Limits

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]

JSON = "application/json"
BYTES = "sfumato.bytes"  # in the scope of a request
_LONGEST = 2**18  # bytes of a query string: a question of the longest kind, every letter encoded


def _random_ids() -> Iterator[str]:
    """16 random letters each; the operating system is asked once for many."""
    while True:
        many = secrets.token_hex(8 * 256)
        for at in range(0, len(many), 16):
            yield many[at : at + 16]


_IDS = _random_ids()
# of two, a proxy in front may have believed the other one
_ONCE = (b"host", b"authorization", b"origin", b"content-type", b"x-forwarded-for", b"forwarded")


def next_id() -> str:
    """A new id of a request."""
    return next(_IDS)


class Gone(Exception):
    """The client went away before its request was whole."""


@dataclass(slots=True, eq=False)
class Call:
    """One request: its id, what came with it, and what the log will say of it."""

    scope: Scope
    receive: Receive
    request_id: str = field(default_factory=next_id)
    route: str = "unknown"
    who: str = "-"
    _whole: bytes | None = None
    headers: dict[bytes, bytes] = field(init=False)

    def __post_init__(self) -> None:
        """Index the headers."""
        self.headers = dict(self.scope["headers"])

    def require_sound(self) -> None:
        """Refuse a request that two readers could take for two different ones."""
        headers = self.scope["headers"]
        if len(headers) > len(self.headers):
            names = [name for name, _ in headers]
            for name in _ONCE:
                if names.count(name) > 1:
                    raise invalid(f"there are two headers {name.decode()}", "send one")
        if b"host" not in self.headers and self.scope["http_version"] == "1.1":
            raise invalid("there is no Host header", "leave HTTP to a library")

    @property
    def peer(self) -> str:
        """The address at the other end of the connection."""
        client = self.scope.get("client")
        return str(client[0]) if client else ""

    @property
    def all_bytes(self) -> bytes | None:
        """All that came, if it came at once and can come again (repeating.py)."""
        found: bytes | None = self.scope.get(BYTES)
        return found

    @property
    def method(self) -> str:
        """GET, POST, ..."""
        return str(self.scope["method"])

    def parameters(self, *known: str) -> dict[str, str]:
        """The query parameters, each of which must be known and stand once."""
        raw: bytes = self.scope["query_string"]
        if not raw:
            return {}
        if len(raw) > _LONGEST:
            raise ApiError("too_large", "the address is too long", "ask with POST")
        try:
            pairs = parse_qsl(
                raw.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=20
            )
        except ValueError:
            raise invalid("the query string is damaged", "percent-encode it as UTF-8") from None
        found = dict(pairs)
        for name in found:
            if name not in known:
                there = ", ".join(known) if known else "none"
                raise invalid("a query parameter is not known here", f"known are: {there}")
        if len(found) < len(pairs):
            raise invalid("a query parameter stands twice", "name each parameter once")
        return found

    async def body(self, limits: Limits) -> bytes:
        """The whole body, if it is not too long and does not take too long to come."""
        if self._whole is None:
            self._whole = await self._read(limits)
        return self._whole

    async def _read(self, limits: Limits) -> bytes:
        if self._stated_length() > limits.body:
            raise _too_large(limits.body)
        if self._is_here():
            return await self._received(limits.body)  # without a clock, which costs a tenth
        try:
            async with asyncio.timeout(limits.seconds):
                return await self._received(limits.body)
        except TimeoutError:
            raise _too_slow(limits.seconds) from None

    async def _received(self, limit: int) -> bytes:
        parts = [part async for part in self.parts(limit)]
        return parts[0] if len(parts) == 1 else b"".join(parts)

    async def parts(self, limit: int) -> AsyncIterator[bytes]:
        """The body as it comes, as long as it is not too long."""
        size, more = 0, True
        while more:
            message = await self.receive()
            if message["type"] == "http.disconnect":
                raise Gone
            part = message.get("body", b"")
            size += len(part)
            if size > limit:
                raise _too_large(limit)
            yield part
            more = message.get("more_body", False)

    def _is_here(self) -> bool:
        """Whether all of it has come, as uvicorn knows."""
        cycle = getattr(self.receive, "__self__", None)
        return getattr(cycle, "more_body", True) is False

    def _stated_length(self) -> int:
        try:
            return int(self.headers.get(b"content-length", b"0"))
        except ValueError:
            raise invalid("Content-Length is no number", "leave it to your HTTP library") from None


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole response."""

    body: bytes
    media: str = JSON
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, value: Any, status: int = 200) -> Reply:
        """A reply of JSON."""
        return cls(to_json(value), status=status)

    @classmethod
    def of_error(cls, error: ApiError, request_id: str) -> Reply:
        """A reply in the one shape of errors."""
        headers = error.headers
        if error.retry_after is not None:
            headers = (*headers, ("Retry-After", str(max(1, math.ceil(error.retry_after)))))
        body = to_json({"error": error.stated(request_id)})
        return cls(body, status=error.status, headers=headers)

    async def send(self, call: Call, send: Send) -> None:
        """Send it, with what every response carries."""
        own = [
            (b"content-type", self.media.encode()),
            (b"content-length", b"%d" % len(self.body)),
            (b"x-request-id", call.request_id.encode()),
            *((name.lower().encode(), value.encode("latin-1")) for name, value in self.headers),
        ]
        if not any(name == "Cache-Control" for name, _ in self.headers):
            own.append((b"cache-control", b"no-store"))
        await send({
            "type": "http.response.start", "status": self.status, "headers": [*own, *SECURITY]
        })  # fmt: skip
        shown = b"" if call.method == "HEAD" else self.body
        await send({"type": "http.response.body", "body": shown})


def to_json(value: Any) -> bytes:
    """Compact JSON; values that JSON lacks are shown as texts, dates in ISO form."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    # halves of letters, which only JSON can bring, go back as JSON spells them
    return text.encode("utf-8", "backslashreplace")


def _too_slow(seconds: float) -> ApiError:
    return ApiError(
        "request_timeout",
        f"the body was not there after {seconds:g} seconds",
        "send it at once, or split a long batch into several requests",
        # what still comes of it is no request
        headers=(("Connection", "close"),),
    )


def _too_large(limit: int) -> ApiError:
    return ApiError(
        "too_large",
        f"the body is longer than {limit:,} bytes",
        "split a long batch into several requests",
    )
