"""The sides of boxes, read back from the columns that show them: the inverse of columns.py.

Their domains are what the release itself says: a declared order or taxonomy, or else the values
that some group shows. So whatever is computed from them tells no more than the tables do, and
anybody who has the tables computes the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core.arrays import Codes, Counts, Flags, Floats, Ints
from sfumato.core.attribute import Attribute, Kind
from sfumato.core.boxes import Boxes, Cells, Nodes, Ranges, Side, ValueSets
from sfumato.core.taxonomy import Taxonomy
from sfumato.errors import SchemaError
from sfumato.forms.except_texts import has_exceptions, read_exceptions
from sfumato.forms.manifest import PublishedColumn, encoded
from sfumato.forms.text_cells import ReadCells, cell_texts, read_cells
from sfumato.io.types import from_texts, type_of

_ROUNDING = 1e-9


def read_boxes(columns: Iterable[PublishedColumn], groups: pa.Table) -> Boxes:
    """The boxes of groups, one line each, along the columns given."""
    return Boxes(tuple(read_side(column, groups) for column in columns))


def read_side(column: PublishedColumn, groups: pa.Table) -> Side:
    """The sides of groups along one column."""
    return _READERS[column.form](column, groups)


def strange_means(
    columns: Iterable[PublishedColumn], groups: pa.Table, sizes: Counts
) -> Iterator[str]:
    """Means that cannot be those of the values in their boxes."""
    for column in columns:
        name = f"{column.name}_mean"
        if name in column.columns:
            side, means = read_side(column, groups), groups.column(name)
            shown: Floats = means.to_numpy(zero_copy_only=False)
            if means.type != pa.float64():
                yield f"a mean of {column.name!r} is no number"
            elif isinstance(side, Ranges) and not _are_means(side, shown, sizes, column.tight):
                yield f"a mean of {column.name!r} cannot be that of its range"


def _are_means(side: Ranges, means: Floats, sizes: Counts, tight: bool | None) -> bool:
    """Inside of their ranges, strictly where both ends are values; and sums of whole numbers are
    whole.
    """
    at = np.append(side.attribute.positions, np.nan)
    low, high = at[side.low], at[side.high]
    largest = np.maximum(np.abs(low), np.abs(high))
    slack = _ROUNDING * np.maximum(1.0, largest)
    with np.errstate(over="ignore"):  # beyond the largest double is outside of nothing
        inside = (low - slack <= means) & (means <= high + slack)
    if tight:
        # of ends that are hardly apart the mean may be rounded to one
        close = high / sizes - low / sizes <= largest * 2.0**-50
        inside &= (low == high) | close | ((low < means) & (means < high))
    if pa.types.is_integer(side.attribute.values.type):
        totals = means * sizes
        whole = np.abs(totals - np.round(totals)) <= _ROUNDING * np.maximum(1.0, np.abs(totals))
        inside &= whole | side.missing  # it is not shown in how many rows the value is missing
    # a range that is wider than its rows may have rows without a value only
    bare = (side.low < 0) if tight else (side.low < 0) | side.missing
    return bool((inside | (np.isnan(means) & bare)).all())


def _ranges(column: PublishedColumn, groups: pa.Table) -> Side:
    ends = [groups.column(name) for name in column.columns[:2]]
    attribute, codes = encoded(column, pa.chunked_array([c for end in ends for c in end.chunks]))
    codes = np.where(codes == attribute.missing_code, -1, codes).astype(np.int32)
    low, high = codes[: groups.num_rows], codes[groups.num_rows :]
    if np.any((low < 0) != (high < 0)) or np.any(high < low):
        raise SchemaError(f"a range of {column.name!r} ends before it starts", column=column.name)
    missing = _missing(column, groups) | (low < 0)
    return Ranges(replace(attribute, has_missing=bool(missing.any())), low, high, missing)


def _sets(column: PublishedColumn, groups: pa.Table) -> Side:
    lists = groups.column(column.name).combine_chunks()
    lengths = lists.value_lengths()
    if lengths.null_count or not all(lengths.to_numpy(zero_copy_only=False)):
        raise SchemaError(f"a set of {column.name!r} is empty", column=column.name)
    attribute, codes = encoded(column, pa.chunked_array([lists.flatten()]))
    starts = np.append(0, np.cumsum(lengths.to_numpy())).astype(np.int64)
    if not _rises(codes, starts):
        raise SchemaError(
            f"a set of {column.name!r} is not in the order of its values", column=column.name
        )
    return ValueSets(attribute, starts, codes.astype(np.int32))


def _labels(column: PublishedColumn, groups: pa.Table) -> Side:
    taxonomy = Taxonomy.from_nested(column.taxonomy or {})
    shown = groups.column(column.name).combine_chunks().cast(pa.string())
    labels = pa.array(taxonomy.labels, pa.string())
    found = pc.index_in(shown, labels)
    if found.null_count > shown.null_count:
        stranger = shown.filter(pc.and_(found.is_null(), shown.is_valid()))[0]
        raise SchemaError(
            f"{column.name!r} has the label {stranger.as_py()!r}, which its taxonomy lacks",
            column=column.name,
        )
    nodes: Codes = found.fill_null(-1).to_numpy().astype(np.int32)
    missing = _missing(column, groups) | (nodes < 0)
    leaves = pa.array([str(leaf) for leaf in taxonomy.leaves])
    attribute = Attribute(
        column.name, Kind.CATEGORICAL, leaves, True, bool(missing.any()), taxonomy
    )
    return Nodes(attribute, taxonomy, nodes, missing)


def _cells(column: PublishedColumn, groups: pa.Table) -> Side:
    hidden = _flags(column, groups, f"{column.name}_suppressed")
    shown = groups.column(column.name)
    if shown.filter(pa.array(hidden)).null_count < hidden.sum():
        raise SchemaError(f"a suppressed cell of {column.name!r} shows a value", column=column.name)
    attribute, codes = encoded(column, shown.filter(pa.array(~hidden)))
    of_group = np.full(groups.num_rows, -1, np.int32)
    of_group[~hidden] = codes
    return Cells(attribute, of_group)


def _texts(column: PublishedColumn, groups: pa.Table) -> Side:
    """Cells made for reading: what they show tells which kind of side they are.

    A side has one text. What reads the same and is written otherwise could mark a group.
    """
    cells = groups.column(column.name).combine_chunks()
    if column.taxonomy is not None and has_exceptions(cells):
        tree = Taxonomy.from_nested(column.taxonomy)
        side: Side = read_exceptions(column.name, tree, cells)
    else:
        side = _side_of_texts(column, read_cells(column.name, cells))
    if not cell_texts(side).equals(cells):
        raise SchemaError(
            f"column {column.name!r} has a cell that could be written otherwise", column=column.name
        )
    return side


def _side_of_texts(column: PublishedColumn, read: ReadCells) -> Side:
    of = read.of_cell
    if read.suppressed.any():
        attribute, codes = _encoded_texts(column, _firsts(read).filter(pa.array(~read.suppressed)))
        of_text = np.full(len(read.values), -1, np.int32)
        of_text[~read.suppressed] = codes
        return Cells(attribute, of_text[of])
    if column.taxonomy is not None:
        names = [column.name, f"{column.name}_missing"]
        shown = [_firsts(read).take(pa.array(of)), pa.array(read.missing[of])]
        return _labels(replace(column, columns=tuple(names)), pa.table(shown, names=names))
    starts = np.append(0, np.cumsum(read.values.value_lengths().to_numpy())).astype(np.int64)
    attribute, codes = _encoded_texts(column, read.values.flatten())
    if not attribute.ordered:
        if not _rises(codes, starts):
            raise SchemaError(f"a set of {column.name!r} is not in order", column=column.name)
        return _read_sets(attribute, starts, codes.astype(np.int32), read)
    known = np.diff(starts) > 0
    padded = np.append(codes, -1).astype(np.int32)
    low = np.where(known, padded[starts[:-1]], -1).astype(np.int32)
    high = np.where(known, padded[starts[1:] - 1], -1).astype(np.int32)
    if np.any(high < low):
        raise SchemaError(f"a range of {column.name!r} ends before it starts", column=column.name)
    attribute = replace(attribute, has_missing=bool(read.missing.any()))
    return Ranges(attribute, low[of], high[of], read.missing[of])


def _firsts(read: ReadCells) -> pa.Array:
    """The first value of every text; null where there is none."""
    lengths = read.values.value_lengths().to_numpy()
    starts = np.cumsum(lengths) - lengths
    return read.values.flatten().take(pa.array(starts, mask=lengths == 0))


def _read_sets(attribute: Attribute, starts: Counts, codes: Codes, read: ReadCells) -> Side:
    """A null alone is the set of the missing value."""
    if (read.missing & (np.diff(starts) == 0)).any():
        attribute = replace(attribute, has_missing=True)
        at = starts[:-1][read.missing]
        codes = np.insert(codes, at, attribute.missing_code)
        starts = np.append(0, np.cumsum(np.diff(starts) + read.missing)).astype(np.int64)
    return ValueSets(attribute, starts, codes).taken(read.of_cell)


def _encoded_texts(column: PublishedColumn, texts: pa.Array) -> tuple[Attribute, Ints]:
    """Codes of values that are shown as texts, in the type that release.json states."""
    kind = type_of(column.type or "string")
    if kind is None:
        raise SchemaError(f"{column.type!r} of {column.name!r} is no type", column=column.name)
    try:
        values = from_texts(texts, kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise SchemaError(
            f"column {column.name!r} has cells that are no {kind}", column=column.name
        ) from error
    return encoded(column, pa.chunked_array([values]))


def _rises(codes: Ints, starts: Counts) -> bool:
    """Whether the codes of every list ascend."""
    rises = np.diff(codes.astype(np.int64)) > 0
    ends = starts[1:-1]
    rises[ends[(ends > 0) & (ends < len(codes))] - 1] = True  # from one list to the next
    return bool(rises.all())


_READERS: Mapping[str, Callable[[PublishedColumn, pa.Table], Side]] = {
    "range": _ranges,
    "set": _sets,
    "label": _labels,
    "cell": _cells,
    "text": _texts,
}


def _missing(column: PublishedColumn, groups: pa.Table) -> Flags:
    return _flags(column, groups, f"{column.name}_missing")


def _flags(column: PublishedColumn, groups: pa.Table, name: str) -> Flags:
    """A column of yes and no; no where it is not there."""
    if name not in column.columns:
        return np.zeros(groups.num_rows, np.bool_)
    shown = groups.column(name)
    if not pa.types.is_boolean(shown.type) or shown.null_count:
        raise SchemaError(f"column {name!r} holds more than yes and no", column=name)
    flags: Flags = shown.to_numpy()
    return flags
