"""Groups of a generalized table, each once: rows of a group are alike and stand together.

A published set of values may be long, and it is repeated in every row of its group. So the rows are
taken in pieces, of each run of equal rows only the first is kept, and runs are numbered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from sfumato.core._kernels import number_rows
from sfumato.core.arrays import Codes, Counts, Flags
from sfumato.core.compiled import announce
from sfumato.forms.files import Pieces
from sfumato.io.plain import plain_table

Decode: TypeAlias = Callable[[pa.Table], pa.Table]


def compact(
    pieces: Pieces, names: Sequence[str], decode: Decode = plain_table
) -> tuple[pa.Table, Codes, pa.Table]:
    """One line per different combination of the named columns, the line of each row, the rest.

    Lines are in order of first appearance. ``decode`` gives both the values that they stand for:
    two writings of a value are one.
    """
    announce(number_rows)
    known = set(names)
    runs = Runs()
    rest: list[pa.Table] = []
    for piece in pieces:
        runs.add(piece.select(list(names)))
        rest.append(piece.select([name for name in piece.column_names if name not in known]))
    others = decode(pa.concat_tables(rest))
    lines = decode(pa.concat_tables(runs.heads))
    if not lines.num_rows or not names:
        return lines, np.zeros(others.num_rows, np.int32), others
    numbers, first = number_lines(lines)
    return lines.take(pa.array(first)), np.repeat(numbers, np.concatenate(runs.lengths)), others


class Runs:
    """Runs of equal rows: the first of each, decoded, and how long each is.

    A run may go on in the next piece. Its head is not kept again there: in pieces of few rows,
    heads that are long would soon be as many as the rows.
    """

    def __init__(self) -> None:
        self.heads: list[pa.Table] = []
        self.lengths: list[Counts] = []
        self.n_runs = 0
        self._last: pa.Table | None = None

    def add(self, shown: pa.Table) -> tuple[int, Counts]:
        """The number of the run that the first of these rows is in, and how many each run has."""
        starts = np.flatnonzero(_run_starts(shown))
        heads = plain_table(shown.take(pa.array(starts)))
        lengths = np.diff(starts, append=shown.num_rows)
        goes_on = self._last is not None and heads.slice(0, 1).equals(self._last)
        first = self.n_runs - goes_on
        self.n_runs = first + len(lengths)
        if goes_on:
            self.lengths[-1][-1] += lengths[0]
            heads = heads.slice(1)
        self.heads.append(heads)
        if heads.num_rows:
            self.lengths.append(lengths[int(goes_on) :].copy())
            self._last = heads.slice(heads.num_rows - 1)
        return first, lengths


def number_lines(lines: pa.Table) -> tuple[Codes, Codes]:
    """A number for every line, equal for equal lines, and the first line that has each."""
    codes = [_cell_codes(column) for column in lines.columns]
    sizes = np.array([column.max() + 1 for column in codes], np.int64)
    numbers, first, _ = number_rows(np.stack(codes, axis=1), sizes)
    return numbers, first


def _run_starts(table: pa.Table) -> Flags:
    """Where a row differs from the one before it."""
    starts = np.zeros(table.num_rows, np.bool_)
    starts[:1] = True
    for column in table.columns:
        starts[1:] |= _differ(column)
    return starts


def _differ(column: pa.ChunkedArray) -> Flags:
    """Whether each cell differs from the one before it."""
    array = column.combine_chunks()
    if pa.types.is_list(array.type):
        return _lists_differ(array)
    if pa.types.is_dictionary(array.type):
        places: Codes = array.indices.fill_null(-1).to_numpy()
        return np.asarray(places[1:] != places[:-1])
    if pa.types.is_integer(array.type) and not array.null_count:
        numbers = array.to_numpy()
        differ: Flags = numbers[1:] != numbers[:-1]  # several times faster than by hashing
    else:
        differ = np.diff(_cell_codes(column)) != 0
    return differ


def _lists_differ(array: pa.ListArray) -> Flags:
    """Whether each list differs from the one before it."""
    items, lengths = _items(array)
    starts = np.cumsum(lengths) - lengths
    differ: Flags = lengths[1:] != lengths[:-1]
    same = np.flatnonzero(~differ)
    # items of lists that are as long as the one before: compare place by place
    owners = np.repeat(same, lengths[same + 1])
    within = np.arange(len(owners)) - np.repeat(
        np.cumsum(lengths[same + 1]) - lengths[same + 1], lengths[same + 1]
    )
    unequal = items[starts[owners] + within] != items[starts[owners + 1] + within]
    differ[owners[unequal]] = True
    return differ


def _cell_codes(column: pa.ChunkedArray) -> Codes:
    """A number per different cell, lists and nulls included."""
    array = column.combine_chunks()
    if pa.types.is_list(array.type):
        return _number_lists(*_items(array))
    encoded = array.dictionary_encode(null_encoding="encode")
    return np.asarray(encoded.indices, np.int32)


def _items(array: pa.ListArray) -> tuple[Codes, Counts]:
    """The items of all lists as codes, and the length of each list."""
    items = array.flatten()
    if not pa.types.is_dictionary(items.type):
        items = items.dictionary_encode(null_encoding="encode")
    items = items.indices.fill_null(len(items.dictionary))
    lengths = array.value_lengths().fill_null(0)
    return np.asarray(items, np.int32), np.asarray(lengths, np.int64)


def _number_lists(items: Codes, lengths: Counts) -> Codes:
    """A number per different list, by numbering prefixes until the longest list is read."""
    starts = np.cumsum(lengths) - lengths
    numbers = np.zeros(len(lengths), np.int32)
    active, top = np.arange(len(lengths)), 0
    for place in range(int(lengths.max(initial=0)) + 1):
        # one step beyond the end tells a list from its own beginning
        active = active[lengths[active] >= place]
        longer = lengths[active] > place
        following = np.zeros(len(active), np.int32)
        following[longer] = items[starts[active[longer]] + place] + 1
        pairs = np.stack([numbers[active], following], axis=1)
        found, firsts, _ = number_rows(pairs, pairs.max(axis=0, initial=0).astype(np.int64) + 1)
        numbers[active] = found + (top + 1)
        top += len(firsts)
    _, compacted = np.unique(numbers, return_inverse=True)
    return compacted.astype(np.int32)
