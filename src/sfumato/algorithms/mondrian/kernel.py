"""The compiled loop of Mondrian; __init__.py says what it does, this file how.

Points are moved, not pointed at: a segment [low, high) of the arrays is a region still to be cut,
and a cut reorders it so that its two halves are segments again. A cut is a rank (ranking.py): the
values up to it go left.
"""

from __future__ import annotations

import numpy as np

from sfumato.algorithms.mondrian.arrays import Axes, CutRules, PointArrays, Workspace
from sfumato.algorithms.mondrian.ranking import (
    even_half,
    find_median,
    last_of_quota,
    rank_axes,
    rank_values,
)
from sfumato.core.arrays import Codes, Counts, Whole
from sfumato.core.compiled import inner, kernel
from sfumato.models._rules import passes_rules


@kernel
def cut_all(
    arrays: PointArrays,
    axes: Axes,
    cut_rules: CutRules,
    workspace: Workspace,
    groups: Codes,
    control: Counts,
) -> None:
    """Cut until nothing is left to cut; fills the group of every point.

    The stack starts with one segment and its histogram. Groups are numbered from the segment's
    first place on, so that segments cut side by side share no number. ``control[0]`` counts settled
    rows for whoever watches; a non-zero ``control[1]`` stops.
    """
    group = workspace.stack[0, 0]
    depth = 1
    while depth > 0 and control[1] == 0:
        depth -= 1
        low, high = workspace.stack[depth, 0], workspace.stack[depth, 1]
        load, turn = workspace.stack[depth, 2], workspace.stack[depth, 3]
        middle: Whole = np.int64(-1)
        left_load: Whole = np.int64(0)
        axis: Whole = np.int64(-1)
        if load >= 2 * cut_rules.least:
            n_axes = rank_axes(arrays, axes, cut_rules, low, high, turn, workspace)
            for t in range(n_axes):
                axis = workspace.order[t]
                middle, left_load = cut_axis(
                    arrays,
                    axes.is_set[axis],
                    axis,
                    cut_rules,
                    low,
                    high,
                    load,
                    workspace.totals[depth],
                    workspace,
                )
                if middle >= 0:
                    break
        if middle < 0:
            settle(arrays.member, low, high, group, groups)
            if workspace.turns.size > 0:
                workspace.turns[group] = turn
            group += 1
            control[0] += load
        else:
            put_halves(arrays, middle, left_load, axis, depth, workspace)
            depth += 2


@kernel
def cut_once(arrays: PointArrays, axes: Axes, cut_rules: CutRules, workspace: Workspace) -> bool:
    """Cut the first segment on the stack, whose halves are then the first two; or tell that none
    of its cuts is safe.
    """
    middle, left_load, axis = usual_cut(arrays, axes, cut_rules, 0, workspace)
    if middle < 0:
        return False
    put_halves(arrays, middle, left_load, axis, 0, workspace)
    return True


@inner
def usual_cut(
    arrays: PointArrays, axes: Axes, cut_rules: CutRules, depth: int, workspace: Workspace
) -> tuple[Whole, Whole, Whole]:
    """Where the right half starts, the left half's load, and the axis; -1: no cut is safe.

    In ``cut_all`` these lines stand in the loop itself: a call would make it slower by a fifth.
    """
    low, high = workspace.stack[depth, 0], workspace.stack[depth, 1]
    load, turn = workspace.stack[depth, 2], workspace.stack[depth, 3]
    if load >= 2 * cut_rules.least:
        for t in range(rank_axes(arrays, axes, cut_rules, low, high, turn, workspace)):
            j = workspace.order[t]
            middle, left_load = cut_axis(
                arrays,
                axes.is_set[j],
                j,
                cut_rules,
                low,
                high,
                load,
                workspace.totals[depth],
                workspace,
            )
            if middle >= 0:
                return middle, left_load, j
    return np.int64(-1), np.int64(0), np.int64(-1)


