"""Which intervals may be, for models that exist only in Python.

The kernel weighs intervals as if every group were safe; here those that are not are ruled out. A
cell of the other attributes is a group of an interval; as the interval takes in one slab after
another, the group changes only where a slab has points in that cell. So a model is asked about
these moments alone, many of them at a time, but no more than fit into a bounded space.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from sfumato.algorithms.deadline import Deadline
from sfumato.algorithms.intervals.kernel import FORBIDDEN, Strip
from sfumato.algorithms.intervals.weigh import ANYTHING, Weighed
from sfumato.core.arrays import Codes, Counts, Flags
from sfumato.core.histograms import Histograms
from sfumato.models.bound import Bound

_ENTRIES = 2**20  # of histograms that a model is shown at a time


@dataclass(frozen=True, slots=True, eq=False)
class PlainWeigher:
    """Weighs intervals by asking models. Column s of a strip's sensitive values is of need s."""

    bound: Bound
    deadline: Deadline

    def sensitive(self) -> Codes:
        """Per row, the value each need looks at; 0 where only sizes count."""
        table = self.bound.table
        nothing = np.zeros(table.n_rows, np.int32)
        columns = [
            nothing if need.attribute is None else table.codes[need.attribute]
            for need in self.bound.needs
        ]
        return np.stack(columns, axis=1, dtype=np.int32)

    def __call__(self, strip: Strip, most: int) -> PlainIntervals:
        """The least cost of every interval; FORBIDDEN where a model says no."""
        sizes_only = strip._replace(sensitive=strip.sensitive[:, :0])
        weighed = Weighed.of(sizes_only, most, limits=ANYTHING, n_values=0, deadline=self.deadline)
        return PlainIntervals(weighed, self, _Moments.of(strip))

    def safe(self, moments: Counts, counted: list[_Counted], first: int, of: _Moments) -> Flags:
        """Whether the groups of some moments pass every model, in intervals from a slab on."""
        safe = np.ones(len(moments), np.bool_)
        for need, everyone, counts in zip(
            self.bound.needs, self.bound.everyone, counted, strict=True
        ):
            whole = everyone.whole
            groups, values, rows = counts.at(of.cells[moments], of.slabs[moments], first)
            if need.attribute is None:
                seen = Histograms.of_sizes(rows)
            else:
                attribute = self.bound.table.attributes[need.attribute]
                keys = groups * len(whole) + values
                seen = Histograms.of_keys(attribute, keys, rows, len(moments))
            safe &= need.model.passes(replace(seen, whole=whole))
        return safe


@dataclass(frozen=True, slots=True, eq=False)
class PlainIntervals:
    """Intervals of a strip, weighed and then asked about."""

    weighed: Weighed
    weigher: PlainWeigher
    moments: _Moments

    @property
    def n_slabs(self) -> int:
        """How many slabs the attribute has."""
        return self.weighed.n_slabs

    def lines(self, first: int, last: int) -> Counts:
        """Weigh some intervals, and rule out those with a group that is not safe."""
        costs = self.weighed.lines(first, last)
        for line in range(first, last):
            ends = np.flatnonzero(costs[line - first] < FORBIDDEN)
            if len(ends):
                failing = self._failing(line, int(ends[-1]))
                costs[line - first, line + 1 : ends[-1] + 1][failing > 0] = FORBIDDEN
        return costs

    def _failing(self, first: int, last: int) -> Counts:
        """How many groups fail in the intervals that begin with a slab, by their last slab."""
        moments, deadline = self.moments, self.weighed.deadline
        fails = np.zeros(len(moments.slabs), np.bool_)
        here = np.flatnonzero((moments.slabs >= first) & (moments.slabs < last))
        for some in moments.portions(here):
            deadline.check()
            fails[some] = ~self.weigher.safe(some, moments.counted, first, moments)
        before = fails[here - 1] & (moments.cells[here - 1] == moments.cells[here])
        before &= (here > 0) & (moments.slabs[here - 1] >= first)
        newly = np.bincount(
            moments.slabs[here] - first,
            weights=fails[here].astype(np.int64) - before,
            minlength=last - first,
        )
        return np.cumsum(newly).astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class _Counted:
    """How often each value of one need occurs in each cell, up to any slab.

    The values of a cell stand at ``starts[cell]`` to ``starts[cell + 1]``. Points are sorted by
    ``keys``, the place of their value and then their slab; ``rows`` is how many there are so far.
    """

    starts: Counts
    values: Codes
    keys: Counts
    rows: Counts
    n_slabs: int

    @classmethod
    def of(cls, strip: Strip, slabs: Counts, values: Codes) -> _Counted:
        n_slabs, size = len(strip.begins) - 1, int(values.max()) + 1
        found, place = np.unique(strip.coarse.astype(np.int64) * size + values, return_inverse=True)
        keys = place * n_slabs + slabs
        order = np.argsort(keys, kind="stable")
        rows = np.append(0, np.cumsum(strip.weights[order]))
        starts = np.append(0, np.cumsum(np.bincount(found // size)))
        return cls(starts, (found % size).astype(np.int32), keys[order], rows, n_slabs)

    def at(self, cells: Codes, slabs: Codes, first: int) -> tuple[Counts, Codes, Counts]:
        """The histograms of cells in intervals from a slab on: group, value, and how often."""
        lengths = self.starts[cells + 1] - self.starts[cells]
        groups = np.repeat(np.arange(len(cells)), lengths)
        skipped = np.cumsum(lengths) - lengths
        places = np.arange(len(groups)) - skipped[groups] + self.starts[cells][groups]
        until = np.searchsorted(self.keys, places * self.n_slabs + slabs[groups], "right")
        since = np.searchsorted(self.keys, places * self.n_slabs + first)
        rows = self.rows[until] - self.rows[since]
        there = rows > 0
        return groups[there], self.values[places[there]], rows[there]


@dataclass(frozen=True, slots=True, eq=False)
class _Moments:
    """When cells change: all cells with all slabs in which they have points, cell after cell."""

    cells: Codes
    slabs: Codes
    counted: list[_Counted]

    @classmethod
    def of(cls, strip: Strip) -> _Moments:
        n_slabs = len(strip.begins) - 1
        slabs = np.empty(len(strip.order), np.int64)
        slabs[strip.order] = np.repeat(np.arange(n_slabs), np.diff(strip.begins))
        found = np.unique(strip.coarse.astype(np.int64) * n_slabs + slabs)
        counted = [_Counted.of(strip, slabs, column) for column in strip.sensitive.T]
        return cls((found // n_slabs).astype(np.int32), (found % n_slabs).astype(np.int32), counted)

    def portions(self, moments: Counts) -> Iterator[Counts]:
        """Moments in portions whose histograms are not too large together."""
        sizes = np.ones(len(moments), np.int64)
        for each in self.counted:
            sizes += np.diff(each.starts)[self.cells[moments]]
        parts = np.cumsum(sizes) // _ENTRIES
        yield from np.split(moments, np.flatnonzero(np.diff(parts)) + 1) if len(moments) else ()
