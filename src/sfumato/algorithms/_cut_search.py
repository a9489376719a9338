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
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from itertools import count, cycle, product
from typing import NamedTuple, TypeAlias

import numpy as np

from sfumato.algorithms._single_grid import IN, OPEN, OUT, Crowd, Marks, View
from sfumato.algorithms._single_kernel import FORBIDDEN, Strip, best_ways
from sfumato.algorithms.base import Progress
from sfumato.core.arrays import Counts

Weigh: TypeAlias = Callable[[Strip], Counts]
_POLISHED = 16  # of so many nodes, one is also completed to a grid of its own


class Grid(NamedTuple):
    """A grid that keeps the model; its cuts are IN, all others OUT."""

    cost: int
    marks: Marks


class Outcome(NamedTuple):
    """The cheapest grid found, what no grid can go below, and how many nodes were looked at."""

    grid: Grid
    bound: int
    visited: int


class Sight(NamedTuple):
    """What is known of a node: its bound, and its cheapest grid as far as one attribute tells.

    Every grid of it costs ``through[b]`` at least if b is a cut, ``around[b]`` if not.
    """

    bound: int
    marks: Marks
    through: Counts
    around: Counts
    best: Marks


def search(
    crowd: Crowd, weigh: Weigh, goes_on: Callable[[int], bool], progress: Progress
) -> Outcome:
    """Look at nodes until the cheapest grid is proven, or ``goes_on`` says no to their number."""
    grid = first_grid(crowd, weigh)
    numbers = count()
    heap = [(0, next(numbers), crowd.marks(OPEN))]
    visited = 0
    while heap and heap[0][0] < grid.cost and goes_on(visited):
        bound, _, marks = heapq.heappop(heap)
        progress(bound / grid.cost)
        visited += 1
        sight = narrowed(crowd, weigh, marks, grid.cost)
        if sight is None:
            continue
        if visited == 1:
            crowd = crowd.merged(sight.marks)  # what is useless at the root is so everywhere
        grid = _cheaper(crowd, weigh, sight, grid, visited)
        for child, least in _children(crowd, sight):
            if max(bound, least) < grid.cost:
                heapq.heappush(heap, (max(bound, least), next(numbers), child))
    return Outcome(grid, min(heap[0][0], grid.cost) if heap else grid.cost, visited)


def first_grid(crowd: Crowd, weigh: Weigh) -> Grid:
    """A good grid to begin with: the best of some local optima, and what becomes of it."""
    axes, uncut = range(len(crowd.slices)), crowd.marks(OUT)
    starts = [(_greedy(crowd, weigh), [*axes]), *((uncut, _led_by(axis, axes)) for axis in axes)]
    found = [polished(crowd, weigh, marks, order) for marks, order in starts]
    return redone(crowd, weigh, min(found, key=lambda grid: grid.cost))


def polished(crowd: Crowd, weigh: Weigh, marks: Marks, order: Sequence[int]) -> Grid:
    """The best cuts of one attribute after another, given the others', until none gets better."""
    anything = crowd.marks(OPEN)
    cost, idle = FORBIDDEN, 0
    for axis in cycle(order):
        part = crowd.slices[axis]
        trial = marks.copy()
        trial[part] = anything[part]
        through, _, on_way = best_ways(weigh(View.through(crowd, trial).strip(axis)))
        idle += 1
        if through[0] < cost:
            cost, idle = int(through[0]), 0
            marks = trial
            marks[part][marks[part] > OUT] = np.where(on_way, IN, OUT)
        if idle == len(order):
            break
    return Grid(cost, marks)


def redone(crowd: Crowd, weigh: Weigh, grid: Grid) -> Grid:
    """Give up the cuts of one attribute and let the others go first, as long as it helps."""
    axes = range(len(crowd.slices))
    for last, first in product(axes, axes):
        marks = grid.marks.copy()
        marks[crowd.slices[last]][1:-1] = OUT
        if first != last and (marks != grid.marks).any():
            others = [axis for axis in axes if axis != last]
            tried = polished(crowd, weigh, marks, [*_led_by(first, others), last])
            if tried.cost < grid.cost:
                return redone(crowd, weigh, tried)
    return grid


