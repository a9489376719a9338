"""Columns of every Arrow type, as plain data: the name of a type, values as texts, and cells.

Values are written as people would write them, so that a case reads well and stays what it is when
this list grows. Each type has its awkward values: ends, sentinels, neighbours that a double cannot
tell apart, hours that a clock shows twice, texts that differ only to a machine.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

import pyarrow as pa

from sfumato.core.spelling import folded
from sfumato.io.types import from_texts

Role = Literal["quasi", "sensitive", "insensitive", "identifier"]


def _ends(bits: int, signed: bool) -> tuple[str, ...]:
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    near = [2**53 - 1, 2**53, 2**53 + 1] if bits == 64 else []
    return tuple(str(n) for n in dict.fromkeys([1, 0, 2, 5, low, high, low + 1, high - 1, *near]))


_FLOATS = ("1", "0", "-0.0", "0.1", "2.5", "-3.25", "nan")
_DAYS = ("2024-02-29", "1970-01-01", "2020-10-25", "1899-12-31", "2262-04-11", "9999-12-31")
_TIMES = (
    "2020-10-25 00:30:00", "2020-10-25 01:30:00", "1970-01-01 00:00:00", "1969-12-31 23:59:59",
    "2020-03-29 01:00:00", "2021-07-01 12:00:00",
)  # fmt: skip
_FINE = (*_TIMES, "2021-07-01 12:00:00.000001")
_FINEST = (*_FINE, "2021-07-01 12:00:00.000000001")
_NANO_ENDS = ("1677-09-21 00:12:43.145224193", "2262-04-11 23:47:16.854775807")
_TEXTS = (
    "flu", "flu ", " flu", "Flu", "gout", "a, b", '"x"', "missing", "*", "[1, 2]", "{a}", "é",
    "e\u0301", "zero\u200bwidth", "zerowidth", "nul\0l", "line\nbreak", "", " ", "NULL", "7", "007",
    "7.0", "=1+1", "'", "true", "😀", "20-30", "x" * 300,
)  # fmt: skip

# The awkward values of each type, the plain ones first: cases shrink towards them.
TYPES: dict[pa.DataType, tuple[str, ...]] = {
    pa.int64(): _ends(64, signed=True),
    pa.string(): _TEXTS,
    pa.int8(): _ends(8, True),
    pa.int16(): _ends(16, True),
    pa.int32(): _ends(32, True),
    pa.uint8(): _ends(8, False),
    pa.uint16(): _ends(16, False),
    pa.uint32(): _ends(32, False),
    pa.uint64(): (*_ends(64, signed=False), str(2**63), str(2**63 - 1)),
    pa.float16(): (*_FLOATS, "65504"),
    pa.float32(): (*_FLOATS, "3.4028235e38", "1e-45"),
    pa.float64(): (*_FLOATS, "1.7976931348623157e308", "-1.7976931348623157e308", "5e-324", "inf"),
    pa.decimal32(7, 2): ("1.25", "0.00", "-1.25", "99999.99"),
    pa.decimal64(15, 3): ("1.250", "0.000", "999999999999.999", "999999999999.998"),
    pa.decimal128(12, 2): ("1.25", "0.00", "-1.25", "9999999999.99"),
    pa.decimal128(38, 0): ("1", "0", "9" * 38, "9" * 37 + "8", "-" + "9" * 38),
    pa.decimal256(60, 5): ("1.25000", "0.00000", "9" * 55 + ".99999"),
    pa.decimal128(20, -3): ("1000", "0", "-5000", "99999999999999999999000"),
    pa.bool_(): ("false", "true"),
    pa.date32(): _DAYS,
    pa.date64(): _DAYS,
    pa.timestamp("s"): _TIMES,
    pa.timestamp("us"): _FINE,
    pa.timestamp("ns"): (*_FINEST, *_NANO_ENDS),
    pa.timestamp("us", "UTC"): tuple(f"{text}Z" for text in _FINE),
    pa.timestamp("s", "Europe/Berlin"): tuple(f"{text}Z" for text in _TIMES),
    pa.timestamp("ns", "+05:30"): tuple(f"{text}Z" for text in _FINEST),
    pa.time32("s"): ("0", "86399", "3600", "5025"),
    pa.time64("us"): ("0", "86399999999", "3600000000", "1"),
    pa.duration("s"): ("0", "60", "-60", "9000000000"),
    pa.duration("ns"): ("0", "1", "-1", str(2**62)),
    pa.large_string(): _TEXTS,
    pa.string_view(): _TEXTS,
    pa.dictionary(pa.int8(), pa.string()): _TEXTS,
    pa.dictionary(pa.int32(), pa.int64()): _ends(64, True),
    pa.null(): (),
    pa.binary(): ("b'a'", "b''", "b'\\xff\\x00'"),
    pa.list_(pa.int64()): ("[1, 2]", "[]", "[None]"),
    pa.large_list(pa.string()): ("['a']", "[]"),
    pa.map_(pa.string(), pa.int64()): ("[('k', 1)]", "[]"),
    pa.struct({"x": pa.int64()}): ("{'x': 1}", "{'x': None}"),
    pa.month_day_nano_interval(): ("(1, 2, 3)", "(0, 0, 0)"),
}
BY_NAME = {str(kind): kind for kind in TYPES}


def is_codable(kind: pa.DataType) -> bool:
    """Whether a quasi-identifier or a sensitive column may have this type."""
    return not (pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_interval(kind))


def is_whole(kind: pa.DataType) -> bool:
    """Whether values repeat: fractions hardly do, so that some methods want classes of them."""
    return not (pa.types.is_floating(kind) or pa.types.is_decimal(kind))


CODABLE = [kind for kind in TYPES if is_codable(kind) and TYPES[kind]]
WHOLE = [kind for kind in CODABLE if is_whole(kind) and len(TYPES[kind]) > 2]


@dataclass(frozen=True, slots=True)
class Column:
    """A column: a cell is a place among the values, or None where it is missing."""

    name: str
    role: Role
    type: str
    values: tuple[str, ...]
    cells: tuple[int | None, ...]

    @property
    def kind(self) -> pa.DataType:
        """Its Arrow type."""
        return BY_NAME[self.type]

    def array(self, cells: Sequence[int | None] | None = None) -> pa.Array:
        """Its cells, or others, as Arrow has them."""
        chosen = self.cells if cells is None else cells
        return array(self.kind, [None if cell is None else self.values[cell] for cell in chosen])


def array(kind: pa.DataType, texts: Sequence[str | None]) -> pa.Array:
    """Values of a type from what is written."""
    if pa.types.is_null(kind):
        return pa.nulls(len(texts))
    if pa.types.is_dictionary(kind):
        return array(kind.value_type, texts).dictionary_encode().cast(kind)
    if (read := _reader(kind)) is not None:
        return pa.array([None if text is None else read(text) for text in texts], kind)
    if pa.types.is_duration(kind) or pa.types.is_time(kind):
        width = pa.int32() if kind.bit_width == 32 else pa.int64()
        return pa.array(texts, pa.string()).cast(width).cast(kind)
    if pa.types.is_float16(kind):
        return array(pa.float32(), texts).cast(kind)
    return from_texts(pa.array(texts, pa.string()), kind)


def _reader(kind: pa.DataType) -> Any:
    """How Python reads a value, where Arrow cannot."""
    if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_interval(kind):
        return ast.literal_eval
    if pa.types.is_decimal(kind):
        return Decimal
    return str if is_text(kind) else None


def keys(kind: pa.DataType, values: pa.Array) -> list[Any]:
    """Values that compare as those of the type: units since 1970 for times, one spelling."""
    if pa.types.is_dictionary(kind):
        return keys(kind.value_type, values.dictionary_decode())
    if pa.types.is_temporal(kind) and not pa.types.is_interval(kind):
        width = pa.int32() if kind.bit_width == 32 else pa.int64()
        return list(values.cast(width).to_pylist())
    if is_text(kind):
        return list(folded(values.cast(pa.string())).to_pylist())
    if pa.types.is_floating(kind):
        found = values.cast(pa.float64()).to_pylist()
        return [None if value is None or value != value else value + 0.0 for value in found]
    return list(values.to_pylist())


def is_text(kind: pa.DataType) -> bool:
    """Whether values are texts."""
    return kind in (pa.string(), pa.large_string(), pa.string_view())
