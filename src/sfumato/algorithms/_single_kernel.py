"""The compiled loops of single-dimensional partitioning; _cut_search.py says what they serve.

Both look along one attribute. ``weigh_intervals`` finds out for every interval of it whether the
interval may be one of a grid, and what the rows in it then cost at least; ``best_ways`` finds the
cheapest ways to divide the whole domain into intervals.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.core.arrays import Codes, Counts, Flags, Floats, Whole
from sfumato.core.compiled import inner, kernel
from sfumato.models._rules import passes_rules

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


class Tray(NamedTuple):
    """Working space: rows by fine cell; by coarse cell their rows, the penalties of their fine
    cells, their bound, whether they fail, when they were looked at, and their sensitive values."""

    fine_rows: Counts
    rows: Counts
    penalties: Counts
    bounds: Counts
    fails: Flags
    seen: Counts
    histograms: Counts
    scratch: Counts


def new_tray(strip: Strip, n_values: int) -> Tray:
    """A tray for the cells of a strip."""
    n_coarse, n_fine = int(strip.coarse.max()) + 1, int(strip.fine.max()) + 1
    return Tray(
        fine_rows=np.zeros(n_fine, np.int64),
        rows=np.zeros(n_coarse, np.int64),
        penalties=np.zeros(n_coarse, np.int64),
        bounds=np.zeros(n_coarse, np.int64),
        fails=np.zeros(n_coarse, np.bool_),
        seen=np.full(n_coarse, -1, np.int64),
        histograms=np.zeros((n_coarse, n_values), np.int64),
        scratch=np.zeros(n_values + 1, np.int64),
    )


@kernel
def weigh_intervals(
    strip: Strip, limits: Limits, tray: Tray, costs: Counts, first: int, last: int
) -> None:
    """The least cost of the rows in slabs a to b - 1, for every a from ``first`` to ``last`` - 1.

    ``costs[a, b]`` is FORBIDDEN where they may not be an interval. Where no cut of another
    attribute is open, it is the exact cost.
    """
    n_slabs = strip.begins.size - 1
    for a in range(first, last):
        costs[a] = FORBIDDEN
        total: Whole = 0
        failing: Whole = 0
        b = a
        while True:
            _add_slab(strip, limits, tray, b)
            change, newly = _judge_slab(strip, limits, tray, b, a * n_slabs + b)
            total += change
            failing += newly
            b += 1
            if failing == 0:
                costs[a, b] = total
            if b == n_slabs or strip.fixed[b - 1]:
                break
        _clear(strip, tray, a, b)


@inner
def _add_slab(strip: Strip, limits: Limits, tray: Tray, slab: int) -> None:
    """Put the rows of a slab into their cells; a fine cell costs its rows at least ``least``."""
    for at in range(strip.begins[slab], strip.begins[slab + 1]):
        i = strip.order[at]
        coarse, fine, weight = strip.coarse[i], strip.fine[i], strip.weights[i]
        before = tray.fine_rows[fine]
        after = before + weight
        tray.fine_rows[fine] = after
        tray.rows[coarse] += weight
        tray.penalties[coarse] += after * max(after, limits.least) - before * max(
            before, limits.least
        )
        for s in range(strip.sensitive.shape[1]):
            tray.histograms[coarse, strip.sensitive[i, s]] += weight


@inner
def _judge_slab(
    strip: Strip, limits: Limits, tray: Tray, slab: int, moment: int
) -> tuple[Whole, Whole]:
    """How the bound, and the number of failing cells, change by what a slab put into them."""
    change: Whole = 0
    newly: Whole = 0
    for at in range(strip.begins[slab], strip.begins[slab + 1]):
        cell = strip.coarse[strip.order[at]]
        if tray.seen[cell] == moment:
            continue
        tray.seen[cell] = moment
        bound = max(tray.penalties[cell], _even(tray.rows[cell], limits.least))
        change += bound - tray.bounds[cell]
        tray.bounds[cell] = bound
        fails = not passes_rules(
            limits.rules, tray.histograms[cell], tray.rows[cell], limits.whole, tray.scratch
        )
        newly += np.int64(fails) - np.int64(tray.fails[cell])
        tray.fails[cell] = fails
    return change, newly


@inner
def _even(rows: Whole, least: Whole) -> Whole:
    """The sum of squares when rows are divided as evenly as whole rows allow."""
    parts = max(1, rows // least)
    size = rows // parts
    larger = rows - parts * size
    return (parts - larger) * size * size + larger * (size + 1) * (size + 1)


@inner
def _clear(strip: Strip, tray: Tray, first: int, last: int) -> None:
    """Empty the cells of slabs first to last - 1."""
    for at in range(strip.begins[first], strip.begins[last]):
        i = strip.order[at]
        cell = strip.coarse[i]
        tray.fine_rows[strip.fine[i]] = 0
        tray.rows[cell] = 0
        tray.penalties[cell] = 0
        tray.bounds[cell] = 0
        tray.fails[cell] = False
        for s in range(strip.sensitive.shape[1]):
            tray.histograms[cell, strip.sensitive[i, s]] = 0


@kernel
def best_ways(costs: Counts) -> tuple[Counts, Counts, Flags]:
    """The cheapest ways from the first boundary to the last, each step an interval.

    Returns for every boundary the cost of the best way through it and of the best way around it,
    and whether the best way of all goes through it.
    """
    n = costs.shape[0]
    ahead = np.full(n, FORBIDDEN, np.int64)  # from here to the end
    step = np.zeros(n, np.int64)
    ahead[n - 1] = 0
    for a in range(n - 2, -1, -1):
        for b in range(a + 1, n):
            if costs[a, b] + ahead[b] < ahead[a]:
                ahead[a] = costs[a, b] + ahead[b]
                step[a] = b
    behind = np.full(n, FORBIDDEN, np.int64)
    behind[0] = 0
    around = np.full(n, FORBIDDEN, np.int64)
    for a in range(n - 1):
        cheapest: Whole = FORBIDDEN  # of the ways that step from a across the boundary
        for b in range(n - 1, a, -1):
            around[b] = min(around[b], cheapest)
            behind[b] = min(behind[b], behind[a] + costs[a, b])
            cheapest = min(cheapest, behind[a] + costs[a, b] + ahead[b])
    on_way = np.zeros(n, np.bool_)
    on_way[0] = True
    at: Whole = 0
    while at < n - 1 and ahead[0] < FORBIDDEN:
        at = step[at]
        on_way[at] = True
    return np.minimum(behind + ahead, FORBIDDEN), around, on_way
