"""The compiled loops of single-dimensional partitioning; search.py says what they serve.

All look along one attribute. ``weigh_intervals`` finds out for every interval of it whether the
interval may be one of a grid, and what the rows in it then cost at least; ``ways_to_the_end`` and
``ways_from_the_start`` find the cheapest ways to divide the whole domain into intervals. A domain
of m values has m^2 intervals, so all of them work on some lines of that square at a time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.core.arrays import Codes, Counts, Flags, Floats, Whole
from sfumato.core.compiled import inner, kernel
from sfumato.models._rules import passes_rules

_VISIT = 8  # what a visit to a point costs, in sensitive values glanced at
FORBIDDEN = 2**60  # the cost of what may not be; two of them still fit into 64 bits


class Strip(NamedTuple):
    """Points as seen along one attribute.

    Slab s of the attribute holds the points ``order[begins[s]:begins[s + 1]]``; no interval reaches
    across the end of a slab that is ``fixed``. ``coarse`` and ``fine`` are the cells of a point on
    the other attributes: divided by the cuts that are certain, and by all that are still possible.
    """

    order: Codes
    begins: Counts
    fixed: Flags
    coarse: Codes
    fine: Codes
    weights: Counts
    sensitive: Codes


class Limits(NamedTuple):
    """What every group must satisfy; see models._rules. No group has fewer than ``least`` rows."""

    rules: Floats
    whole: Floats
    least: int


class Workspace(NamedTuple):
    """Working space: rows by fine cell; by coarse cell their rows, the penalties of their fine
    cells, their bound, whether they fail, and when they were looked at.

    ``pairs[i, s]`` is the place, in ``counts``, of point i's sensitive value s in its coarse cell.
    Where there is room a cell has places for all values. Where not, only for those that it can
    have, ``values`` at ``starts[cell]`` to ``starts[cell + 1]``; it is then spread out over a
    ``histogram``, which is empty in between, to be looked at.
    """

    fine_rows: Counts
    rows: Counts
    penalties: Counts
    bounds: Counts
    fails: Flags
    seen: Counts
    pairs: Counts
    counts: Counts
    spread: bool
    starts: Counts
    values: Codes
    histogram: Counts
    scratch: Counts


@kernel
def weigh_intervals(
    strip: Strip,
    limits: Limits,
    workspace: Workspace,
    most: int,
    costs: Counts,
    first: int,
    at: Counts,
    work: int,
) -> None:
    """The least cost of the rows in slabs a to b - 1, for every a from ``first`` on, line by line.

    ``costs[a - first, b]`` is FORBIDDEN where they may not be an interval. Where no cut of another
    attribute is open, it is the exact cost. A line ends where fine cells alone cost more than
    ``most``: so do all longer intervals. ``at`` holds the line, the next slab of it, its cost so
    far, that of its fine cells, and how many cells fail; after so much ``work`` it is left there,
    to be gone on from.
    """
    n_slabs = strip.begins.size - 1
    n_values = workspace.histogram.size
    a, b, total, fine, failing = at[0], at[1], at[2], at[3], at[4]
    done: Whole = 0
    while a - first < costs.shape[0] and done < work:
        if b == a:
            costs[a - first] = FORBIDDEN
        fine += _add_slab(strip, limits, workspace, b)
        change, newly = _judge_slab(strip, limits, workspace, b, a * n_slabs + b)
        done += 1 + (strip.begins[b + 1] - strip.begins[b]) * (_VISIT + n_values)
        total += change
        failing += newly
        b += 1
        if failing == 0:
            costs[a - first, b] = total
        if b == n_slabs or strip.fixed[b - 1] or fine > most:
            _clear(strip, workspace, a, b)
            a += 1
            b = a
            total = 0
            fine = 0
            failing = 0
    at[0], at[1], at[2], at[3], at[4] = a, b, total, fine, failing


@inner
def _add_slab(strip: Strip, limits: Limits, workspace: Workspace, slab: int) -> Whole:
    """Put the rows of a slab into their cells; a fine cell costs its rows at least ``least``.

    Tells how much more the fine cells cost.
    """
    more: Whole = 0
    for at in range(strip.begins[slab], strip.begins[slab + 1]):
        i = strip.order[at]
        coarse, fine, weight = strip.coarse[i], strip.fine[i], strip.weights[i]
        before = workspace.fine_rows[fine]
        after = before + weight
        workspace.fine_rows[fine] = after
        workspace.rows[coarse] += weight
        change = after * max(after, limits.least) - before * max(before, limits.least)
        workspace.penalties[coarse] += change
        more += change
        for s in range(workspace.pairs.shape[1]):
            workspace.counts[workspace.pairs[i, s]] += weight
    return more


@inner
def _judge_slab(
    strip: Strip, limits: Limits, workspace: Workspace, slab: int, moment: int
) -> tuple[Whole, Whole]:
    """How the bound, and the number of failing cells, change by what a slab put into them."""
    change: Whole = 0
    newly: Whole = 0
    for at in range(strip.begins[slab], strip.begins[slab + 1]):
        cell = strip.coarse[strip.order[at]]
        if workspace.seen[cell] == moment:
            continue
        workspace.seen[cell] = moment
        bound = max(workspace.penalties[cell], _even(workspace.rows[cell], limits.least))
        change += bound - workspace.bounds[cell]
        workspace.bounds[cell] = bound
        fails = not _passes(limits, workspace, cell)
        newly += np.int64(fails) - np.int64(workspace.fails[cell])
        workspace.fails[cell] = fails
    return change, newly


@inner
def _passes(limits: Limits, workspace: Workspace, cell: int) -> bool:
    """Whether a coarse cell passes the rules."""
    n_values = workspace.histogram.size
    histogram = workspace.histogram
    if workspace.spread:
        histogram = workspace.counts[cell * n_values : (cell + 1) * n_values]
    else:
        for p in range(workspace.starts[cell], workspace.starts[cell + 1]):
            histogram[workspace.values[p]] = workspace.counts[p]
    passes = passes_rules(
        limits.rules, histogram, workspace.rows[cell], limits.whole, workspace.scratch
    )
    if not workspace.spread:
        for p in range(workspace.starts[cell], workspace.starts[cell + 1]):
            histogram[workspace.values[p]] = 0
    return passes


@inner
def _even(rows: Whole, least: Whole) -> Whole:
    """The sum of squares when rows are divided as evenly as whole rows allow."""
    parts = max(1, rows // least)
    size = rows // parts
    larger = rows - parts * size
    return (parts - larger) * size * size + larger * (size + 1) * (size + 1)


@inner
def _clear(strip: Strip, workspace: Workspace, first: int, last: int) -> None:
    """Empty the cells of slabs first to last - 1."""
    for at in range(strip.begins[first], strip.begins[last]):
        i = strip.order[at]
        cell = strip.coarse[i]
        workspace.fine_rows[strip.fine[i]] = 0
        workspace.rows[cell] = 0
        workspace.penalties[cell] = 0
        workspace.bounds[cell] = 0
        workspace.fails[cell] = False
        for s in range(workspace.pairs.shape[1]):
            workspace.counts[workspace.pairs[i, s]] = 0


@kernel
def ways_to_the_end(costs: Counts, first: int, ahead: Counts, step: Counts) -> None:
    """What it costs from each boundary to the last one, each step an interval, and the next step.

    ``costs`` are some lines from ``first`` on; those after them were gone through before.
    """
    n = ahead.size
    for a in range(first + costs.shape[0] - 1, first - 1, -1):
        for b in range(a + 1, n):
            if costs[a - first, b] + ahead[b] < ahead[a]:
                ahead[a] = costs[a - first, b] + ahead[b]
                step[a] = b


@kernel
def ways_from_the_start(
    costs: Counts, first: int, ahead: Counts, behind: Counts, around: Counts
) -> None:
    """What it costs from the first boundary to each, and from one end to the other around it.

    ``costs`` are some lines from ``first`` on; those before them were gone through before.
    """
    n = ahead.size
    for a in range(first, first + costs.shape[0]):
        cheapest: Whole = FORBIDDEN  # of the ways that step from a across the boundary
        for b in range(n - 1, a, -1):
            around[b] = min(around[b], cheapest)
            behind[b] = min(behind[b], behind[a] + costs[a - first, b])
            cheapest = min(cheapest, behind[a] + costs[a - first, b] + ahead[b])
