"""The compiled loop of Mondrian for a workload; workload.py says which cuts serve it.

Along an axis a *line* of cells is looked at: all cells from the first to the last one of an ordered
attribute, or the cells present of a set: first those that the most important query wants, and among
equals those that the next one wants, and so on. A cut is made after a cell of the line. For every
query two places decide which cuts serve it: where the line first changes between wanted and not
wanted, and where it last does. So one pass over the queries and one over the line score all cuts of
an axis.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.algorithms.mondrian.arrays import STACK, Axes, CutRules, PointArrays, Workspace
from sfumato.algorithms.mondrian.kernel import cut_by_side, put_halves, settle, usual_cut
from sfumato.core.arrays import Codes, Counts, Flags, Whole
from sfumato.core.compiled import inner, kernel


class Asked(NamedTuple):
    """A workload in cells, runs or sets of codes which no query tells apart.

    The cells of all axes are numbered in one row: ``cells`` has the cell of every code (a code's
    place as in Axes), ``axis_of`` the axis of every cell. ``wanted[q, cell]`` and ``asks[q, j]``
    say which cells query q wants and on which axes it has a condition. ``weights``, the largest
    first, are what it is worth that a query is not in doubt about a row; whole numbers, so that no
    sum depends on its order.
    """

    cells: Codes
    axis_of: Codes
    wanted: Flags
    asks: Flags
    weights: Counts


class ServingSpace(NamedTuple):
    """Room for what a workload wants, beside the workspace.

    By place on the stack: ``open`` (queries that may be in doubt about a segment) and ``n_open``.
    By cell: ``amounts`` (rows), ``places`` (on the line), ``gains`` (of the cut behind it). By
    axis: ``ends`` (first and last cell). By query: ``across`` (axes). By place on the line:
    ``line`` (cells), ``left``, ``right`` (weights of the queries that such a half serves).
    """

    open: Codes
    n_open: Counts
    amounts: Counts
    places: Counts
    gains: Counts
    ends: Counts
    across: Counts
    line: Counts
    left: Counts
    right: Counts


def new_serving_space(asked: Asked) -> ServingSpace:
    """Room in which every query is open for the first segment."""
    n_queries, n_cells = asked.wanted.shape
    serving = ServingSpace(
        open=np.zeros((STACK, n_queries), np.int32),
        n_open=np.zeros(STACK, np.int64),
        amounts=np.zeros(n_cells, np.int64),
        places=np.zeros(n_cells, np.int64),
        gains=np.zeros(n_cells, np.int64),
        ends=np.zeros((asked.asks.shape[1], 2), np.int64),
        across=np.zeros(n_queries, np.int64),
        line=np.zeros(n_cells, np.int64),
        left=np.zeros(n_cells + 2, np.int64),
        right=np.zeros(n_cells + 2, np.int64),
    )
    serving.open[0] = np.arange(n_queries)
    serving.n_open[0] = n_queries
    return serving


@kernel
def cut_all_serving(
    arrays: PointArrays,
    axes: Axes,
    cut_rules: CutRules,
    asked: Asked,
    workspace: Workspace,
    serving: ServingSpace,
    groups: Codes,
    control: Counts,
) -> int:
    """As ``cut_all``, but a cut that serves the workload comes before the usual one."""
    n_groups = 0
    depth = 1
    while depth > 0 and control[1] == 0:
        depth -= 1
        low, high, load = (
            workspace.stack[depth, 0],
            workspace.stack[depth, 1],
            workspace.stack[depth, 2],
        )
        middle, left_load, axis = _serving_cut(
            arrays, axes, cut_rules, asked, depth, workspace, serving
        )
        if middle < 0:
            middle, left_load, axis = usual_cut(arrays, axes, cut_rules, depth, workspace)
        if middle < 0:
            settle(arrays.member, low, high, n_groups, groups)
            if workspace.turns.size > 0:
                workspace.turns[n_groups] = workspace.stack[depth, 3]
            n_groups += 1
            control[0] += load
        else:
            put_halves(arrays, middle, left_load, axis, depth, workspace)
            serving.n_open[depth + 1] = serving.n_open[depth]
            for t in range(serving.n_open[depth]):
                serving.open[depth + 1, t] = serving.open[depth, t]
            depth += 2
    return n_groups


@kernel
def rows_wanted(codes: Codes, weights: Counts, offsets: Counts, asked: Asked) -> Counts:
    """How many rows satisfy each query, as far as it asks for quasi-identifiers."""
    found = np.zeros(asked.weights.size, np.int64)
    for q in range(found.size):
        for i in range(weights.size):
            wants = True
            for j in range(offsets.size):
                if asked.asks[q, j] and not asked.wanted[q, asked.cells[offsets[j] + codes[i, j]]]:
                    wants = False
                    break
            if wants:
                found[q] += weights[i]
    return found


@inner
def _serving_cut(
    arrays: PointArrays,
    axes: Axes,
    cut_rules: CutRules,
    asked: Asked,
    depth: int,
    workspace: Workspace,
    serving: ServingSpace,
) -> tuple[Whole, Whole, Whole]:
    """The safe cut that serves the workload most, told as by ``usual_cut``; -1: none serves."""
    low, high, load = (
        workspace.stack[depth, 0],
        workspace.stack[depth, 1],
        workspace.stack[depth, 2],
    )
    if load < 2 * cut_rules.least or serving.n_open[depth] == 0:
        return np.int64(-1), np.int64(0), np.int64(-1)
    _count_cells(arrays, axes, asked, low, high, serving)
    _score_all(axes, cut_rules, asked, load, depth, serving)
    while True:
        best = np.argmax(serving.gains)
        if serving.gains[best] == 0:
            return np.int64(-1), np.int64(0), np.int64(-1)
        axis = np.int64(asked.axis_of[best])
        left_load = _rank_by_side(
            arrays, axes, asked, axis, best, low, high, workspace.ranks, serving
        )
        middle = cut_by_side(arrays, cut_rules, axis, left_load, depth, workspace)
        if middle >= 0:
            return middle, left_load, axis
        serving.gains[best] = 0


@kernel
def score_counted(
    axes: Axes, cut_rules: CutRules, asked: Asked, load: int, serving: ServingSpace
) -> None:
    """The gains of all cuts of a region whose amounts and ends are in the space already."""
    _score_all(axes, cut_rules, asked, np.int64(load), 0, serving)


@inner
def _score_all(
    axes: Axes, cut_rules: CutRules, asked: Asked, load: Whole, depth: int, serving: ServingSpace
) -> None:
    """The gain of every cut of a segment whose cells were counted."""
    _close_settled(axes, asked, depth, serving)
    for cell in range(serving.gains.size):
        serving.gains[cell] = 0
    for j in range(axes.sizes.size):
        if serving.ends[j, 0] < serving.ends[j, 1]:
            n_line = _lay_line(axes.is_set[j], j, asked, depth, serving)
            _score_cuts(j, cut_rules, asked, load, depth, n_line, serving)


@inner
def _count_cells(
    arrays: PointArrays, axes: Axes, asked: Asked, low: Whole, high: Whole, serving: ServingSpace
) -> None:
    """Rows per cell, and the first and the last cell of each axis."""
    amounts, ends = serving.amounts, serving.ends
    for cell in range(amounts.size):
        amounts[cell] = 0
    for j in range(axes.sizes.size):
        ends[j, 0] = amounts.size
        ends[j, 1] = -1
    for i in range(low, high):
        for j in range(axes.sizes.size):
            cell = asked.cells[axes.offsets[j] + arrays.codes[i, j]]
            amounts[cell] += arrays.weights[i]
            ends[j, 0] = min(ends[j, 0], cell)
            ends[j, 1] = max(ends[j, 1], cell)


@inner
def _close_settled(axes: Axes, asked: Asked, depth: int, serving: ServingSpace) -> None:
    """Keep the queries that want part of the segment's box; count the axes they cut across."""
    kept = 0
    for t in range(serving.n_open[depth]):
        q = serving.open[depth, t]
        across = 0
        for j in range(axes.sizes.size):
            if asked.asks[q, j]:
                some, all_ = _wants(q, axes.is_set[j], j, asked, serving)
                if not some:
                    across = 0
                    break
                if not all_:
                    across += 1
        if across > 0:
            serving.across[q] = across
            serving.open[depth, kept] = q
            kept += 1
    serving.n_open[depth] = kept


