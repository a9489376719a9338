"""The cheapest ways through an attribute, from what its intervals cost.

The square of all intervals is never held as a whole unless it is small: a way to the end needs it
once, from the last line to the first, and ways around boundaries once more, from the first to the
last. An attribute of 60,000 values would else take 29 GB.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from sfumato.algorithms.intervals.kernel import FORBIDDEN, ways_from_the_start, ways_to_the_end
from sfumato.algorithms.intervals.weigh import Intervals
from sfumato.core.arrays import Counts, Flags, Ints

_BLOCK = 2**21  # intervals that are held at a time
_KEPT = 2**24  # intervals that are kept instead of being weighed again


class Way(NamedTuple):
    """The cheapest way: its cost, and the boundaries that it goes through."""

    cost: int
    boundaries: Flags


def best_way(intervals: Intervals) -> Way:
    """The cheapest way from the first boundary to the last, each step an interval."""
    ahead, step = _ahead(intervals, reversed([*_blocks(intervals)]))
    return Way(int(ahead[0]), _followed(ahead, step))


def best_ways(intervals: Intervals) -> tuple[Counts, Counts, Flags]:
    """The cost of the best way through each boundary and of that around it, and the best of all."""
    if (intervals.n_slabs + 1) ** 2 <= _KEPT:
        intervals = _Known.of(intervals)
    blocks = [*_blocks(intervals)]
    ahead, step = _ahead(intervals, reversed(blocks))
    behind, around = np.full((2, len(ahead)), FORBIDDEN, np.int64)
    behind[0] = 0
    for first, last in blocks:
        ways_from_the_start(intervals.lines(first, last), first, ahead, behind, around)
    return np.minimum(behind + ahead, FORBIDDEN), around, _followed(ahead, step)


def costs_of(intervals: Intervals, starts: Ints, ends: Ints) -> Counts:
    """The costs of some intervals, by the boundaries between which they lie."""
    costs = np.empty(len(starts), np.int64)
    for first, last in _blocks(intervals):
        here = np.flatnonzero((starts >= first) & (starts < last))
        if len(here):
            costs[here] = intervals.lines(first, last)[starts[here] - first, ends[here]]
    return costs


class _Known(NamedTuple):
    """Intervals that were weighed."""

    costs: Counts

    @classmethod
    def of(cls, intervals: Intervals) -> _Known:
        return cls(intervals.lines(0, intervals.n_slabs))

    @property
    def n_slabs(self) -> int:
        return len(self.costs)

    def lines(self, first: int, last: int) -> Counts:
        return self.costs[first:last]


def _blocks(intervals: Intervals) -> Iterator[tuple[int, int]]:
    """Lines that are held at a time."""
    n = intervals.n_slabs
    step = max(1, _BLOCK // (n + 1))
    for first in range(0, n, step):
        yield first, min(first + step, n)


def _ahead(intervals: Intervals, blocks: Iterator[tuple[int, int]]) -> tuple[Counts, Counts]:
    """From each boundary, what the best way to the end costs, and its first step."""
    ahead = np.full(intervals.n_slabs + 1, FORBIDDEN, np.int64)
    step = np.zeros(intervals.n_slabs + 1, np.int64)
    ahead[-1] = 0
    for first, last in blocks:
        ways_to_the_end(intervals.lines(first, last), first, ahead, step)
    return ahead, step


def _followed(ahead: Counts, step: Counts) -> Flags:
    """The boundaries on the best way."""
    on_way = np.zeros(len(ahead), np.bool_)
    on_way[0] = True
    at = 0
    while at < len(ahead) - 1 and ahead[0] < FORBIDDEN:
        at = int(step[at])
        on_way[at] = True
    return on_way
