"""Values that a client binds to $1, $2, ... as literals of SQL.

What is put into a text here is quoted, or was read as a number and written again: nothing that a
client sends as a value can become anything else.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from struct import error, unpack

from sfumato.server.wire.errors import BAD_VALUE, NOT_SUPPORTED, WireError
from sfumato.server.wire.values import (
    BOOL,
    DATE,
    FLOAT8,
    INT2,
    INT4,
    INT8,
    NUMERIC,
    TEXT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    shown,
)

UNKNOWN = 705
_FLOAT4, _OID = 700, 26
_TEXTS = {0, TEXT.oid, UNKNOWN, 1043, 1042, 18, 19, 2205, 2206}
_WHOLE = {INT2.oid, INT4.oid, INT8.oid, _OID}
_NUMBERS = {*_WHOLE, FLOAT8.oid, NUMERIC.oid, _FLOAT4}
_MOMENTS = {
    DATE.oid: "DATE",
    TIME.oid: "TIME",
    TIMESTAMP.oid: "TIMESTAMP",
    TIMESTAMPTZ.oid: "TIMESTAMP",
}
_DIGITS = 400  # of a number; no column has more
_ZONED = re.compile(r"(\d+-\d\d-\d\d) ?[+-][\d:]+")  # a day as Java's driver writes it
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def literal(value: bytes | None, type: int, is_binary: bool, expected: int = 0) -> str:
    """A literal of a bound value; ``expected`` is the type of the column beside it.

    A value without a type of its own takes that of the column.
    """
    if value is None:
        return "NULL"
    try:
        text = (
            _BINARY[type](value) if is_binary and type in _BINARY else _read(value, is_binary, type)
        )
        return _written(text, type if type not in _TEXTS else expected or type)
    except (ValueError, InvalidOperation, error, OverflowError):
        raise WireError(BAD_VALUE, "a bound value is not of its type", "bind it as text") from None


def _read(value: bytes, is_binary: bool, type: int) -> str:
    if is_binary and type not in _TEXTS:
        raise WireError(
            NOT_SUPPORTED, f"values of the type {type} are not read in binary", "bind it as text"
        )
    return value.decode()


def _written(text: str, type: int) -> str:
    if type in _NUMBERS and _NUMBER.fullmatch(text.strip()):
        return _number(text.strip())
    if type == BOOL.oid:
        return "TRUE" if text.lower() in ("t", "true", "1", "on", "yes", "y") else "FALSE"
    if type == DATE.oid:
        text = _ZONED.sub(r"\1", text)
    if type in _MOMENTS:
        return f"{_MOMENTS[type]} {quoted(text)}"
    if type in _NUMBERS:
        raise ValueError
    return quoted(text)


def _number(text: str) -> str:
    """A number without an exponent or a sign that a reader could stumble over."""
    number = Decimal(text)
    if abs(number.adjusted()) > _DIGITS:
        raise ValueError
    return f"{number:f}"


def quoted(text: str) -> str:
    """A text in quotes."""
    return "'" + text.replace("'", "''") + "'"


def _unpacked(form: str) -> Callable[[bytes], str]:
    def read(value: bytes) -> str:
        (found,) = unpack(form, value)
        if isinstance(found, float) and not math.isfinite(found):
            raise ValueError
        return repr(found)

    return read


def _day(value: bytes) -> str:
    (days,) = unpack("!i", value)
    return date.fromordinal(date(2000, 1, 1).toordinal() + days).isoformat()


def _moment(value: bytes) -> str:
    (microseconds,) = unpack("!q", value)
    return shown(datetime(2000, 1, 1) + timedelta(microseconds=microseconds))


def _zoned(value: bytes) -> str:
    return _moment(value) + "+00:00"


def _numeric(value: bytes) -> str:
    count, weight, sign, _ = unpack("!hhHH", value[:8])
    groups: Sequence[int] = unpack(f"!{count}H", value[8:])
    if sign not in (0, 0x4000) or max(groups, default=0) > 9999:
        raise ValueError
    digits = "".join(f"{group:04}" for group in groups) or "0"
    # by its digits: arithmetic would round
    number = Decimal((sign != 0, tuple(map(int, digits)), 4 * (weight - count + 1)))
    if abs(number.adjusted()) > _DIGITS:
        raise ValueError
    return f"{number:f}"


_BINARY: dict[int, Callable[[bytes], str]] = {
    BOOL.oid: lambda value: "t" if value == b"\1" else "f",
    INT2.oid: _unpacked("!h"),
    INT4.oid: _unpacked("!i"),
    INT8.oid: _unpacked("!q"),
    _OID: _unpacked("!I"),
    _FLOAT4: _unpacked("!f"),
    FLOAT8.oid: _unpacked("!d"),
    NUMERIC.oid: _numeric,
    DATE.oid: _day,
    TIMESTAMP.oid: _moment,
    TIMESTAMPTZ.oid: _zoned,
}
