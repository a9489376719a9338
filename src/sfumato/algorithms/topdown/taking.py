"""Taking: a group that lacks rows gets the nearest points of one that has rows to spare.

Xu et al. let a group of fewer than k rows take k - |G| of them from a group that keeps k or more.
Here whole points are taken, those first whose joining lets the group's box grow least, and one that
would leave the donor too few rows is passed over.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.algorithms.space import (
    PointArrays,
    Sets,
    add_point,
    clear_box,
    join_boxes,
    penalty_of,
)
from sfumato.algorithms.topdown.index import Index, put_load
from sfumato.core.arrays import Codes, Flags, Floats, Whole
from sfumato.core.compiled import inner


class Plan(NamedTuple):
    """The donor's points, nearest first, how much each lets the group grow, and which are taken."""

    points: Codes
    growths: Floats
    taken: Flags


def new_plan(n_points: int) -> Plan:
    """Room for a donor of so many points."""
    return Plan(
        points=np.zeros(n_points, np.int32),
        growths=np.zeros(n_points),
        taken=np.zeros(n_points, np.bool_),
    )


@inner
def plan_taking(
    arrays: PointArrays,
    sets: Sets,
    least: int,
    index: Index,
    group: Whole,
    donor: Whole,
    plan: Plan,
) -> float:
    """Choose points for a group; what NCP grows by, infinite where they would not be enough.

    The trial boxes of the index become those of the group and the donor afterwards.
    """
    rank_points(arrays, sets, index, group, donor, plan)
    sides, n = index.sides, index.n_points[donor]
    fuller, rest = index.loads.size, index.loads.size + 1
    join_boxes(sides, fuller, group, group)
    clear_box(sides, rest)
    load, left = index.loads[group], index.loads[donor]
    for t in range(n):
        i = plan.points[t]
        weight = arrays.weights[i]
        plan.taken[t] = load < least and left - weight >= least
        if plan.taken[t]:
            load += weight
            left -= weight
        add_point(sides, fuller if plan.taken[t] else rest, arrays, sets, i)
    if load < least:
        return np.inf
    sides.penalties[fuller] = penalty_of(sides, fuller, sets)
    sides.penalties[rest] = penalty_of(sides, rest, sets)
    after = load * sides.penalties[fuller] + left * sides.penalties[rest]
    before = index.loads[group] * sides.penalties[group]
    before += index.loads[donor] * sides.penalties[donor]
    return float(after - before)


@inner
def rank_points(
    arrays: PointArrays, sets: Sets, index: Index, group: Whole, donor: Whole, plan: Plan
) -> None:
    """Fill the points of a donor, those first that let the group grow least."""
    places, codes = arrays.places, arrays.codes
    lows, highs, bits = index.sides.lows, index.sides.highs, index.sides.bits
    n = index.n_points[donor]
    i = index.heads[donor]
    for t in range(n):
        growth = 0.0
        for j in range(places.shape[1]):
            low, high, place = lows[group, j], highs[group, j], places[i, j]
            growth += min(1.0, max(high, place) - min(low, place)) - min(1.0, high - low)
        for s in range(codes.shape[1]):
            bit = codes[i, s] % sets.bits[s]
            word = bits[group, sets.words[s] + (bit >> 6)]
            if (word >> np.uint64(bit & 63)) & np.uint64(1) == 0:
                growth += sets.shares[s]
        plan.points[t] = i
        plan.growths[t] = growth
        i = index.following[i]
    sort_by_growth(plan, n)


@inner
def sort_by_growth(plan: Plan, n: Whole) -> None:
    """Shell's sort, as in mondrian/kernel.py, of points along with their growths."""
    points, growths = plan.points, plan.growths
    gap = 1
    while gap < n // 9:
        gap = gap * 9 // 4 + 1
    while gap > 0:
        for t in range(gap, n):
            growth, point = growths[t], points[t]
            at = t
            while at >= gap and growths[at - gap] > growth:
                growths[at] = growths[at - gap]
                points[at] = points[at - gap]
                at -= gap
            growths[at], points[at] = growth, point
        gap = gap * 4 // 9


@inner
def take_points(
    arrays: PointArrays, sets: Sets, index: Index, group: Whole, donor: Whole, plan: Plan
) -> None:
    """Do as planned."""
    following, n = index.following, index.n_points[donor]
    load = np.int64(0)
    head = np.int32(-1)
    for t in range(n):
        i = plan.points[t]
        owner = index.heads[group]
        if plan.taken[t]:
            index.n_points[group] += 1
            index.n_points[donor] -= 1
            load += arrays.weights[i]
        elif head < 0:
            head = i
            following[i] = i
            continue
        else:
            owner = head
        following[i] = following[owner]
        following[owner] = i
    index.heads[donor] = head
    move_box(index, index.loads.size, group)
    move_box(index, index.loads.size + 1, donor)
    put_load(index, sets, group, index.loads[group] + load)
    put_load(index, sets, donor, index.loads[donor] - load)


@inner
def move_box(index: Index, trial: Whole, group: Whole) -> None:
    """Give a group the box that was tried for it."""
    join_boxes(index.sides, group, trial, trial)
    index.sides.penalties[group] = index.sides.penalties[trial]
