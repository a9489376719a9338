"""Arrow types and values by the texts that Arrow prints for them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import pyarrow as pa
import pyarrow.compute as pc

_DECIMAL = re.compile(r"decimal(32|64|128|256)\((\d+), (-?\d+)\)")
_ZONED = re.compile(r"timestamp\[(s|ms|us|ns), tz=([A-Za-z0-9_+:/-]+)\]")
_LIST = re.compile(r"list<(?:item|element): (.+)>")
_TIME = re.compile(r"time(32|64)\[(s|ms|us|ns)\]")
_FIXED = re.compile(r"fixed_size_binary\[(\d+)\]")
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_FLAT = re.compile(r"\w+(\[[^\]]*\]|\([^)]*\))?")
# Nanoseconds begin within this second: Arrow reads the second first, which is too early for them.
_EARLIEST, _NEXT = "1677-09-21 00:12:43", "1677-09-21 00:12:44"
_DECIMALS: Mapping[str, Callable[[int, int], pa.DataType]] = {
    "32": pa.decimal32, "64": pa.decimal64, "128": pa.decimal128, "256": pa.decimal256,
}  # fmt: skip


def type_text(kind: pa.DataType) -> str:
    """The text of a type; parts of lists and maps have one name, whatever library made them."""
    if pa.types.is_map(kind):
        return f"map<{type_text(kind.key_type)}, {type_text(kind.item_type)}>"
    if pa.types.is_list(kind):
        return f"list<item: {type_text(kind.value_type)}>"
    if pa.types.is_struct(kind):
        return f"struct<{', '.join(f'{part.name}: {type_text(part.type)}' for part in kind)}>"
    return str(kind)


def type_like(text: str, like: pa.DataType) -> pa.DataType | None:
    """The type behind a text, of a column that is at hand in a ``like`` type.

    The name of a part may hold commas and brackets: only who knows it sees where it ends.
    """
    try:
        kind, rest = _read(text, like)
    except ValueError:
        return type_of(text)
    return None if rest else kind


def type_of(text: str) -> pa.DataType | None:
    """The type behind a text; None for nested ones other than lists, and for what is no type."""
    if found := _DECIMAL.fullmatch(text):
        return _DECIMALS[found[1]](int(found[2]), int(found[3]))
    if found := _ZONED.fullmatch(text):
        return pa.timestamp(found[1], found[2])
    if found := _FIXED.fullmatch(text):
        return pa.binary(int(found[1]))
    if found := _LIST.fullmatch(text):
        item = type_of(found[1])
        return None if item is None else pa.list_(item)
    if found := _TIME.fullmatch(text):
        return pa.time32(found[2]) if found[1] == "32" else pa.time64(found[2])
    try:
        kind = pa.type_for_alias(text)
    except ValueError:
        return None
    return kind if type_text(kind) == text else None


def from_texts(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """Values that were written as texts; Arrow alone reads neither times nor lengths of time."""
    if pa.types.is_time(kind):
        moments = pc.binary_join_element_wise("1970-01-01", texts, " ")
        return moments.cast(pa.timestamp(kind.unit)).cast(kind)
    if pa.types.is_duration(kind):
        return texts.cast(pa.int64()).cast(kind)
    if pa.types.is_null(kind) and texts.null_count == len(texts):
        return pa.nulls(len(texts))
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        return _nanotimes(texts, kind)
    return texts.cast(kind)


def to_texts(values: pa.Array) -> pa.Array:
    """Texts that ``from_texts`` reads; where the clock of a zone cannot be written, that of UTC."""
    texts = values.cast(pa.string())
    odd = odd_clocks(values)
    if odd is None:
        return texts
    in_utc = values.cast(pa.timestamp(values.type.unit, "UTC"))
    return pc.if_else(odd, in_utc.cast(pa.string()), texts)


def odd_clocks(values: pa.Array) -> pa.Array | None:
    """Where Arrow writes another time than a zone's clock shows; None if nowhere.

    Before there were time zones, clocks were some seconds off the minutes that an offset has room
    for. And at the ends of what nanoseconds reach, the clock of a zone lies beyond them.
    """
    kind = values.type
    if not pa.types.is_timestamp(kind) or kind.tz is None:
        return None
    local, utc = pc.local_timestamp(values).cast(pa.int64()), values.cast(pa.int64())
    offset = pc.subtract(local, utc)  # not checked: where the clock overflowed, this does again
    minute = 60 * _PER_SECOND[kind.unit]
    parts = pc.not_equal(pc.multiply(pc.divide(offset, minute), minute), offset)
    beyond = pc.xor(pc.greater(local, utc), pc.greater(offset, 0))
    odd = pc.or_(parts, beyond)
    return odd if pc.any(odd).as_py() else None


def _nanotimes(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    early = pc.starts_with(texts, _EARLIEST)
    if not pc.any(early).as_py():
        return texts.cast(kind)
    numbers = pc.replace_substring(texts, _EARLIEST, _NEXT, max_replacements=1).cast(kind)
    numbers = numbers.cast(pa.int64())
    # checked: what lies before the first nanosecond is no time of this type
    return pc.subtract_checked(numbers, pc.if_else(early, 10**9, 0)).cast(kind)


def _read(text: str, like: pa.DataType) -> tuple[pa.DataType, str]:
    """The type at the beginning of a text, and the text behind it; ValueError if there is none."""
    if pa.types.is_map(like):
        key, rest = _read(_behind("map<", text), like.key_type)
        item, rest = _read(_behind(", ", rest), like.item_type)
        return pa.map_(key, item), _behind(">", rest)
    if pa.types.is_list(like):
        item, rest = _read(_behind("list<item: ", text), like.value_type)
        return pa.list_(item), _behind(">", rest)
    if pa.types.is_struct(like):
        return _read_struct(text, like)
    found = _FLAT.match(text)
    kind = None if found is None else type_of(found[0])
    if found is None or kind is None:
        raise ValueError("no type")
    return kind, text[found.end() :]


def _read_struct(text: str, like: pa.DataType) -> tuple[pa.DataType, str]:
    rest, parts = _behind("struct<", text), []
    for place, part in enumerate(like):
        kind, rest = _read(_behind(f"{', ' if place else ''}{part.name}: ", rest), part.type)
        parts.append(pa.field(part.name, kind))
    return pa.struct(parts), _behind(">", rest)


def _behind(start: str, text: str) -> str:
    if not text.startswith(start):
        raise ValueError("no type")
    return text[len(start) :]
