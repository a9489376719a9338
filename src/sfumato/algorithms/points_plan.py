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

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.core._kernels import number_rows
from sfumato.core.arrays import Codes, Counts
from sfumato.core.boxes import Boxes
from sfumato.core.keyed import KEY_BYTES, Key
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.engines.base import Engine
from sfumato.engines.coded import ROW, matrix_of, microdata, quasi_codes, row_numbers
from sfumato.engines.room import Room
from sfumato.models.bound import Bound

_CODES, _TIMES = "codes", "times"
# nobody gains by knowing the buckets, which are of one size whatever the codes
_BUCKETS = Key(bytes(KEY_BYTES))


@dataclass(frozen=True, slots=True, eq=False)
class PointsPlan:
    """The group of every different vector; groups from ``firsts[i]`` on are those of region i.

    ``sizes`` are those of the domains. Rows that are left out are in no region.
    """

    vectors: Codes
    sizes: Counts
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
        # equal rows get equal numbers, and the vectors, which come first, the first ones
        numbers, _, _ = number_rows(np.vstack([self.vectors, codes]), self.sizes)
        groups: Codes = self.groups[numbers[len(self.vectors) :]]
        return groups


def plan_points(
    divide: Callable[[Bound], Partition], engine: Engine, bound: Bound, room: Room, each: int
) -> PointsPlan:
    """Divide a table beyond memory by its different vectors.

    To divide a combination takes as much memory as ``each`` rows of a region.
    """
    counted = count_combinations(engine, bound, room, each)
    partition = divide(counted)
    codes, sizes = counted.table.quasi_codes(), counted.table.quasi_sizes()
    _, first, _ = number_rows(codes, sizes)
    loads = partition.loads(counted.weights)
    # while regions are divided a combination still takes less than one row
    firsts = _runs(loads, room.rows - counted.table.n_rows)
    return PointsPlan(
        codes[first],
        sizes,
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
    n = 1 + 2 * bound.n_rows // room.rows
    buckets = engine.keep(count_rows, bound, names, sizes).exchange(bucket_of, n, add_up, sizes, n)
    found = _held(buckets, room.for_larger(each))
    found = found.take(pa.array(np.argsort(found.column(ROW).to_numpy())))
    codes = dict(zip(names, matrix_of(found.column(_CODES)).T, strict=True))
    combinations = replace(table, n_rows=found.num_rows, codes=codes)
    return replace(bound, table=combinations, weights=found.column(_TIMES).to_numpy())


def count_rows(part: pa.Table, bound: Bound, names: Sequence[str], sizes: Counts) -> pa.Table:
    """The task of the first pass: the combinations of a part, and the first row of each."""
    table = bound.table
    rows = bound.over(microdata(part, table.schema, table.attributes)).table
    codes = np.stack([rows.codes[name] for name in names], axis=1, dtype=np.int32)
    _, first, times = number_rows(codes, sizes)
    return _combinations(row_numbers(part)[first], codes[first], times)


def bucket_of(counted: pa.Table, sizes: Counts, n: int) -> Codes:  # noqa: ARG001
    """The bucket of every combination."""
    words = _BUCKETS.line_words(matrix_of(counted.column(_CODES)))
    return (words % np.uint64(n)).astype(np.int32)


def add_up(counted: pa.Table, number: int, sizes: Counts, n: int) -> pa.Table:  # noqa: ARG001
    """Equal combinations of a bucket, which come in the order of their rows, as one."""
    codes = matrix_of(counted.column(_CODES))
    numbers, first, _ = number_rows(codes, sizes)
    times = np.bincount(numbers, counted.column(_TIMES).to_numpy(), len(first))
    return _combinations(row_numbers(counted)[first], codes[first], times.astype(np.int64))


def _combinations(rows: Counts, codes: Codes, times: Counts) -> pa.Table:
    lists = pa.FixedSizeListArray.from_arrays(pa.array(codes.ravel()), codes.shape[1])
    return pa.table([rows, lists, times], [ROW, _CODES, _TIMES])


def _held(buckets: Engine, room: Room) -> pa.Table:
    """All combinations, if they fit; if not, how many there are is found out all the same."""
    held, n_held = [], 0
    for bucket in buckets.parts():
        n_held += bucket.num_rows
        if n_held <= room.rows:
            held.append(bucket)
    room.require(
        n_held,
        f"the table has {n_held:,} different combinations of values, and all of them have to be in "
        "memory together",
    )
    return pa.concat_tables(held).combine_chunks()