@inner
def settle(member: Codes, low: Whole, high: Whole, group: Whole, groups: Codes) -> None:
    """Make a segment a group."""
    for i in range(low, high):
        groups[member[i]] = group


@inner
def put_halves(
    arrays: PointArrays,
    middle: Whole,
    left_load: Whole,
    axis: Whole,
    depth: int,
    workspace: Workspace,
) -> None:
    """Put the halves of a segment on the stack, the larger one below the smaller one."""
    stack, totals = workspace.stack, workspace.totals
    low, high, load = stack[depth, 0], stack[depth, 1], stack[depth, 2]
    left, right = depth, depth + 1
    if middle - low < high - middle:
        left, right = right, left
    stack[left, 0], stack[left, 1], stack[left, 2] = low, middle, left_load
    stack[right, 0], stack[right, 1], stack[right, 2] = middle, high, load - left_load
    turn = (axis + 1) % arrays.codes.shape[1]
    stack[left, 3], stack[right, 3] = turn, turn
    for v in range(workspace.left.size):
        totals[left, v] = workspace.left[v]
        totals[right, v] = workspace.right[v]


@inner
def cut_axis(
    arrays: PointArrays,
    is_set: bool,
    j: Whole,
    cut_rules: CutRules,
    low: Whole,
    high: Whole,
    load: Whole,
    total: Counts,
    workspace: Workspace,
) -> tuple[Whole, Whole]:
    """Cut a segment along one axis: where its right half starts and the left half's load.

    Even halves first if rows may be divided; then the median, the more even of "<= median" and
    "< median" before the other; then, when asked, the most even of all cuts. A start of -1: no cut
    leaves both halves safe.
    """
    n_present = rank_values(arrays, is_set, j, low, high, workspace)
    median, below = find_median(load, workspace)
    upto = below + workspace.amounts[workspace.present[median]]
    cut: Whole
    left: Whole
    short_first = load - 2 * below < 2 * upto - load  # that cut is the more even one
    for trial in range(4):
        quota: Whole = np.int64(0)
        if trial == 0:
            if not cut_rules.relaxed:
                continue
            cut, left = median - 1, even_half(load)
            quota = left - below
        elif trial < 3:
            short = (trial == 2) != short_first
            cut, left = (median - 1, below) if short else (median, upto)
        else:
            if not cut_rules.all_cuts or not cut_rules.sensitive or n_present < 3:
                break
            cut, left = _most_even_cut(
                arrays, j, cut_rules, low, high, load, total, n_present, workspace
            )
        if left < cut_rules.least or load - left < cut_rules.least:
            continue
        last: Whole = np.int64(-1)
        if quota > 0:
            last = last_of_quota(arrays, j, low, high, median, quota, workspace)
        middle = move(arrays, j, low, high, cut, last, workspace.ranks)
        if not cut_rules.sensitive or halves_pass(
            arrays, cut_rules, low, middle, high, left, load, total, workspace
        ):
            return middle, left
    return np.int64(-1), np.int64(0)


@inner
def move(
    arrays: PointArrays, j: Whole, low: Whole, high: Whole, cut: Whole, last: Whole, ranks: Codes
) -> Whole:
    """Bring values of rank <= cut, and points of the next rank up to member ``last``, to the
    left.
    """
    codes, weights, member = arrays.codes, arrays.weights, arrays.member
    left = low
    right = high - 1
    while True:
        while left <= right:
            rank = ranks[codes[left, j]]
            if rank > cut and (rank > cut + 1 or member[left] > last):
                break
            left += 1
        while left < right:
            rank = ranks[codes[right, j]]
            if rank <= cut or (rank == cut + 1 and member[right] <= last):
                break
            right -= 1
        if left >= right:
            return left
        for axis in range(codes.shape[1]):
            codes[left, axis], codes[right, axis] = codes[right, axis], codes[left, axis]
        weights[left], weights[right] = weights[right], weights[left]
        member[left], member[right] = member[right], member[left]
        left += 1
        right -= 1


