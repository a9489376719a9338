"""The compiled second half of TopDown: groups that do not pass are merged, or take rows.

The smallest group that does not pass is next, so groups grow evenly and few become much larger than
they have to be. The points of a group are a ring (index.py): two rings become one by letting
two points change their followers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.algorithms.goal import Goal
from sfumato.algorithms.space import PointArrays, Sets, join_boxes, penalty_of
from sfumato.algorithms.topdown.index import GONE, Index, put_load, remove_group
from sfumato.algorithms.topdown.search import find_neighbours
from sfumato.algorithms.topdown.taking import Plan, plan_taking, take_points
from sfumato.core.arrays import Codes, Counts, Whole
from sfumato.core.compiled import inner, kernel
from sfumato.models._rules import passes_rules

_FAR = 4.0  # a donor that would cost so many times the merging, if merged with, is too far away
_NODE = 31  # bits of a queue's key that are a node, below its load


class Workspace(NamedTuple):
    """Working space: ``queue`` is a heap of groups that do not pass, the smallest first."""

    queue: Counts
    histogram: Counts
    scratch: Counts


def new_workspace(n_nodes: int, n_values: int) -> Workspace:
    """Room to merge the groups of a tree of so many nodes."""
    return Workspace(
        queue=np.zeros(n_nodes + 1, np.int64),
        histogram=np.zeros(n_values, np.int64),
        scratch=np.zeros(n_values + 1, np.int64),
    )


@kernel
def merge_all(
    arrays: PointArrays,
    sets: Sets,
    goal: Goal,
    index: Index,
    plan: Plan,
    workspace: Workspace,
    control: Counts,
) -> int:
    """Merge until every group passes; tells how often something was done about a group."""
    queued = 0
    for node in range(index.heads.size):
        if index.heads[node] >= 0 and not group_passes(arrays, goal, index, node, workspace):
            queued = enqueue(workspace.queue, queued, (index.loads[node] << _NODE) + node)
    while queued > 0 and control[1] == 0:
        key = workspace.queue[0]
        queued = dequeue(workspace.queue, queued)
        group = key & ((1 << _NODE) - 1)
        if index.loads[group] != key >> _NODE:  # merged since
            continue
        control[0] += 1
        lacks = index.loads[group] < goal.least
        enough = 2 * goal.least - index.loads[group] if lacks else GONE
        partner, cost, donor, _ = find_neighbours(index, sets, group, enough, _FAR)
        if partner < 0:
            break  # all rows are together
        if donor >= 0 and takes(arrays, sets, goal, index, group, donor, cost, plan, workspace):
            continue
        merged = merge_groups(index, sets, group, partner)
        if not group_passes(arrays, goal, index, merged, workspace):
            queued = enqueue(workspace.queue, queued, (index.loads[merged] << _NODE) + merged)
    return int(control[0])


@inner
def group_passes(
    arrays: PointArrays, goal: Goal, index: Index, group: Whole, workspace: Workspace
) -> bool:
    """Whether a group meets the requirements."""
    if index.loads[group] < goal.least:
        return False
    if not goal.sensitive:
        return True
    for v in range(workspace.histogram.size):
        workspace.histogram[v] = 0
    i = index.heads[group]
    for _ in range(index.n_points[group]):
        count_point(arrays, i, workspace.histogram)
        i = index.following[i]
    return passes_rules(
        goal.rules, workspace.histogram, index.loads[group], goal.whole, workspace.scratch
    )


@inner
def count_point(arrays: PointArrays, i: Whole, histogram: Counts) -> None:
    """Add the sensitive values of a point."""
    point = arrays.member[i]
    for entry in range(arrays.starts[point], arrays.starts[point + 1]):
        histogram[arrays.values[entry]] += arrays.counts[entry]


@inner
def takes(
    arrays: PointArrays, sets: Sets, goal: Goal, index: Index, group: Whole, donor: Whole,
    cost: float, plan: Plan, workspace: Workspace,
) -> bool:  # fmt: skip
    """Let a group that lacks rows take some from a donor, if that costs less than merging."""
    if plan_taking(arrays, sets, goal.least, index, group, donor, plan) >= cost:
        return False
    if goal.sensitive and not plan_passes(arrays, goal, index, group, donor, plan, workspace):
        return False
    take_points(arrays, sets, index, group, donor, plan)
    return True


@inner
def plan_passes(
    arrays: PointArrays,
    goal: Goal,
    index: Index,
    group: Whole,
    donor: Whole,
    plan: Plan,
    workspace: Workspace,
) -> bool:
    """Whether the group with what it takes, and the donor with the rest, meet the requirements."""
    for taken in (True, False):
        load = np.int64(0)
        for v in range(workspace.histogram.size):
            workspace.histogram[v] = 0
        for t in range(index.n_points[donor]):
            if plan.taken[t] == taken:
                load += arrays.weights[plan.points[t]]
                count_point(arrays, plan.points[t], workspace.histogram)
        if taken:
            load += index.loads[group]
            i = index.heads[group]
            for _ in range(index.n_points[group]):
                count_point(arrays, i, workspace.histogram)
                i = index.following[i]
        if not passes_rules(goal.rules, workspace.histogram, load, goal.whole, workspace.scratch):
            return False
    return True


@kernel
def merge_groups(index: Index, sets: Sets, one: Whole, other: Whole) -> Whole:
    """Make two groups one, in the place of the larger; tells which that is."""
    kept, gone = (one, other) if index.loads[one] >= index.loads[other] else (other, one)
    join_boxes(index.sides, kept, one, other)
    index.sides.penalties[kept] = penalty_of(index.sides, kept, sets)
    a, b = index.heads[one], index.heads[other]
    index.following[a], index.following[b] = index.following[b], index.following[a]
    index.n_points[kept] += index.n_points[gone]
    put_load(index, sets, kept, index.loads[one] + index.loads[other])
    remove_group(index, sets, gone)
    return kept


@inner
def enqueue(heap: Counts, n: int, key: Whole) -> int:
    """Put a key on a heap of n; the new n."""
    at = n
    while at > 0 and heap[(at - 1) // 2] > key:
        heap[at] = heap[(at - 1) // 2]
        at = (at - 1) // 2
    heap[at] = key
    return n + 1


@inner
def dequeue(heap: Counts, n: int) -> int:
    """Take the smallest key off a heap of n; the new n."""
    key = heap[n - 1]
    at = 0
    while 2 * at + 1 < n - 1:
        below = 2 * at + 1
        if below + 1 < n - 1 and heap[below + 1] < heap[below]:
            below += 1
        if heap[below] >= key:
            break
        heap[at] = heap[below]
        at = below
    heap[at] = key
    return n - 1


@kernel
def label_groups(index: Index, arrays: PointArrays, groups: Codes) -> int:
    """Fill the group of every point, by the number it came with; tells how many there are."""
    found = 0
    for node in range(index.heads.size):
        if index.heads[node] < 0:
            continue
        i = index.heads[node]
        for _ in range(index.n_points[node]):
            groups[arrays.member[i]] = found
            i = index.following[i]
        found += 1
    return found
