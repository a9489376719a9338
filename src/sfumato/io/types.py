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
_DECIMALS: Mapping[str, Callable[[int, int], pa.DataType]] = {
    "32": pa.decimal32, "64": pa.decimal64, "128": pa.decimal128, "256": pa.decimal256,
}  # fmt: skip


def type_text(kind: pa.DataType) -> str:
    """The text of a type; the items of a list have one name, whatever library made it."""
    return str(kind).replace("list<element: ", "list<item: ")


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
    return texts.cast(kind)