@inner
def cut_by_side(
    arrays: PointArrays,
    cut_rules: CutRules,
    axis: Whole,
    left_load: Whole,
    depth: Whole,
    workspace: Workspace,
) -> Whole:
    """Cut the segment on the stack where ranks are 0 and 1: where its right half starts, or -1 if
    a half is not safe.
    """
    stack = workspace.stack
    low, high, load = stack[depth, 0], stack[depth, 1], stack[depth, 2]
    middle = move(arrays, axis, low, high, np.int64(0), np.int64(-1), workspace.ranks)
    if not cut_rules.sensitive or halves_pass(
        arrays,
        cut_rules,
        low,
        middle,
        high,
        left_load,
        load,
        workspace.totals[depth],
        workspace,
    ):
        return middle
    return np.int64(-1)


@inner
def halves_pass(
    arrays: PointArrays,
    cut_rules: CutRules,
    low: Whole,
    middle: Whole,
    high: Whole,
    left: Whole,
    load: Whole,
    total: Counts,
    workspace: Workspace,
) -> bool:
    """Whether both halves of a segment that has just been moved are safe.

    Counts the sensitive values of the smaller half; the other one has the rest.
    """
    first, last, near, far = low, middle, workspace.left, workspace.right
    if middle - low > high - middle:
        first, last, near, far = middle, high, workspace.right, workspace.left
    for v in range(total.size):
        near[v] = 0
    for i in range(first, last):
        point = arrays.member[i]
        for entry in range(arrays.starts[point], arrays.starts[point + 1]):
            near[arrays.values[entry]] += arrays.counts[entry]
    for v in range(total.size):
        far[v] = total[v] - near[v]
    return _both_pass(cut_rules, left, load, workspace)


@inner
def _both_pass(cut_rules: CutRules, left: Whole, load: Whole, workspace: Workspace) -> bool:
    """Whether the histograms in the workspace are safe."""
    return passes_rules(
        cut_rules.rules, workspace.left, left, cut_rules.whole, workspace.scratch
    ) and passes_rules(
        cut_rules.rules, workspace.right, load - left, cut_rules.whole, workspace.scratch
    )


@inner
def _most_even_cut(
    arrays: PointArrays,
    j: Whole,
    cut_rules: CutRules,
    low: Whole,
    high: Whole,
    load: Whole,
    total: Counts,
    n_present: Whole,
    workspace: Workspace,
) -> tuple[Whole, Whole]:
    """Sweep all cuts along an axis; the most even safe one and its left load, else -1 and 0."""
    codes, ranks, starts, places = arrays.codes, workspace.ranks, workspace.starts, workspace.places
    for r in range(n_present + 1):
        starts[r] = 0
    for i in range(low, high):
        starts[ranks[codes[i, j]] + 1] += 1
    for r in range(n_present):
        places[r] = starts[r]
        starts[r + 1] += starts[r]
    for i in range(low, high):
        rank = ranks[codes[i, j]]
        workspace.by_rank[places[rank]] = i
        places[rank] += 1
    for v in range(total.size):
        workspace.left[v] = 0
        workspace.right[v] = total[v]
    best = np.int64(-1)
    best_left = np.int64(0)
    left = np.int64(0)
    for r in range(n_present - 1):
        for at in range(starts[r], starts[r + 1]):
            i = workspace.by_rank[at]
            point = arrays.member[i]
            left += arrays.weights[i]
            for entry in range(arrays.starts[point], arrays.starts[point + 1]):
                workspace.left[arrays.values[entry]] += arrays.counts[entry]
                workspace.right[arrays.values[entry]] -= arrays.counts[entry]
        if left < cut_rules.least or load - left < cut_rules.least:
            continue
        if best >= 0 and abs(2 * left - load) >= abs(2 * best_left - load):
            continue
        if _both_pass(cut_rules, left, load, workspace):
            best = np.int64(r)
            best_left = left
    return best, best_left
