"""Beyond memory with the different vectors alone: how methods that work on points plan.

Such a method never tells equal rows apart, and real tables repeat themselves. So

    1. count   how often every combination of quasi-identifiers and of the sensitive values that a
               requirement is about occurs: part by part, then bucket by bucket of equal ones
    2. divide  the combinations, each of which stands for so many rows: by the function that
               divides the rows of a table in memory
    3. locate  every row by its vector; a region is a run of whole groups that fits

Combinations stand in the order in which the table shows them first, and so do the vectors: the
method sees what it sees in memory, whatever the parts. Cost: two passes, and memory for the
combinations; if they do not fit, how many there are is found out all the same.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.core._kernels import number_rows
from sfumato.core.arrays import Codes, Counts, Words
from sfumato.core.boxes import Boxes
from sfumato.core.keyed import KEY_BYTES, Key
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.engines.base import Engine
from sfumato.engines.coded import microdata, quasi_codes, row_numbers
from sfumato.engines.room import Room
from sfumato.engines.vectors import added_up, counted, times_of, vector_codes
from sfumato.models.bound import Bound


@dataclass(frozen=True, slots=True, eq=False)
class PointsPlan:
    """The group of every different vector; groups from ``firsts[i]`` on are those of region i.

    Vectors stand in the order of their ``words`` under a ``key``, by which rows find theirs. Rows
    that are left out are in no region.
    """

    vectors: Codes
    key: Key
    words: Words
    groups: Codes
    firsts: Counts
    loads: Counts
    boxes: Boxes | None
    notes: Mapping[str, Any]
    stated: Mapping[str, Any] = field(default_factory=dict)

    def of_rows(self, part: pa.Table) -> Codes:
        """The region of every row of a coded part."""
        groups = self._groups_of(quasi_codes(part))
        # below the first group is nothing but LEFT_OUT
        return (np.searchsorted(self.firsts, groups, side="right") - 1).astype(np.int32)

    def divide(self, number: int, table: Microdata, rows: Counts) -> Partition:  # noqa: ARG002
        """The groups of a region's rows."""
        groups, first = self._groups_of(table.quasi_codes()), int(self.firsts[number])
        found = np.arange(first, int(groups.max()) + 1)
        boxes = None if self.boxes is None else self.boxes.taken(found)
        return Partition.of(groups - np.int32(first), boxes)

    def _groups_of(self, codes: Codes) -> Codes:
        places = np.searchsorted(self.words, self.key.line_words(codes))
        assert np.array_equal(self.vectors[places], codes), "two vectors share a word of 64 bits"
        groups: Codes = self.groups[places]
        return groups


def plan_points(
    divide: Callable[[Bound], Partition], engine: Engine, bound: Bound, room: Room, each: int
) -> PointsPlan:
    """Divide a table beyond memory by its different vectors.

    To divide a combination takes as much memory as ``each`` rows of a region.
    """
    few = count_combinations(engine, bound, room, each)
    partition = divide(few)
    codes = few.table.quasi_codes()
    _, first, _ = number_rows(codes, few.table.quasi_sizes())
    key = Key(os.urandom(KEY_BYTES))  # secret, so that nobody can make two vectors share a word
    words = key.line_words(codes[first])
    order = np.argsort(words)
    first = first[order]
    loads = partition.loads(few.weights)
    # while regions are divided a combination still takes less than one row
    firsts = _runs(loads, room.rows - few.table.n_rows)
    return PointsPlan(
        codes[first],
        key,
        words[order],
        partition.groups[first],
        firsts,
        np.add.reduceat(loads, firsts),
        partition.boxes,
        partition.notes,
    )


def _runs(loads: Counts, most: int) -> Counts:
    """Where runs of groups begin that have so many rows together, or are one group."""
    ends = np.cumsum(loads)
    firsts, after = [], 0
    while after < len(loads):
        firsts.append(after)
        done = int(ends[after] - loads[after])
        after = max(after + 1, int(np.searchsorted(ends, done + most, side="right")))
    return np.array(firsts)


def count_combinations(engine: Engine, bound: Bound, room: Room, each: int) -> Bound:
    """The same requirements over a table of combinations, each with its weight."""
    table = bound.table
    asked = {need.attribute for need in bound.needs}
    names = [*table.schema.quasi, *(name for name in table.schema.sensitive if name in asked)]
    sizes = np.array([table.attributes[name].size for name in names], np.int64)
    parts = engine.keep(count_rows, bound, names, sizes)
    found = added_up(parts, sizes, bound.n_rows, room.for_larger(each), "the table")
    codes = dict(zip(names, vector_codes(found).T, strict=True))
    combinations = replace(table, n_rows=found.num_rows, codes=codes)
    return replace(bound, table=combinations, weights=times_of(found))


def count_rows(part: pa.Table, bound: Bound, names: Sequence[str], sizes: Counts) -> pa.Table:
    """The task of the first pass: the combinations of a part, and the first row of each."""
    table = bound.table
    rows = bound.over(microdata(part, table.schema, table.attributes)).table
    codes = np.stack([rows.codes[name] for name in names], axis=1, dtype=np.int32)
    return counted(row_numbers(part), codes, sizes)
