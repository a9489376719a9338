"""Grids to begin with: local search from several sides, and what there is time for before it.

Of one attribute, given the cuts of all others, the best cuts are found at once (ways.py).
So a grid is polished attribute after attribute until none gets better, and local optima are left by
giving up the cuts of one attribute. An attribute of thousands of values takes long to be looked at,
so it is cut coarsely first; such grids count only if there is no time for better ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import cycle, product
from typing import NamedTuple

import numpy as np

from sfumato.algorithms.deadline import OutOfTime
from sfumato.algorithms.intervals.grid import IN, OPEN, OUT, Crowd, Marks, View, number_cells
from sfumato.algorithms.intervals.kernel import FORBIDDEN
from sfumato.algorithms.intervals.ways import best_way, costs_of
from sfumato.algorithms.intervals.weigh import Weigh
from sfumato.core.arrays import Counts

_LONG = 256  # boundaries; to look at all intervals between more of them takes a while
_COARSE = 32  # parts into which the values of a long attribute are divided at first
_FINER = 4  # times as many in the next try


class Grid(NamedTuple):
    """A grid that keeps the model; its cuts are IN, all others OUT."""

    cost: int
    marks: Marks


@dataclass(slots=True)
class Cheapest:
    """The cheapest grid so far: it outlives a search that is broken off."""

    grid: Grid

    def offer(self, grid: Grid) -> None:
        """Keep a grid if it costs less."""
        if grid.cost < self.grid.cost:
            self.grid = grid


def grid_of(crowd: Crowd, marks: Marks) -> Grid:
    """The grid of all cuts that are IN, with what it costs."""
    cells, first = number_cells(crowd.between(marks, IN))
    rows = np.bincount(cells, weights=crowd.weights, minlength=len(first)).astype(np.int64)
    return Grid(int((rows**2).sum()), np.where(marks == IN, IN, OUT))


def first_grid(crowd: Crowd, weigh: Weigh, found: Cheapest) -> None:
    """Good grids to begin with: some local optima, and what becomes of the best of them.

    Should there be no time for them, a few cuts of every attribute come first, and then those of
    the attributes with the fewest values.
    """
    axes, uncut, hasty = range(len(crowd.slices)), crowd.marks(OUT), Cheapest(found.grid)
    try:
        _coarse_grids(crowd, weigh, hasty)
        polished(crowd, weigh, uncut, sorted(axes, key=partial(_length, crowd)), hasty)
        polished(crowd, weigh, _greedy(crowd, weigh, found), [*axes], found)
        for axis in axes:
            polished(crowd, weigh, uncut, led_by(axis, axes), found)
    except OutOfTime:
        found.offer(hasty.grid)
        raise
    redone(crowd, weigh, found.grid, found)


def _coarse_grids(crowd: Crowd, weigh: Weigh, hasty: Cheapest) -> None:
    """Grids of some cuts only, then of more, where an attribute has too many for one look.

    One look at an attribute alone costs little, so it is given more cuts than all together.
    """
    axes = range(len(crowd.slices))
    longest = max(axes, key=partial(_length, crowd))
    parts = _COARSE
    while _length(crowd, longest) > max(_LONG, parts):
        alone = crowd.merged(crowd.every(_FINER * parts))
        hasty.offer(_recut(alone, weigh, Grid(hasty.grid.cost, alone.marks(OUT)), longest))
        some = crowd.merged(crowd.every(parts))
        for marks in (some.marks(OUT), hasty.grid.marks):
            if (marks[some.marks(OPEN) == OUT] == OUT).all():
                polished(some, weigh, marks, [*axes], hasty)
        parts *= _FINER


def polished(
    crowd: Crowd, weigh: Weigh, marks: Marks, order: Sequence[int], found: Cheapest
) -> Grid:
    """The best cuts of one attribute after another, given the others', until none gets better."""
    best, idle = Grid(FORBIDDEN, marks), 0
    for axis in cycle(order):
        tried = _recut(crowd, weigh, best, axis)
        idle += 1
        if tried.cost < best.cost:
            best, idle = tried, 0
            found.offer(best)
        if idle == len(order):
            break
    return best


