"""From published columns to the sides of boxes; ``answers.sides`` says what they are.

Ranges and labels are read in reading.py. Sets and cells are read here, over the values that they
show: questions list no others, even where release.json states more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.answers.packing import Domain
from sfumato.answers.sides import Sides
from sfumato.answers.sides.lines import ListLine, WholeLine
from sfumato.answers.sides.places import Line, PlaceSides
from sfumato.answers.sides.sets import SetSides
from sfumato.answers.sides.spans import SpanSides
from sfumato.answers.sides.suppressed import CellSides
from sfumato.core._kernels import number_rows
from sfumato.core.arrays import Codes, Counts
from sfumato.core.attribute import Attribute, Kind, encode, stated_values
from sfumato.core.boxes import Nodes, Ranges
from sfumato.core.exact import exact_numbers
from sfumato.core.moments import comparable
from sfumato.core.taxonomy import Taxonomy
from sfumato.errors import DataError
from sfumato.forms.manifest import PublishedColumn
from sfumato.forms.reading import read_side
from sfumato.io.types import from_texts
from sfumato.queries.columns import Column, plain_type


def describe(column: PublishedColumn, boxes: pa.Table) -> Column:
    """A published quasi-identifier as questions see it."""
    if column.form == "text":
        return _refused(
            column, "as text, made for reading; publish ranges, sets or taxonomy labels"
        )
    if column.form == "set":
        kind = boxes.schema.field(column.name).type
        if not (pa.types.is_list(kind) or pa.types.is_large_list(kind)):
            return _refused(column, "in sets, which a CSV file shows as text; use Parquet files")
        return Column(column.name, kind.value_type, declared(column, kind.value_type))
    if column.form == "label":
        kind = _leaf_type(column)
        return Column(column.name, kind, declared(column, kind))
    kind = plain_type(boxes.schema.field(column.columns[0]).type)
    return Column(column.name, kind, declared(column, kind))


def declared(column: PublishedColumn, kind: pa.DataType) -> tuple[Any, ...] | None:
    """The order that release.json states, where it is not the natural one."""
    values = _listed(column)
    if values is None or column.kind == Kind.NUMERICAL:
        return None
    return tuple(comparable(_typed(values, kind)))


def read_sides(column: PublishedColumn, boxes: pa.Table) -> tuple[Sides, Codes]:
    """The different sides of a published attribute, and which of them each box has."""
    return _READERS[column.form](column, boxes)


def _refused(column: PublishedColumn, how: str) -> Column:
    reason = f"{column.name!r} is published {how} to ask questions"
    return Column(column.name, pa.string(), refusal=reason)


def _listed(column: PublishedColumn) -> tuple[Any, ...] | None:
    if column.taxonomy is not None:
        return Taxonomy.from_nested(column.taxonomy).leaves
    return column.order


def _leaf_type(column: PublishedColumn) -> pa.DataType:
    """A label's leaves are stated in release.json; numbers among them may have become texts."""
    stated = _listed(column) or ()
    if column.kind == Kind.NUMERICAL:
        leaves = pa.array([str(leaf) for leaf in stated], pa.string())
        for kind in (pa.int64(), pa.uint64(), _fraction_type(stated)):
            try:
                leaves.cast(kind)
            except pa.ArrowInvalid:
                continue
            return kind
    return stated_values(stated).type


def _fraction_type(leaves: Sequence[Any]) -> pa.DataType:
    """That of doubles, which are stated as they are, or of decimals, which doubles would round."""
    if any(isinstance(leaf, float) for leaf in leaves):
        return pa.float64()
    try:
        digits = [int(Decimal(str(leaf)).as_tuple().exponent) for leaf in leaves]
    except (InvalidOperation, ValueError):  # dates, or no numbers at all
        return pa.float64()
    return pa.decimal256(76, max(0, -min(digits, default=0)))


