"""The bytes of PostgreSQL's messages, both ways. Integers are big-endian; texts end with a zero."""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct, error, pack, unpack_from
from typing import Any, NamedTuple

from sfumato.server.wire.errors import PROTOCOL, WireError

SSL, GSS, CANCEL, VERSION_3 = 80877103, 80877104, 80877102, 196608

AUTHENTICATED = pack("!cII", b"R", 8, 0)
ASK_PASSWORD = pack("!cII", b"R", 8, 3)
PARSED, BOUND, CLOSED = (pack("!cI", kind, 4) for kind in (b"1", b"2", b"3"))
NO_DATA, EMPTY, SUSPENDED = (pack("!cI", kind, 4) for kind in (b"n", b"I", b"s"))

_HEAD = Struct("!cI")
_FIELD = Struct("!IhIhih")
_LENGTH = Struct("!i")


class Field(NamedTuple):
    """A column of a result: its name, the OID of its type, and how many bytes a value has."""

    name: str
    type: int
    length: int


def message(kind: bytes, body: bytes) -> bytes:
    """A message of the server."""
    return _HEAD.pack(kind, len(body) + 4) + body


def text(value: str) -> bytes:
    """A text with its end; a zero in it would end it early."""
    return value.replace("\0", "").encode("utf-8", "replace") + b"\0"


def ready(status: bytes) -> bytes:
    """The server waits: idle (I), in a transaction (T), or in one that failed (E)."""
    return message(b"Z", status)


def parameter(name: str, value: str) -> bytes:
    """What a setting is now."""
    return message(b"S", text(name) + text(value))


def backend_key(number: int, secret: int) -> bytes:
    """What a request to cancel names."""
    return pack("!cIII", b"K", 12, number, secret)


def complete(tag: str) -> bytes:
    """A statement is done."""
    return message(b"C", text(tag))


def parameters(types: Sequence[int]) -> bytes:
    """The types of a statement's parameters."""
    return message(b"t", pack(f"!H{len(types)}I", len(types), *types))


def described(fields: Sequence[Field], formats: Sequence[int]) -> bytes:
    """The columns of a result; a format is 0 for text and 1 for binary."""
    parts = [
        text(field.name) + _FIELD.pack(0, 0, field.type, field.length, -1, form)
        for field, form in zip(fields, formats, strict=True)
    ]
    return message(b"T", pack("!H", len(fields)) + b"".join(parts))


def row(values: Sequence[bytes | None]) -> bytes:
    """A row of a result."""
    parts = [pack("!H", len(values))]
    for value in values:
        if value is None:
            parts.append(b"\xff\xff\xff\xff")
        else:
            parts += (_LENGTH.pack(len(value)), value)
    return message(b"D", b"".join(parts))


def failed(problem: WireError) -> bytes:
    """An error; a fatal one is the last message."""
    severity = "FATAL" if problem.fatal else "ERROR"
    fields = {"S": severity, "V": severity, "C": problem.state, "M": problem.message}
    if problem.hint:
        fields["H"] = problem.hint
    if problem.at is not None:
        fields["P"] = str(problem.at)
    body = b"".join(name.encode() + text(value) for name, value in fields.items())
    return message(b"E", body + b"\0")


def notice(text_: str) -> bytes:
    """Something that the client may show beside an answer."""
    fields = {"S": "NOTICE", "V": "NOTICE", "C": "00000", "M": text_}
    return message(
        b"N", b"".join(one.encode() + text(told) for one, told in fields.items()) + b"\0"
    )


class Body:
    """The content of a client's message, read from front to end."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0

    def number(self, form: str) -> Any:
        """An integer: ``h`` of two bytes, ``i`` or ``I`` of four."""
        try:
            (found,) = unpack_from(f"!{form}", self._content, self._at)
        except error:
            raise broken() from None
        self._at += 2 if form in "hH" else 4
        return found

    def text(self) -> str:
        """A text up to its zero."""
        end = self._content.find(b"\0", self._at)
        if end < 0:
            raise broken()
        found, self._at = self._content[self._at : end], end + 1
        try:
            return found.decode()
        except UnicodeDecodeError:
            raise WireError("22021", "the text is not UTF-8", "use client_encoding UTF8") from None

    def letter(self) -> bytes:
        """One byte."""
        return self.take(1)

    def take(self, length: int) -> bytes:
        """So many bytes."""
        found = self._content[self._at : self._at + length]
        if length < 0 or len(found) < length:
            raise broken()
        self._at += length
        return found

    def value(self) -> bytes | None:
        """A value with its length before it; None for NULL."""
        length = self.number("i")
        return None if length == -1 else self.take(length)

    def numbers(self, form: str) -> list[int]:
        """A list of integers with its length before it."""
        return [self.number(form) for _ in range(self.number("H"))]

    def end(self) -> None:
        """Nothing may be left."""
        if self._at != len(self._content):
            raise broken()


def broken() -> WireError:
    """Bytes that are no message."""
    return WireError(
        PROTOCOL, "the message is damaged", "leave the protocol to a driver", fatal=True
    )
