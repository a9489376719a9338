"""The search for the cheapest grid; __init__.py says what it is for, this file how.

A node of the search is a grid under construction: cuts are IN, OPEN or OUT (grid.py).

    1. a grid from local search (first_grids.py), the cheapest so far
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
from itertools import count
from typing import NamedTuple

import numpy as np

from sfumato.algorithms.base import Progress
from sfumato.algorithms.deadline import OutOfTime
from sfumato.algorithms.intervals.first_grids import (
    Cheapest,
    Grid,
    first_grid,
    grid_of,
    led_by,
    open_axes,
    polished,
    redone,
)
from sfumato.algorithms.intervals.grid import IN, OPEN, OUT, Crowd, Marks, View
from sfumato.algorithms.intervals.ways import best_ways
from sfumato.algorithms.intervals.weigh import Weigh
from sfumato.core.arrays import Counts

_POLISHED = 16  # of so many nodes, one is also completed to a grid of its own


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
    for axis in open_axes(crowd, marks) or [0]:
        part = crowd.slices[axis]
        kept = part.start + np.flatnonzero(marks[part])
        through[kept], around[kept], on_way = best_ways(weigh(view.strip(axis), limit))
        best[kept[on_way]] = IN
        bound = max(bound, int(through[part.start]))
    return Sight(bound, marks, through, around, best)


def _improve(crowd: Crowd, weigh: Weigh, sight: Sight, found: Cheapest, visited: int) -> None:
    """Offer the grids that this node leads to."""
    axes = open_axes(crowd, sight.marks)
    if len(axes) <= 1:
        found.offer(Grid(sight.bound, sight.best))
    elif visited % _POLISHED == 0:
        certain = np.where(sight.marks == IN, IN, OUT)
        cheapest = found.grid.cost
        order = led_by(axes[0], range(len(crowd.slices)))
        tried = polished(crowd, weigh, certain, order, found)
        if tried.cost < cheapest:
            redone(crowd, weigh, tried, found)


def _children(crowd: Crowd, sight: Sight) -> list[tuple[Marks, int]]:
    """One cut decided, in and out, with what both cost at least; none if the node is solved.

    Not of the attribute with most open cuts: it need not be searched once the others are decided.
    Of the others, the one that tells most; its first open cut, so that intervals between cuts that
    are certain grow from one end, which makes the next bounds sharper than cuts here and there.
    """
    axes = open_axes(crowd, sight.marks)
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


def _open_cuts(crowd: Crowd, marks: Marks, axis: int) -> Counts:
    part = crowd.slices[axis]
    cuts: Counts = part.start + np.flatnonzero(marks[part] == OPEN)
    return cuts