@inner
def _wants(q: int, is_set: bool, j: int, asked: Asked, serving: ServingSpace) -> tuple[bool, bool]:
    """Whether a query wants some, and all, of what the segment's box has along an axis."""
    some, all_ = False, True
    for cell in range(serving.ends[j, 0], serving.ends[j, 1] + 1):
        if is_set and serving.amounts[cell] == 0:
            continue
        if asked.wanted[q, cell]:
            some = True
        else:
            all_ = False
        if some and not all_:
            break
    return some, all_


@inner
def _lay_line(is_set: bool, j: int, asked: Asked, depth: int, serving: ServingSpace) -> int:
    """Lay the line of an axis and note the cells' places on it; how long it is."""
    n_line = 0
    for cell in range(serving.ends[j, 0], serving.ends[j, 1] + 1):
        at = n_line
        if is_set:
            if serving.amounts[cell] == 0:
                continue
            while at > 0 and _comes_first(cell, serving.line[at - 1], j, asked, depth, serving):
                serving.line[at] = serving.line[at - 1]
                at -= 1
        serving.line[at] = cell
        n_line += 1
    for at in range(n_line):
        serving.places[serving.line[at]] = at
    return n_line


@inner
def _comes_first(
    cell: Whole, other: Whole, j: int, asked: Asked, depth: int, serving: ServingSpace
) -> bool:
    """Whether the first query that tells two cells of a set apart wants the one."""
    for t in range(serving.n_open[depth]):
        q = serving.open[depth, t]
        if asked.asks[q, j] and asked.wanted[q, cell] != asked.wanted[q, other]:
            return bool(asked.wanted[q, cell])
    return False


