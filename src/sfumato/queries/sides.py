"""How much of a box's side satisfies a condition, from published columns alone.

The share is counted in values, all equally likely: wanted values inside the side over all values
inside. Which values lie inside a range is a matter of the domain, as far as a release shows it:

- declared order, or taxonomy: the values in release.json, whether or not a row has them
- whole numbers and dates: every whole number, every day between the ends
- anything else (fractions, timestamps): the values that are an end of some published range

A set holds what it lists; a taxonomy label holds the leaves below it. Where the value may also be
missing, missing is one more value. Means are not used: they say nothing about single values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, Protocol, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core._kernels import number_rows
from sfumato.core.arrays import Codes, Counts, Flags, Floats
from sfumato.core.attribute import encode
from sfumato.core.taxonomy import Taxonomy
from sfumato.errors import DataError
from sfumato.queries.packing import Domain
from sfumato.releases.manifest import PublishedColumn

Place: TypeAlias = Callable[[Any], int | None]
_EPOCH = date(1970, 1, 1).toordinal()


class Sides(Protocol):
    """The different sides that boxes have along one attribute."""

    def shares(self, wanted: Iterable[Any]) -> Floats:
        """The share of each side that has a wanted value."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class RangeSides:
    """From ``low`` to ``high`` on a line of whole numbers; low > high where only missing is in."""

    place: Place
    low: Counts
    high: Counts
    missing: Flags

    def shares(self, wanted: Iterable[Any]) -> Floats:
        """Count the places between the ends."""
        wanted = frozenset(wanted)
        places = {self.place(value) for value in wanted if value is not None} - {None}
        line = np.sort(np.fromiter((at for at in places if at is not None), np.int64))
        inside = np.searchsorted(line, self.high, "right") - np.searchsorted(line, self.low, "left")
        inside = np.maximum(inside, 0) + (self.missing if None in wanted else 0)
        # as fractions: the distance between the ends of two whole numbers may be too large for one
        values = np.maximum(self.high.astype(np.float64) - self.low + 1, 0)
        shares: Floats = inside / (values + self.missing)
        return shares


@dataclass(frozen=True, slots=True, eq=False)
class SetSides:
    """Side s has the values ``codes[starts[s]:starts[s + 1]]``."""

    domain: Domain
    starts: Counts
    codes: Codes

    def shares(self, wanted: Iterable[Any]) -> Floats:
        """Count the values in the sets."""
        marks = self.domain.marks(wanted)[self.codes].astype(np.int64)
        shares: Floats = np.add.reduceat(marks, self.starts[:-1]) / np.diff(self.starts)
        return shares


def read_sides(column: PublishedColumn, boxes: pa.Table) -> tuple[Sides, Codes]:
    """The different sides of a published attribute, and which of them each box has."""
    if column.form not in _READERS:
        raise DataError(
            f"{column.name!r} is published as {column.form}, made for reading; publish ranges, "
            "sets or taxonomy labels to ask questions",
            source=column.name,
        )
    return _READERS[column.form](column, boxes)


def _read_ranges(column: PublishedColumn, boxes: pa.Table) -> tuple[Sides, Codes]:
    low, high = (boxes.column(name).combine_chunks() for name in column.columns[:2])
    firsts, of_box = _distinct(low, high, _may_be_missing(column, boxes))
    chosen = pa.array(firsts)
    low, high = low.take(chosen), high.take(chosen)
    place, places = _line(column, low, high)
    known = low.is_valid().to_numpy(zero_copy_only=False)
    missing = _may_be_missing(column, boxes)[firsts]
    lows, highs = np.where(known, places(low), 0), np.where(known, places(high), -1)
    return RangeSides(place, lows, highs, missing | ~known), of_box


def _read_labels(column: PublishedColumn, boxes: pa.Table) -> tuple[Sides, Codes]:
    labels = boxes.column(column.name).combine_chunks()
    firsts, of_box = _distinct(labels, labels, _may_be_missing(column, boxes))
    taxonomy = Taxonomy.from_nested(column.taxonomy or {})
    node_of = {label: node for node, label in enumerate(taxonomy.labels)}
    shown = labels.take(pa.array(firsts)).cast(pa.string()).to_pylist()
    if unknown := next((text for text in shown if text not in node_of and text is not None), None):
        raise DataError(
            f"{column.name!r} has the label {unknown!r}, which its taxonomy lacks",
            source=column.name,
        )
    nodes = np.array([node_of.get(label, -1) for label in shown], np.int32)
    known = nodes >= 0
    ranks = {leaf: rank for rank, leaf in enumerate(taxonomy.leaves)}
    return (
        RangeSides(
            ranks.get,
            np.where(known, taxonomy.first_leaf[nodes], 0).astype(np.int64),
            np.where(known, taxonomy.last_leaf[nodes], -1).astype(np.int64),
            _may_be_missing(column, boxes)[firsts] | ~known,
        ),
        of_box,
    )


