"""The compiled loop of Mondrian for a target; guided.py says which cuts tell most about it.

Information is added up in whole numbers (``target.n_log_n``), so that no sum depends on its order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.algorithms.mondrian.arrays import Axes, CutRules, PointArrays, Workspace
from sfumato.algorithms.mondrian.kernel import cut_by_side, put_halves, settle, usual_cut
from sfumato.core.arrays import Codes, Counts, Floats, Whole
from sfumato.core.compiled import inner, kernel


class Target(NamedTuple):
    """Point p has value ``values[i]`` of the target ``counts[i]`` times for i from ``starts[p]`` to
    ``starts[p + 1]``. ``n_log_n[n]`` is n log n, in units; a cut has to gain more than ``least``.
    """

    starts: Counts
    values: Codes
    counts: Counts
    n_log_n: Counts
    least: int
    n_values: int


class GuidedSpace(NamedTuple):
    """Room beside the workspace.

    By code: ``table`` (rows of each value), ``amounts``, ``shares``. By place on the line of an
    axis: ``line`` (codes). By code of any axis: ``gains`` (of the cut behind it), ``axis_of``. By
    value: ``left``, ``whole``.
    """

    table: Counts
    amounts: Counts
    shares: Floats
    line: Counts
    gains: Counts
    axis_of: Counts
    left: Counts
    whole: Counts


def new_guided_space(sizes: Counts, n_values: int) -> GuidedSpace:
    """Room for attributes of these sizes and a target of so many values."""
    widest = int(sizes.max())
    return GuidedSpace(
        table=np.zeros((widest, n_values), np.int64),
        amounts=np.full(widest, -1, np.int64),
        shares=np.zeros(widest, np.float64),
        line=np.zeros(widest, np.int64),
        gains=np.zeros(int(sizes.sum()), np.int64),
        axis_of=np.repeat(np.arange(len(sizes)), sizes),
        left=np.zeros(n_values, np.int64),
        whole=np.zeros(n_values, np.int64),
    )


@kernel
def cut_all_guided(
    arrays: PointArrays,
    axes: Axes,
    cut_rules: CutRules,
    target: Target,
    workspace: Workspace,
    space: GuidedSpace,
    groups: Codes,
    control: Counts,
) -> None:
    """As ``cut_all``, but a cut that tells about the target comes before the usual one."""
    group = 0
    depth = 1
    stack = workspace.stack
    while depth > 0 and control[1] == 0:
        depth -= 1
        middle, left_load, axis = _telling_cut(
            arrays, axes, cut_rules, target, depth, workspace, space
        )
        if middle < 0:
            middle, left_load, axis = usual_cut(arrays, axes, cut_rules, depth, workspace)
        if middle >= 0:
            put_halves(arrays, middle, left_load, axis, depth, workspace)
            depth += 2
            continue
        settle(arrays.member, stack[depth, 0], stack[depth, 1], group, groups)
        if workspace.turns.size > 0:
            workspace.turns[group] = stack[depth, 3]
        group += 1
        control[0] += stack[depth, 2]


@inner
def _telling_cut(
    arrays: PointArrays,
    axes: Axes,
    cut_rules: CutRules,
    target: Target,
    depth: int,
    workspace: Workspace,
    space: GuidedSpace,
) -> tuple[Whole, Whole, Whole]:
    """The safe cut that gains most, told as by ``usual_cut``; -1: none gains enough."""
    stack = workspace.stack
    low, high, load = stack[depth, 0], stack[depth, 1], stack[depth, 2]
    space.gains[:] = 0
    if load >= 2 * cut_rules.least:
        for j in range(axes.sizes.size):
            n_line = _lay_line(arrays, axes.is_set[j], j, target, low, high, space)
            _score_cuts(axes.offsets[j], n_line, load, cut_rules.least, target, space)
    while True:
        best = np.argmax(space.gains)
        if space.gains[best] == 0:
            return np.int64(-1), np.int64(0), np.int64(-1)
        axis = space.axis_of[best]
        n_line = _lay_line(arrays, axes.is_set[axis], axis, target, low, high, space)
        left_load = _rank_by_side(n_line, best - axes.offsets[axis], workspace.ranks, space)
        middle = cut_by_side(arrays, cut_rules, axis, left_load, depth, workspace)
        if middle >= 0:
            return middle, left_load, axis
        space.gains[best] = 0


@inner
def _lay_line(
    arrays: PointArrays,
    is_set: bool,
    j: Whole,
    target: Target,
    low: Whole,
    high: Whole,
    space: GuidedSpace,
) -> int:
    """Count the target by code, and put the codes present into the order in which they are cut."""
    n_line = 0
    space.whole[:] = 0
    for i in range(low, high):
        code = arrays.codes[i, j]
        if space.amounts[code] < 0:
            space.amounts[code] = 0
            space.table[code, :] = 0
            space.line[n_line] = code
            n_line += 1
        space.amounts[code] += arrays.weights[i]
        point = arrays.member[i]
        for entry in range(target.starts[point], target.starts[point + 1]):
            space.table[code, target.values[entry]] += target.counts[entry]
            space.whole[target.values[entry]] += target.counts[entry]
    line = space.line[:n_line]
    line.sort()
    usual = np.argmax(space.whole)
    for at in range(n_line):
        space.shares[at] = -space.table[line[at], usual] / space.amounts[line[at]]
    if is_set:
        line[:] = line[np.argsort(space.shares[:n_line], kind="mergesort")]
    for at in range(n_line):  # marked as not seen, for the next axis; amounts go along as shares
        space.shares[at] = space.amounts[line[at]]
        space.amounts[line[at]] = -1
    return n_line


@inner
def _score_cuts(
    offset: Whole, n_line: int, load: Whole, least: int, target: Target, space: GuidedSpace
) -> None:
    """The gain of every cut along a line that leaves enough rows on both sides."""
    n_log_n, left, whole = target.n_log_n, space.left, space.whole
    before = n_log_n[load]
    for v in range(whole.size):
        before -= n_log_n[whole[v]]
        left[v] = 0
    upto = np.int64(0)
    for at in range(n_line - 1):
        code = space.line[at]
        upto += np.int64(space.shares[at])
        for v in range(whole.size):
            left[v] += space.table[code, v]
        if upto < least or load - upto < least:
            continue
        after = n_log_n[upto] + n_log_n[load - upto]
        for v in range(whole.size):
            after -= n_log_n[left[v]] + n_log_n[whole[v] - left[v]]
        if before - after > target.least:
            space.gains[offset + code] = before - after


@inner
def _rank_by_side(n_line: int, cut: Whole, ranks: Codes, space: GuidedSpace) -> Whole:
    """Rank 0 for the codes left of a cut, 1 for the others; the load of the left half."""
    left_load = np.int64(0)
    rank = 0
    for at in range(n_line):
        code = space.line[at]
        ranks[code] = rank
        if rank == 0:
            left_load += np.int64(space.shares[at])
        if code == cut:
            rank = 1
    return left_load
