"""Rows of groups that can spare them move to neighbours where they cost less."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.algorithms.goal import Goal
from sfumato.algorithms.refine.groups import Groups, draw_group, link_row, passes_changed
from sfumato.algorithms.refine.line import Line, draw_place, weigh_row
from sfumato.algorithms.space import PointArrays, Sets, add_point, ones, penalty_of
from sfumato.core.arrays import Counts, Floats, Whole
from sfumato.core.compiled import inner, kernel

_GAIN = 1e-9  # less than that is rounding
_OVERHEAD = 250  # the work of weighing a row, as rebuild.py counts it


class Edge(NamedTuple):
    """What the box of a group would be without one of its rows.

    By axis the two lowest and the two highest coordinates of its rows; by value of a set how many
    rows have it, and by set how many values there are.
    """

    lows: Floats
    highs: Floats
    counts: Counts
    values: Counts


def new_edge(n_axes: int, sets: Sets) -> Edge:
    """Room for one group."""
    return Edge(
        lows=np.zeros((n_axes, 2)),
        highs=np.zeros((n_axes, 2)),
        counts=np.zeros(64 * int(sets.words[-1]), np.int64),
        values=np.zeros(len(sets.bits), np.int64),
    )


@kernel
def move_all(
    groups: Groups, line: Line, arrays: PointArrays, sets: Sets, goal: Goal, edge: Edge,
    low: int, work: int,
) -> int:  # fmt: skip
    """Move rows out of each group of a line from ``low`` on, until so much work is done.

    The place where it stopped, for the next call.
    """
    at = low - 1
    while at + 1 < line.groups.size and work > 0:
        at += 1
        group = line.groups[at]
        work -= _OVERHEAD * groups.loads[group]
        if groups.loads[group] <= goal.least or groups.sides.penalties[group] <= 0.0:
            continue
        _measure(groups, arrays, sets, group, edge)
        before, i = np.int64(-1), groups.heads[group]
        while i >= 0 and groups.loads[group] > goal.least:
            following = groups.following[i]
            without = _penalty_without(arrays, sets, edge, i)
            spared = groups.loads[group] * (groups.sides.penalties[group] - without) + without
            place = _cheapest(line, arrays, sets, at, i, spared - _GAIN)
            taker = line.groups[max(0, place)]
            if (
                place >= 0
                and passes_changed(groups, arrays, goal, group, i, -1)
                and passes_changed(groups, arrays, goal, taker, i, 1)
            ):
                _move(groups, arrays, sets, group, taker, before, i)
                draw_place(line, groups, group)
                draw_place(line, groups, taker)
                _measure(groups, arrays, sets, group, edge)
            else:
                before = i
            i = following
    return at + 1


@inner
def _measure(groups: Groups, arrays: PointArrays, sets: Sets, group: Whole, edge: Edge) -> None:
    """Look at all rows of a group."""
    edge.lows[:] = np.inf
    edge.highs[:] = -np.inf
    edge.counts[:] = 0
    i = groups.heads[group]
    while i >= 0:
        for j in range(edge.lows.shape[0]):
            here = arrays.places[i, j]
            edge.lows[j, 1] = min(edge.lows[j, 1], max(edge.lows[j, 0], here))
            edge.lows[j, 0] = min(edge.lows[j, 0], here)
            edge.highs[j, 1] = max(edge.highs[j, 1], min(edge.highs[j, 0], here))
            edge.highs[j, 0] = max(edge.highs[j, 0], here)
        for s in range(edge.values.size):
            edge.counts[64 * sets.words[s] + arrays.codes[i, s] % sets.bits[s]] += 1
        i = groups.following[i]
    for s in range(edge.values.size):
        edge.values[s] = 0
        for w in range(sets.words[s], sets.words[s + 1]):
            edge.values[s] += ones(groups.sides.bits[group, w])


@inner
def _penalty_without(arrays: PointArrays, sets: Sets, edge: Edge, i: Whole) -> float:
    """The penalty of the box around the rows of a group but one."""
    penalty = 0.0
    for j in range(edge.lows.shape[0]):
        here = arrays.places[i, j]
        low = edge.lows[j, 1] if here == edge.lows[j, 0] else edge.lows[j, 0]
        high = edge.highs[j, 1] if here == edge.highs[j, 0] else edge.highs[j, 0]
        penalty += min(1.0, high - low)
    for s in range(edge.values.size):
        alone = edge.counts[64 * sets.words[s] + arrays.codes[i, s] % sets.bits[s]] == 1
        penalty += (edge.values[s] - (2 if alone else 1)) * sets.shares[s]
    return penalty


@inner
def _cheapest(line: Line, arrays: PointArrays, sets: Sets, at: int, row: Whole, most: float) -> int:
    """The place near a group where a row of it costs least, if that is below ``most``; or -1."""
    low, high = weigh_row(line, arrays, sets, row, at)
    best, least = -1, most
    for i in range(high - low):
        if line.costs[i] < least:
            best, least = low + i, line.costs[i]
    return best


@inner
def _move(
    groups: Groups, arrays: PointArrays, sets: Sets, group: Whole, taker: Whole,
    before: Whole, i: Whole,
) -> None:  # fmt: skip
    """Move a row, which follows the one ``before`` it, or none, to another group."""
    if before < 0:
        groups.heads[group] = groups.following[i]
    else:
        groups.following[before] = groups.following[i]
    groups.loads[group] -= 1
    draw_group(groups, arrays, sets, group)
    link_row(groups, taker, i)
    add_point(groups.sides, taker, arrays, sets, i)
    groups.sides.penalties[taker] = penalty_of(groups.sides, taker, sets)
