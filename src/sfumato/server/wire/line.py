"""One connection's bytes: read with limits on size and time, written with patience.

Nothing is read ahead beyond a limit: a client that sends without reading answers, or bytes that
become no message, fills its own buffers and not the server's.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Callable, Coroutine
from struct import unpack
from typing import Any, cast

from sfumato.server.wire.errors import TOO_LARGE, WireError
from sfumato.server.wire.messages import broken

_AHEAD = 65_536  # bytes that are read before they are wanted
_BEHIND = 262_144  # bytes that wait to be sent before more are made
_KEEPALIVE = {"TCP_KEEPIDLE": 60, "TCP_KEEPINTVL": 20, "TCP_KEEPCNT": 3}


class Gone(Exception):
    """The client went away."""


class Line(asyncio.Protocol):
    """A connection; ``serve`` is run for it as a task."""

    transport: asyncio.Transport

    def __init__(self, serve: Callable[[Line], Coroutine[Any, Any, None]], patience: float) -> None:
        """``patience`` is for a message that has begun, and for a client to read its answer."""
        self._serve = serve
        self._patience = patience
        self._buffer = bytearray()
        self._wanted = 0
        self._paused = False
        self._ended = False
        self._came: asyncio.Future[None] | None = None
        self._can_write = asyncio.Event()
        self._can_write.set()
        self._out: list[bytes] = []
        self._waiting = 0
        self.task: asyncio.Task[None] | None = None
        self.secure = False

    # ----- called by the loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self.transport = cast(asyncio.Transport, transport)
        self.transport.set_write_buffer_limits(_BEHIND)
        _keep_alive(self.transport)
        self.task = asyncio.get_running_loop().create_task(self._serve(self))

    def data_received(self, data: bytes) -> None:
        """Bytes came."""
        self._buffer += data
        if len(self._buffer) > max(_AHEAD, self._wanted) and not self._paused:
            self._paused = True
            self.transport.pause_reading()
        self._wake()

    def eof_received(self) -> bool:
        """The client says nothing more."""
        self._ended = True
        self._wake()
        return False

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """The connection is gone; nobody waits for what is under way."""
        self._ended = True
        self._can_write.set()
        self._wake()
        if self.task is not None:
            self.task.cancel()

    def pause_writing(self) -> None:
        """The client does not read."""
        self._can_write.clear()

    def resume_writing(self) -> None:
        """The client reads again."""
        self._can_write.set()

    # ----- called by the task

    async def read(self, length: int) -> bytes:
        """So many bytes."""
        while len(self._buffer) < length:
            if self._ended:
                raise Gone
            self._wanted = length
            if self._paused:
                self._paused = False
                self.transport.resume_reading()
            self._came = asyncio.get_running_loop().create_future()
            await self._came
        found = bytes(self._buffer[:length])
        del self._buffer[:length]
        return found

    async def head(self) -> tuple[bytes, int]:
        """The kind of the next message, and the length of its body."""
        found = await self.read(5)
        kind, length = unpack("!cI", found)
        if length < 4:
            raise broken()
        return kind, length - 4

    async def body(self, length: int, most: int) -> bytes:
        """The body of a message that is not too long."""
        if length > most:
            raise WireError(
                TOO_LARGE, f"the message is longer than {most:,} bytes", "ask shorter", fatal=True
            )
        if len(self._buffer) >= length:
            return await self.read(length)
        async with asyncio.timeout(self._patience):
            return await self.read(length)

    def write(self, message: bytes) -> None:
        """Send something soon."""
        self._out.append(message)
        self._waiting += len(message)

    async def flush(self) -> None:
        """Send what was written; waits if the client does not read."""
        if self._out and not self.transport.is_closing():
            self.transport.write(b"".join(self._out))
        self._out.clear()
        self._waiting = 0
        if not self._can_write.is_set():
            try:
                async with asyncio.timeout(self._patience):
                    await self._can_write.wait()
            except TimeoutError:
                self.transport.abort()
                raise Gone from None

    async def flush_many(self) -> None:
        """Send what was written, if it is much."""
        if self._waiting > _AHEAD:
            await self.flush()

    async def secured(self, context: ssl.SSLContext) -> None:
        """Go on under TLS; what came before it was not sent by whom it secures."""
        if self._buffer:
            raise broken()
        await self.flush()
        loop = asyncio.get_running_loop()
        transport = await loop.start_tls(
            self.transport, self, context, server_side=True, ssl_handshake_timeout=10.0
        )
        if transport is None:
            raise Gone
        self.transport = transport
        self.transport.set_write_buffer_limits(_BEHIND)
        self.secure = True

    @property
    def peer(self) -> str:
        """The address at the other end."""
        name = self.transport.get_extra_info("peername")
        return str(name[0]) if isinstance(name, tuple) else ""

    def _wake(self) -> None:
        if self._came is not None and not self._came.done():
            self._came.set_result(None)


def _keep_alive(transport: asyncio.Transport) -> None:
    """Notice some time that the other end is gone without a word."""
    sock = transport.get_extra_info("socket")
    if sock is None:
        return
    with contextlib.suppress(OSError):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for name, value in _KEEPALIVE.items():
            if hasattr(socket, name):
                sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