def _read_sets(column: PublishedColumn, boxes: pa.Table) -> tuple[Sides, Codes]:
    lists = boxes.column(column.name).combine_chunks()
    if not (pa.types.is_list(lists.type) or pa.types.is_large_list(lists.type)):
        raise DataError(
            f"{column.name!r} is published in sets, which a CSV file shows as text; load the "
            "release from Parquet files to ask questions",
            source=column.name,
        )
    attribute, codes = encode(column.name, pa.chunked_array([lists.flatten()]))
    lengths = lists.value_lengths().to_numpy().astype(np.int64)
    if not lengths.all():
        raise DataError(f"{column.name!r} has an empty set", source=column.name)
    starts = np.append(0, np.cumsum(lengths))
    heads = _run_heads(codes.astype(np.int32), starts, lengths)
    number: dict[bytes, int] = {}
    numbers = [
        number.setdefault(codes[starts[box] : starts[box + 1]].tobytes(), len(number))
        for box in heads
    ]
    of_box = np.repeat(np.array(numbers, np.int32), np.diff(np.append(heads, len(lengths))))
    sets = [np.frombuffer(text, codes.dtype) for text in number]
    ends = np.append(0, np.cumsum([len(one) for one in sets])).astype(np.int64)
    joined = np.concatenate(sets).astype(np.int32)
    return SetSides(Domain.of(attribute), ends, joined), of_box


_READERS: Mapping[str, Callable[[PublishedColumn, pa.Table], tuple[Sides, Codes]]] = {
    "range": _read_ranges,
    "label": _read_labels,
    "set": _read_sets,
}


def _may_be_missing(column: PublishedColumn, boxes: pa.Table) -> Flags:
    name = f"{column.name}_missing"
    if name not in column.columns:
        return np.zeros(boxes.num_rows, np.bool_)
    flags: Flags = boxes.column(name).to_numpy().astype(np.bool_)
    return flags


def _distinct(low: pa.Array, high: pa.Array, missing: Flags) -> tuple[Codes, Codes]:
    """The first box with every different side, and the side of every box."""
    ends = [
        np.asarray(end.dictionary_encode(null_encoding="encode").indices, np.int32)
        for end in (low, high)
    ]
    sides = np.stack([*ends, missing], axis=1, dtype=np.int32)
    of_box, firsts, _ = number_rows(sides, sides.max(axis=0).astype(np.int64) + 1)
    return firsts, of_box


def _line(
    column: PublishedColumn, low: pa.Array, high: pa.Array
) -> tuple[Place, Callable[[pa.Array], Counts]]:
    """Where a value lies on the line of whole numbers, for single values and for arrays."""
    kind = low.type
    declared = column.order
    if column.taxonomy is not None:
        declared = Taxonomy.from_nested(column.taxonomy).leaves
    if declared is None and _counts_up(kind):
        return (_day if pa.types.is_date(kind) else _whole), _whole_numbers
    if declared is None:
        seen = pa.concat_arrays([low, high]).drop_null().unique()
        values = seen.take(pc.sort_indices(seen))
    else:
        values = pa.array(declared).cast(kind)
    ranks = {value: rank for rank, value in enumerate(values.to_pylist())}
    return ranks.get, lambda ends: _ranks(column.name, ends, values)


def _counts_up(kind: pa.DataType) -> bool:
    return bool((pa.types.is_integer(kind) and kind != pa.uint64()) or pa.types.is_date32(kind))


def _whole(value: Any) -> int | None:
    try:
        return int(value) if value == int(value) else None
    except (TypeError, ValueError, OverflowError):
        return None


def _day(value: Any) -> int | None:
    return value.toordinal() - _EPOCH if isinstance(value, date) else None


def _whole_numbers(ends: pa.Array) -> Counts:
    if pa.types.is_date32(ends.type):
        ends = ends.cast(pa.int32())
    numbers: Counts = ends.cast(pa.int64()).fill_null(0).to_numpy()
    return numbers


def _ranks(name: str, ends: pa.Array, values: pa.Array) -> Counts:
    ranks = pc.index_in(ends, values)
    if ranks.null_count > ends.null_count:
        raise DataError(f"{name!r} shows a value that its declared order lacks", source=name)
    found: Counts = ranks.fill_null(0).to_numpy().astype(np.int64)
    return found


def _run_heads(codes: Codes, starts: Counts, lengths: Counts) -> Counts:
    """Boxes whose set differs from that of the box before."""
    before = np.arange(len(codes)) - np.repeat(lengths, lengths)
    same = np.logical_and.reduceat(codes == codes[np.maximum(before, 0)], starts[:-1])
    same &= np.append(False, lengths[1:] == lengths[:-1])
    return np.flatnonzero(~same)