def _recut(crowd: Crowd, weigh: Weigh, grid: Grid, axis: int) -> Grid:
    """The grid with the best cuts of one attribute, given those of all others, if it costs less.

    A way of the same cost or less uses no interval that costs more, so these are not weighed.
    """
    part = crowd.slices[axis]
    marks = grid.marks.copy()
    marks[part] = crowd.marks(OPEN)[part]
    way = best_way(weigh(View.through(crowd, marks).strip(axis), grid.cost))
    marks[part][marks[part] > OUT] = np.where(way.boundaries, IN, OUT)
    return Grid(way.cost, marks)


def redone(crowd: Crowd, weigh: Weigh, grid: Grid, found: Cheapest) -> None:
    """Give up the cuts of one attribute and let the others go first, as long as it helps."""
    better: Grid | None = grid
    while better is not None:
        grid = better
        tries = (
            polished(crowd, weigh, marks, order, found) for marks, order in _retries(crowd, grid)
        )
        better = next((tried for tried in tries if tried.cost < grid.cost), None)


def _retries(crowd: Crowd, grid: Grid) -> Iterator[tuple[Marks, list[int]]]:
    """The grid without the cuts of one attribute, which then comes last."""
    axes = range(len(crowd.slices))
    for last, first in product(axes, axes):
        marks = grid.marks.copy()
        marks[crowd.slices[last]][1:-1] = OUT
        if first != last and (marks != grid.marks).any():
            others = [axis for axis in axes if axis != last]
            yield marks, [*led_by(first, others), last]


def _greedy(crowd: Crowd, weigh: Weigh, found: Cheapest) -> Marks:
    """Make the cut that lowers the cost most, as long as there is one; what may not be is OUT."""
    marks = crowd.marks(OPEN)
    try:
        while (marks == OPEN).any():
            gains = np.full(len(marks), -1, np.int64)
            for axis in open_axes(crowd, marks):
                gains[crowd.slices[axis]] = _gains(crowd, weigh, marks, axis)
            marks[(marks == OPEN) & (gains < 0)] = OUT
            if (marks == OPEN).any():
                marks[np.argmax(np.where(marks == OPEN, gains, -1))] = IN
    except OutOfTime:
        found.offer(grid_of(crowd, marks))  # each cut was safe when it was made
        raise
    return marks


def _gains(crowd: Crowd, weigh: Weigh, marks: Marks, axis: int) -> Counts:
    """How much each open cut of one attribute would lower the cost by itself; -1 if it may not."""
    part = crowd.slices[axis]
    alone = np.where(marks == IN, IN, OUT)
    alone[part] = marks[part]
    intervals = weigh(View.through(crowd, alone).strip(axis), FORBIDDEN)
    kept = np.flatnonzero(marks[part])
    certain = np.flatnonzero(marks[part][kept] == IN)
    open_ = np.flatnonzero(marks[part][kept] == OPEN)
    left = certain[np.searchsorted(certain, open_) - 1]
    right = certain[np.searchsorted(certain, open_)]
    starts, ends = np.concatenate([left, open_, left]), np.concatenate([open_, right, right])
    before, after, whole = costs_of(intervals, starts, ends).reshape(3, -1)
    gains = np.full(part.stop - part.start, -1, np.int64)
    gains[kept[open_]] = np.where(before + after < FORBIDDEN, whole - before - after, -1)
    return gains


def open_axes(crowd: Crowd, marks: Marks) -> list[int]:
    """The attributes with cuts that are not decided."""
    return [axis for axis, part in enumerate(crowd.slices) if (marks[part] == OPEN).any()]


def led_by(first: int, axes: Sequence[int]) -> list[int]:
    """These attributes, one of them first."""
    return [first, *(axis for axis in axes if axis != first)]


def _length(crowd: Crowd, axis: int) -> int:
    return int(crowd.slices[axis].stop - crowd.slices[axis].start)
