"""The groups of rows while they change: boxes, loads, and the rows of each as a list."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.algorithms.goal import Goal
from sfumato.algorithms.space import (
    PointArrays,
    Sets,
    Sides,
    add_point,
    clear_box,
    new_sides,
    penalty_of,
)
from sfumato.core.arrays import Codes, Counts, Whole
from sfumato.core.compiled import inner, kernel
from sfumato.core.partition import Partition
from sfumato.models._rules import passes_rules


class Groups(NamedTuple):
    """Groups by number, 0 rows where there is none; the rows of one go on by ``following``.

    ``free`` is a stack of numbers without a group, as many as ``n_free[0]`` says; ``histogram``
    and ``scratch`` are room to judge a group in.
    """

    sides: Sides
    loads: Counts
    heads: Codes
    following: Codes
    free: Counts
    n_free: Counts
    histogram: Counts
    scratch: Counts


def groups_of(partition: Partition, arrays: PointArrays, sets: Sets, goal: Goal) -> Groups:
    """The groups of a partition whose rows stand in the order of the arrays."""
    room = max(partition.n_groups, partition.n_rows // goal.least)
    groups = Groups(
        sides=new_sides(room, arrays.places.shape[1], int(sets.words[-1])),
        loads=np.zeros(room, np.int64),
        heads=np.full(room, -1, np.int32),
        following=np.full(partition.n_rows, -1, np.int32),
        free=np.arange(room, dtype=np.int64)[::-1].copy(),
        n_free=np.array([room - partition.n_groups]),
        histogram=np.zeros(len(goal.whole), np.int64),
        scratch=np.zeros(len(goal.whole) + 1, np.int64),
    )
    fill_groups(groups, partition.groups[arrays.member], arrays, sets)
    return groups


@kernel
def fill_groups(groups: Groups, numbers: Codes, arrays: PointArrays, sets: Sets) -> None:
    """Put every row into the group of its number."""
    for i in range(numbers.size):
        link_row(groups, numbers[i], i)
        add_point(groups.sides, numbers[i], arrays, sets, i)
    for group in range(groups.loads.size):
        if groups.loads[group] > 0:
            groups.sides.penalties[group] = penalty_of(groups.sides, group, sets)


@kernel
def label_rows(groups: Groups, arrays: PointArrays) -> Codes:
    """The group of every row, by the number that it came with."""
    numbers = np.empty(groups.following.size, np.int32)
    found = 0
    for group in range(groups.loads.size):
        i = groups.heads[group]
        while i >= 0:
            numbers[arrays.member[i]] = found
            i = groups.following[i]
        found += 1 if groups.loads[group] > 0 else 0
    return numbers


@inner
def link_row(groups: Groups, group: Whole, i: Whole) -> None:
    """Put a row at the head of a group's list; its box is left as it was."""
    groups.following[i] = groups.heads[group]
    groups.heads[group] = i
    groups.loads[group] += 1


@inner
def draw_group(groups: Groups, arrays: PointArrays, sets: Sets, group: Whole) -> None:
    """Draw the box around the rows of a group."""
    clear_box(groups.sides, group)
    i = groups.heads[group]
    while i >= 0:
        add_point(groups.sides, group, arrays, sets, i)
        i = groups.following[i]
    groups.sides.penalties[group] = penalty_of(groups.sides, group, sets)


@inner
def add_values(arrays: PointArrays, i: Whole, sign: int, histogram: Counts) -> None:
    """Count the sensitive values of a row, or with a negative sign count them no more."""
    for entry in range(arrays.starts[i], arrays.starts[i + 1]):
        histogram[arrays.values[entry]] += sign


@inner
def passes_changed(
    groups: Groups, arrays: PointArrays, goal: Goal, group: Whole, i: Whole, sign: int
) -> bool:
    """Whether a group passes with a row more, or less."""
    load = groups.loads[group] + sign
    if load < goal.least or not goal.sensitive:
        return bool(load >= goal.least)
    groups.histogram[:] = 0
    add_values(arrays, i, sign, groups.histogram)
    row = groups.heads[group]
    while row >= 0:
        add_values(arrays, row, 1, groups.histogram)
        row = groups.following[row]
    return passes_rules(goal.rules, groups.histogram, load, goal.whole, groups.scratch)