def _read_ranges(column: PublishedColumn, boxes: pa.Table) -> tuple[Sides, Codes]:
    side = read_side(column, boxes)
    assert isinstance(side, Ranges)
    sides, of_box = _distinct(side)
    known, values = sides.low >= 0, side.attribute.values
    if _listed(column) is None and not _counts_up(values.type):
        low, high = np.where(known, sides.low, 0), np.where(known, sides.high, -1)
        ends = comparable(values), exact_numbers(values)
        return SpanSides(column.name, values.type, *ends, low, high, sides.missing), of_box
    line, places = _line(column, side.attribute)
    low, high = (np.where(known, places[ends], 0) for ends in (sides.low, sides.high))
    return PlaceSides(column.name, line, low, np.where(known, high, -1), sides.missing), of_box


def _line(column: PublishedColumn, attribute: Attribute) -> tuple[Line, Counts]:
    """The line that ranges run over, and the places of the attribute's codes on it; one more place
    stands for no value.
    """
    values = attribute.values
    if _listed(column) is not None:
        return ListLine(_domain(column.name, values)), np.arange(len(values) + 1)
    whole = WholeLine(bool(pa.types.is_date(values.type)), values.type == pa.uint64())
    return whole, np.append(whole.places(exact_numbers(values)), 0)


def _read_labels(column: PublishedColumn, boxes: pa.Table) -> tuple[Sides, Codes]:
    side = read_side(column, boxes)
    assert isinstance(side, Nodes)
    sides, of_box = _distinct(Ranges(side.attribute, side.nodes, side.nodes, side.missing))
    known, taxonomy = sides.low >= 0, side.taxonomy
    leaves = side.attribute.values.cast(_leaf_type(column))
    return (
        PlaceSides(
            column.name,
            ListLine(_domain(column.name, leaves)),
            np.where(known, taxonomy.first_leaf[sides.low], 0).astype(np.int64),
            np.where(known, taxonomy.last_leaf[sides.low], -1).astype(np.int64),
            sides.missing,
        ),
        of_box,
    )


def _read_sets(column: PublishedColumn, boxes: pa.Table) -> tuple[Sides, Codes]:
    lists = boxes.column(column.name).combine_chunks()
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
    return SetSides(Domain(attribute), ends, joined), of_box


def _read_cells(column: PublishedColumn, boxes: pa.Table) -> tuple[Sides, Codes]:
    shown = boxes.column(column.name)
    hidden = boxes.column(f"{column.name}_suppressed").to_numpy().astype(np.bool_)
    # a null that is not suppressed is a missing value
    attribute, codes = encode(column.name, shown.filter(pa.array(~hidden)))
    of_box = np.full(len(hidden), attribute.size, np.int32)
    of_box[~hidden] = codes
    shown_codes = np.arange(attribute.size, dtype=np.int32)
    sides = np.append(shown_codes, np.int32(-1)) if hidden.any() else shown_codes
    return CellSides(Domain(attribute), sides), of_box


_READERS: Mapping[str, Callable[[PublishedColumn, pa.Table], tuple[Sides, Codes]]] = {
    "range": _read_ranges,
    "label": _read_labels,
    "set": _read_sets,
    "cell": _read_cells,
}


def _domain(name: str, values: pa.Array) -> Domain:
    return Domain(Attribute(name, Kind.CATEGORICAL, values, ordered=True))


def _distinct(side: Ranges) -> tuple[Ranges, Codes]:
    """The different sides, and which of them each box has."""
    ends = np.stack([side.low + 1, side.high + 1, side.missing], axis=1, dtype=np.int32)
    of_box, firsts, _ = number_rows(ends, ends.max(axis=0).astype(np.int64) + 1)
    return side.taken(firsts), of_box


def _counts_up(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_date32(kind))


def _typed(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Stated values in a column's type; release.json has texts of what JSON lacks."""
    array = stated_values(values)
    return from_texts(array, kind) if pa.types.is_string(array.type) else array.cast(kind)


def _run_heads(codes: Codes, starts: Counts, lengths: Counts) -> Counts:
    """Boxes whose set differs from that of the box before."""
    before = np.arange(len(codes)) - np.repeat(lengths, lengths)
    same = np.logical_and.reduceat(codes == codes[np.maximum(before, 0)], starts[:-1])
    same &= np.append(False, lengths[1:] == lengths[:-1])
    return np.flatnonzero(~same)