def narrowed(crowd: Crowd, weigh: Weigh, marks: Marks, limit: int) -> Sight | None:
    """The node with every cut decided that grids cheaper than the limit decide alike, or None."""
    while True:
        sight = _seen(crowd, weigh, marks)
        if sight.bound >= limit:
            return None
        useless = (marks == OPEN) & (sight.through >= limit)
        needed = (marks == OPEN) & (sight.around >= limit)
        if not (useless | needed).any():
            return sight
        marks = np.where(useless, OUT, np.where(needed, IN, marks))


def _seen(crowd: Crowd, weigh: Weigh, marks: Marks) -> Sight:
    """Look at a node along every attribute that has open cuts; if none has, one look is exact."""
    view = View.through(crowd, marks)
    best = np.where(marks == IN, IN, OUT)
    through, around = np.zeros((2, len(marks)), np.int64)
    bound = 0
    for axis in _open_axes(crowd, marks) or [0]:
        part = crowd.slices[axis]
        kept = part.start + np.flatnonzero(marks[part])
        through[kept], around[kept], on_way = best_ways(weigh(view.strip(axis)))
        best[kept[on_way]] = IN
        bound = max(bound, int(through[part.start]))
    return Sight(bound, marks, through, around, best)


def _cheaper(crowd: Crowd, weigh: Weigh, sight: Sight, grid: Grid, visited: int) -> Grid:
    """The cheapest grid so far, or one that this node leads to."""
    axes = _open_axes(crowd, sight.marks)
    if len(axes) <= 1:
        return Grid(sight.bound, sight.best)  # below the limit, or it would not be here
    if visited % _POLISHED:
        return grid
    certain = np.where(sight.marks == IN, IN, OUT)
    tried = polished(crowd, weigh, certain, _led_by(axes[0], range(len(crowd.slices))))
    return redone(crowd, weigh, tried) if tried.cost < grid.cost else grid


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


def _led_by(first: int, axes: Sequence[int]) -> list[int]:
    return [first, *(axis for axis in axes if axis != first)]


def _open_axes(crowd: Crowd, marks: Marks) -> list[int]:
    return [axis for axis, part in enumerate(crowd.slices) if (marks[part] == OPEN).any()]


def _open_cuts(crowd: Crowd, marks: Marks, axis: int) -> Counts:
    part = crowd.slices[axis]
    cuts: Counts = part.start + np.flatnonzero(marks[part] == OPEN)
    return cuts


def _greedy(crowd: Crowd, weigh: Weigh) -> Marks:
    """Make the cut that lowers the cost most, as long as there is one; what may not be is OUT."""
    marks = crowd.marks(OPEN)
    while (marks == OPEN).any():
        gains = np.full(len(marks), -1, np.int64)
        for axis in _open_axes(crowd, marks):
            gains[crowd.slices[axis]] = _gains(crowd, weigh, marks, axis)
        marks[(marks == OPEN) & (gains < 0)] = OUT
        if (marks == OPEN).any():
            marks[np.argmax(np.where(marks == OPEN, gains, -1))] = IN
    return marks


def _gains(crowd: Crowd, weigh: Weigh, marks: Marks, axis: int) -> Counts:
    """How much each open cut of one attribute would lower the cost by itself; -1 if it may not."""
    part = crowd.slices[axis]
    alone = np.where(marks == IN, IN, OUT)
    alone[part] = marks[part]
    costs = weigh(View.through(crowd, alone).strip(axis))
    kept = np.flatnonzero(marks[part])
    certain = np.flatnonzero(marks[part][kept] == IN)
    place = np.arange(len(kept))
    left = certain[np.searchsorted(certain, place) - 1]
    right = certain[np.minimum(np.searchsorted(certain, place, "right"), len(certain) - 1)]
    after = costs[left, place] + costs[place, right]
    gains = np.full(part.stop - part.start, -1, np.int64)
    gains[kept] = np.where(after < FORBIDDEN, costs[left, right] - after, -1)
    return gains
