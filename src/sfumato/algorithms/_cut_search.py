"""The search for the cheapest grid; single_dimensional.py says what it is for, this file how.

A node of the search is a grid under construction: cuts are IN, OPEN or OUT (_single_grid.py).

    1. first_grid: a grid from local search, the cheapest so far
    2. take the open node with the lowest bound; if even that is not below the cheapest grid, the
       grid is optimal
    3. narrow: along each attribute, the cheapest ways to divide its domain bound what any grid of
       this node costs. A cut through which no way is cheap enough is OUT (it is useless); one
       around which no way is cheap enough is IN; again, until nothing changes
    4. one attribute left open: its cheapest way is the best grid of this node, exactly
    5. otherwise decide one cut, both ways, and put the two nodes back

The bound along an attribute is kind twice: intervals need to be safe only with the cuts of the
other attributes that are IN, and rows are charged for the groups that all their OPEN cuts together
would make, though for no less than the smallest group that is allowed, nor less than an even
division of their cell would cost.

Nearly all time goes into weighing intervals, so whoever weighs also watches the clock and raises
OutOfTime in any of these steps. What was found until then stands: every grid that is better than
those before is kept at once, and a node leaves the heap only after it was looked at wholly, so that
its bound still counts when the look is broken off.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count, cycle, product
from typing import NamedTuple

import numpy as np

from sfumato.algorithms._deadline import OutOfTime
from sfumato.algorithms._single_grid import IN, OPEN, OUT, Crowd, Marks, View, number_cells
from sfumato.algorithms._single_kernel import FORBIDDEN
from sfumato.algorithms._single_ways import best_way, best_ways, costs_of
from sfumato.algorithms._single_weigh import Weigh
from sfumato.algorithms.base import Progress
from sfumato.core.arrays import Counts

_LONG = 256  # boundaries; to look at all intervals between more of them takes a while
_COARSE = 32  # parts into which the values of a long attribute are divided at first
_FINER = 4  # times as many in the next try
_POLISHED = 16  # of so many nodes, one is also completed to a grid of its own


class Grid(NamedTuple):
    """A grid that keeps the model; its cuts are IN, all others OUT."""

    cost: int
    marks: Marks


class Outcome(NamedTuple):
    """The cheapest grid found, what no grid can go below, how many nodes were looked at, and
    whether time was up before the search was over.
    """

    grid: Grid
    bound: int
    visited: int
    cut_short: bool


class Sight(NamedTuple):
    """What is known of a node: its bound, and its cheapest grid as far as one attribute tells.

    Every grid of it costs ``through[b]`` at least if b is a cut, ``around[b]`` if not.
    """

    bound: int
    marks: Marks
    through: Counts
    around: Counts
    best: Marks


@dataclass(slots=True)
class Cheapest:
    """The cheapest grid so far: it outlives a search that is broken off."""

    grid: Grid

    def offer(self, grid: Grid) -> None:
        """Keep a grid if it costs less."""
        if grid.cost < self.grid.cost:
            self.grid = grid


def search(crowd: Crowd, weigh: Weigh, most: float, progress: Progress) -> Outcome:
    """Look at nodes until the cheapest grid is proven, at ``most`` so many, or out of time."""
    found = Cheapest(grid_of(crowd, crowd.marks(OUT)))
    numbers = count()
    heap = [(0, next(numbers), crowd.marks(OPEN))]
    visited, cut_short = 0, False
    try:
        first_grid(crowd, weigh, found)
        while heap and heap[0][0] < found.grid.cost and visited < most:
            bound, _, marks = heap[0]
            progress(bound / found.grid.cost)
            sight = narrowed(crowd, weigh, marks, found.grid.cost)
            if sight is not None:
                if not visited:
                    crowd = crowd.merged(sight.marks)  # useless at the root is so everywhere
                _improve(crowd, weigh, sight, found, visited + 1)
            heapq.heappop(heap)
            visited += 1
            for child, least in [] if sight is None else _children(crowd, sight):
                if max(bound, least) < found.grid.cost:
                    heapq.heappush(heap, (max(bound, least), next(numbers), child))
    except OutOfTime:
        cut_short = True
    cost = found.grid.cost
    return Outcome(found.grid, min(heap[0][0], cost) if heap else cost, visited, cut_short)


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
            polished(crowd, weigh, uncut, _led_by(axis, axes), found)
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
            yield marks, [*_led_by(first, others), last]


def narrowed(crowd: Crowd, weigh: Weigh, marks: Marks, limit: int) -> Sight | None:
    """The node with every cut decided that grids cheaper than the limit decide alike, or None."""
    while True:
        sight = _seen(crowd, weigh, marks, limit)
        if sight.bound >= limit:
            return None
        useless = (marks == OPEN) & (sight.through >= limit)
        needed = (marks == OPEN) & (sight.around >= limit)
        if not (useless | needed).any():
            return sight
        marks = np.where(useless, OUT, np.where(needed, IN, marks))


def _seen(crowd: Crowd, weigh: Weigh, marks: Marks, limit: int) -> Sight:
    """Look at a node along every attribute that has open cuts; if none has, one look is exact.

    What costs more than the limit need not be known.
    """
    view = View.through(crowd, marks)
    best = np.where(marks == IN, IN, OUT)
    through, around = np.zeros((2, len(marks)), np.int64)
    bound = 0
    for axis in _open_axes(crowd, marks) or [0]:
        part = crowd.slices[axis]
        kept = part.start + np.flatnonzero(marks[part])
        through[kept], around[kept], on_way = best_ways(weigh(view.strip(axis), limit))
        best[kept[on_way]] = IN
        bound = max(bound, int(through[part.start]))
    return Sight(bound, marks, through, around, best)


def _improve(crowd: Crowd, weigh: Weigh, sight: Sight, found: Cheapest, visited: int) -> None:
    """Offer the grids that this node leads to."""
    axes = _open_axes(crowd, sight.marks)
    if len(axes) <= 1:
        found.offer(Grid(sight.bound, sight.best))
    elif visited % _POLISHED == 0:
        certain = np.where(sight.marks == IN, IN, OUT)
        cheapest = found.grid.cost
        order = _led_by(axes[0], range(len(crowd.slices)))
        tried = polished(crowd, weigh, certain, order, found)
        if tried.cost < cheapest:
            redone(crowd, weigh, tried, found)


def _children(crowd: Crowd, sight: Sight) -> list[tuple[Marks, int]]:
    """One cut decided, in and out, with what both cost at least; none if the node is solved.

    Not of the attribute with most open cuts: it need not be searched once the others are decided.
    Of the others, the one that tells most; its first open cut, so that intervals between cuts that
    are certain grow from one end, which makes the next bounds sharper than cuts here and there.
    """
    axes = _open_axes(crowd, sight.marks)
    if len(axes) <= 1:
        return []
    axes.remove(max(axes, key=lambda axis: len(_open_cuts(crowd, sight.marks, axis))))
    cut = _open_cuts(crowd, sight.marks, max(axes, key=lambda axis: _telling(crowd, sight, axis)))[
        0
    ]
    children = []
    for mark, least in ((IN, sight.through[cut]), (OUT, sight.around[cut])):
        child = sight.marks.copy()
        child[cut] = mark
        children.append((child, max(sight.bound, int(least))))
    return children


def _telling(crowd: Crowd, sight: Sight, axis: int) -> int:
    """The highest bound that deciding a cut of this attribute can give."""
    cuts = _open_cuts(crowd, sight.marks, axis)
    return int(np.maximum(sight.through[cuts], sight.around[cuts]).max())


def _length(crowd: Crowd, axis: int) -> int:
    return int(crowd.slices[axis].stop - crowd.slices[axis].start)


def _led_by(first: int, axes: Sequence[int]) -> list[int]:
    return [first, *(axis for axis in axes if axis != first)]


def _open_axes(crowd: Crowd, marks: Marks) -> list[int]:
    return [axis for axis, part in enumerate(crowd.slices) if (marks[part] == OPEN).any()]


def _open_cuts(crowd: Crowd, marks: Marks, axis: int) -> Counts:
    part = crowd.slices[axis]
    cuts: Counts = part.start + np.flatnonzero(marks[part] == OPEN)
    return cuts


def _greedy(crowd: Crowd, weigh: Weigh, found: Cheapest) -> Marks:
    """Make the cut that lowers the cost most, as long as there is one; what may not be is OUT."""
    marks = crowd.marks(OPEN)
    try:
        while (marks == OPEN).any():
            gains = np.full(len(marks), -1, np.int64)
            for axis in _open_axes(crowd, marks):
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
