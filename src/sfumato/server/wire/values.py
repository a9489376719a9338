"""Values as PostgreSQL writes them, as text and in binary, and the types that hold them.

A number without a sign takes the next larger type; times finer than microseconds, which PostgreSQL
does not have, are texts: no value is rounded.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from struct import pack
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from sfumato.server.wire.errors import NOT_SUPPORTED, WireError

Encoder = Callable[[Any], bytes]


class Kind(NamedTuple):
    """A type of PostgreSQL: its OID and names, the bytes of a value (-1: it depends)."""

    oid: int
    short: str
    name: str
    length: int
    category: str
    array: int
    text: Encoder
    binary: Encoder


def kind_of(arrow: pa.DataType) -> Kind:
    """The type that holds every value of an Arrow type."""
    is_ = pa.types
    if is_.is_boolean(arrow):
        return BOOL
    if is_.is_integer(arrow):
        return _INTEGERS[str(arrow)]
    if is_.is_floating(arrow):
        return FLOAT8
    if is_.is_decimal(arrow):
        return NUMERIC
    if is_.is_date(arrow):
        return DATE
    if is_.is_timestamp(arrow) and arrow.unit != "ns":
        return TIMESTAMP if arrow.tz is None else TIMESTAMPTZ
    if is_.is_time(arrow) and arrow.unit != "ns":
        return TIME
    if is_.is_duration(arrow) and arrow.unit != "ns":
        return INTERVAL
    if is_.is_list(arrow):
        return LISTS[is_.is_integer(arrow.value_type)]
    return TEXT


def shown(value: Any) -> str:
    """A value as text; what is no text already is written as PostgreSQL does."""
    if isinstance(value, bool | np.bool_):
        return "t" if value else "f"
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, datetime):
        stated = value if value.tzinfo is None else value.astimezone(UTC)
        return stated.isoformat(" ").replace("+00:00", "+00")
    if isinstance(value, np.datetime64):
        return str(value).replace("T", " ")
    if isinstance(value, timedelta):
        return _interval(value)
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, list | tuple | np.ndarray):
        return f"{{{','.join(map(_element, value))}}}"
    return str(value)


def _text(value: Any) -> bytes:
    return shown(value).replace("\0", "").encode("utf-8", "replace")


def _float(value: float) -> str:
    if math.isfinite(value):
        return repr(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _element(value: Any) -> str:
    """An element of an array."""
    if value is None:
        return "NULL"
    text = shown(value)
    if text and all(letter.isalnum() or letter in "_.-" for letter in text) and text != "NULL":
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _interval(value: timedelta) -> str:
    sign = "-" if value < timedelta() else ""
    whole = abs(value)
    minutes, seconds = divmod(whole.seconds, 60)
    days = f"{sign}{whole.days} days " if whole.days else ""
    fraction = f".{whole.microseconds:06}" if whole.microseconds else ""
    return f"{days}{sign}{minutes // 60:02}:{minutes % 60:02}:{seconds:02}{fraction}"


# ----- binary

_EPOCH_DAY = date(2000, 1, 1).toordinal()
_EPOCH = datetime(2000, 1, 1)
_MICROSECOND = timedelta(microseconds=1)


def _packed(form: str) -> Encoder:
    return lambda value: pack(form, value)


def _moment(value: Any) -> bytes:
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").item()
    if value.tzinfo is not None:
        value = value.astimezone(UTC).replace(tzinfo=None)
    return pack("!q", (value - _EPOCH) // _MICROSECOND)


def _time(value: time) -> bytes:
    seconds = (value.hour * 60 + value.minute) * 60 + value.second
    return pack("!q", seconds * 1_000_000 + value.microsecond)


def _numeric(value: Any) -> bytes:
    """Digits in groups of four, the first with the weight of 10000 to the power of ``weight``."""
    number = value if isinstance(value, Decimal) else Decimal(value)
    if not number.is_finite():
        return pack("!hhHh", 0, 0, 0xC000, 0)
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    scale = max(0, -exponent)
    whole = "".join(map(str, digits)) + "0" * max(0, exponent)
    whole = whole.rjust(scale + 1, "0")
    before, after = (whole[:-scale], whole[-scale:]) if scale else (whole, "")
    before = before.lstrip("0")
    before = before.rjust(-(-len(before) // 4) * 4, "0")
    after = after.ljust(-(-len(after) // 4) * 4, "0")
    groups = [int((before + after)[at : at + 4]) for at in range(0, len(before + after), 4)]
    weight = len(before) // 4 - 1
    while groups and groups[0] == 0:
        groups.pop(0)
        weight -= 1
    while groups and groups[-1] == 0:
        groups.pop()
    minus = 0x4000 if sign and groups else 0
    weight = weight if groups else 0
    return pack(f"!hhHH{len(groups)}H", len(groups), weight, minus, scale, *groups)


def _duration(value: timedelta) -> bytes:
    rest = value - timedelta(days=value.days)
    return pack("!qii", rest // _MICROSECOND, value.days, 0)


def _day(value: date) -> bytes:
    return pack("!i", value.toordinal() - _EPOCH_DAY)


def _list(_: Any) -> bytes:
    raise WireError(NOT_SUPPORTED, "arrays are sent as text only", "ask for the text format")


def _kind(
    oid: int, short: str, name: str, length: int, category: str, array: int, binary: Encoder
) -> Kind:
    return Kind(oid, short, name, length, category, array, _text, binary)


BOOL = _kind(16, "bool", "boolean", 1, "B", 1000, lambda value: b"\1" if value else b"\0")
INT2 = _kind(21, "int2", "smallint", 2, "N", 1005, _packed("!h"))
INT4 = _kind(23, "int4", "integer", 4, "N", 1007, _packed("!i"))
INT8 = _kind(20, "int8", "bigint", 8, "N", 1016, _packed("!q"))
FLOAT8 = _kind(701, "float8", "double precision", 8, "N", 1022, _packed("!d"))
NUMERIC = _kind(1700, "numeric", "numeric", -1, "N", 1231, _numeric)
TEXT = _kind(25, "text", "text", -1, "S", 1009, _text)
DATE = _kind(1082, "date", "date", 4, "D", 1182, _day)
TIME = _kind(1083, "time", "time without time zone", 8, "D", 1183, _time)
TIMESTAMP = _kind(1114, "timestamp", "timestamp without time zone", 8, "D", 1115, _moment)
TIMESTAMPTZ = _kind(1184, "timestamptz", "timestamp with time zone", 8, "D", 1185, _moment)
INTERVAL = _kind(1186, "interval", "interval", 16, "T", 1187, _duration)

BYTEA = Kind(
    17, "bytea", "bytea", -1, "U", 1001, lambda value: b"\\x" + value.hex().encode(), bytes
)

# those that columns can have, and those that tools look for
TYPES = (
    *(BOOL, INT2, INT4, INT8, FLOAT8, NUMERIC, TEXT),
    *(DATE, TIME, TIMESTAMP, TIMESTAMPTZ, INTERVAL),
    BYTEA,
    _kind(18, "char", '"char"', 1, "Z", 1002, _text),
    _kind(19, "name", "name", 64, "S", 1003, _text),
    _kind(26, "oid", "oid", 4, "N", 1028, _packed("!I")),
    _kind(705, "unknown", "unknown", -2, "X", 0, _text),
    _kind(1042, "bpchar", "character", -1, "S", 1014, _text),
    _kind(1043, "varchar", "character varying", -1, "S", 1015, _text),
    _kind(700, "float4", "real", 4, "N", 1021, _packed("!f")),
)
LISTS = (  # of texts, and of whole numbers
    _kind(1009, "_text", "text[]", -1, "A", 0, _list),
    _kind(1016, "_int8", "bigint[]", -1, "A", 0, _list),
)
_INTEGERS = {
    **dict.fromkeys(("int8", "uint8", "int16"), INT2),
    **dict.fromkeys(("uint16", "int32"), INT4),
    **dict.fromkeys(("uint32", "int64"), INT8),
    "uint64": NUMERIC,
}
