"""Connections on which requests that come again in the same bytes are known at once.

Such bytes mean the same only where a request begins: all that came before on this connection was
read as whole requests, and is answered. They are remembered if they were exactly one request, which
leaves the connection open. See repeats.py for what is answered then.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from sfumato.server.edge import Connection, Gate
from sfumato.server.headers import SECURITY
from sfumato.server.http import BYTES, JSON
from sfumato.server.repeats import LONGEST, Told, repeated
from sfumato.server.service import Service

_METHODS = (b"GET", b"POST")


class Repeating(Connection):
    """A connection of a server that answers questions."""

    service: Service  # of the class that ``repeating`` makes
    _is_between = False  # whether what comes next is the beginning of a request
    _begun = 0  # requests in what came last
    _under_way = False
    _is_last = False
    _held = b""  # what came meanwhile

    def data_received(self, data: bytes) -> None:
        """Answer at once, or read."""
        if self._under_way:
            self._held += data
            self.flow.pause_reading()
        elif self._is_free() and repeated(
            self.service, data, self._send, partial(self._read, data)
        ):
            self._under_way = True
            self._unset_keepalive_if_required()
        else:
            self._read(data)

    def on_message_begin(self) -> None:
        """A head begins."""
        self._begun += 1
        super().on_message_begin()

    def shutdown(self) -> None:
        """End, after the answer that is under way."""
        if self._under_way:
            self._is_last = True
        else:
            super().shutdown()

    def _answering(self) -> bool:
        return self._under_way or super()._answering()

    def _is_free(self) -> bool:
        return (
            self._is_between
            and self.cycle.response_complete
            and not self.flow.write_paused
            and not self.transport.is_closing()
        )

    def _read(self, data: bytes) -> None:
        """Read what came; if it is exactly one request, it may be known when it comes again."""
        was_between, self._begun, self._under_way = self._is_between, 0, False
        super().data_received(data)
        if self.transport.is_closing():
            return
        self._is_between = self._is_at_end()
        if was_between and self._is_between and self._begun == 1 and self._is_plain(len(data)):
            self.scope[BYTES] = data  # type: ignore[literal-required]
        self._go_on()

    def _is_at_end(self) -> bool:
        """Whether all that came was read as whole requests."""
        return (
            not self._in_head  # so there is a cycle
            and not self.cycle.more_body
            and not self.parser.should_upgrade()
        )

    def _is_plain(self, length: int) -> bool:
        return (
            length <= LONGEST
            and self.cycle.keep_alive
            and not self.expect_100_continue
            and self.parser.get_method() in _METHODS
        )

    def _send(self, answer: Told) -> None:
        self._under_way = False
        if self.transport.is_closing():
            return
        self.transport.write(_written(answer, self.server_state.default_headers, self._is_last))
        if self._is_last:
            self.transport.close()
            return
        self.on_response_complete()
        self._go_on()

    def _go_on(self) -> None:
        """Take up what came meanwhile."""
        if self._held:
            held, self._held = self._held, b""
            self.flow.resume_reading()
            self.data_received(held)


def repeating(gate: Gate, service: Service) -> type[Connection]:
    """The class of connections of a server that answers questions."""
    from uvicorn.protocols.http import httptools_impl

    bases = (Repeating, httptools_impl.HttpToolsProtocol)
    return type("RepeatingConnection", bases, {"gate": gate, "service": service})


def _written(answer: Told, headers: Sequence[tuple[bytes, bytes]], is_last: bool) -> bytes:
    """The bytes that uvicorn would send of the same answer."""
    lines = [b"HTTP/1.1 200 OK", *(b"%s: %s" % header for header in headers)]
    lines += (
        b"content-length: %d" % len(answer.body),
        b"x-request-id: %s" % answer.request_id.encode(),
        b"x-receipt: %s" % answer.receipt.encode(),
        _ALIKE,
    )
    if is_last:
        lines.append(b"connection: close")
    return b"%s\r\n\r\n%s" % (b"\r\n".join(lines), answer.body)


_ALIKE = b"\r\n".join(
    b"%s: %s" % header
    for header in (
        (b"content-type", JSON.encode()),
        (b"cache-control", b"no-store"),
        *SECURITY,
    )
)