@inner
def _score_cuts(
    j: int,
    cut_rules: CutRules,
    asked: Asked,
    load: Whole,
    depth: int,
    n_line: int,
    serving: ServingSpace,
) -> None:
    """The gain of every cut along a line: rows no longer in doubt, times the queries' weights."""
    line, left, right = serving.line, serving.left, serving.right
    for at in range(n_line + 1):
        left[at] = 0
        right[at] = 0
    for t in range(serving.n_open[depth]):
        q = serving.open[depth, t]
        if asked.asks[q, j]:
            _add_served(asked.wanted[q], asked.weights[q], serving.across[q] == 1, n_line, serving)
    for at in range(n_line):
        left[n_line - 1 - at] += left[n_line - at]
        right[at + 1] += right[at]
    upto = np.int64(0)
    last = -1
    for at in range(n_line):
        amount = serving.amounts[line[at]]
        if amount == 0:
            continue
        if last >= 0 and upto >= cut_rules.least and load - upto >= cut_rules.least:
            serving.gains[line[last]] = upto * left[last + 1] + (load - upto) * right[at]
        upto += amount
        last = at


@inner
def _add_served(
    wanted: Flags, weight: Whole, alone: bool, n_line: int, serving: ServingSpace
) -> None:
    """Note which halves serve a query: they lie outside of it or, where no other axis is cut
    across, inside.

    A left half does if it ends before the line first changes, a right half if it starts behind the
    last change.
    """
    line = serving.line
    first, last = wanted[line[0]], wanted[line[n_line - 1]]
    change = 1
    while change < n_line and wanted[line[change]] == first:
        change += 1
    if change == n_line:
        return
    if alone or not first:
        serving.left[change] += weight
    if alone or not last:
        change = n_line - 1
        while wanted[line[change - 1]] == last:
            change -= 1
        serving.right[change] += weight


@inner
def _rank_by_side(
    arrays: PointArrays,
    axes: Axes,
    asked: Asked,
    axis: Whole,
    cut: Whole,
    low: Whole,
    high: Whole,
    ranks: Codes,
    serving: ServingSpace,
) -> Whole:
    """Rank 0 for the codes left of a cut, 1 for the others; the load of the left half."""
    left = np.int64(0)
    for i in range(low, high):
        code = arrays.codes[i, axis]
        cell = asked.cells[axes.offsets[axis] + code]
        ranks[code] = serving.places[cell] > serving.places[cut]
        if ranks[code] == 0:
            left += arrays.weights[i]
    return left
