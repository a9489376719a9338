"""Ruin and recreate: a group and its two nearest neighbours, grouped anew if that loses less.

The rows of this *team* are a *pool*. Groups are made from it one by one, as in k-member clustering:
a seed far from the group before, then whichever row makes the box grow least, until the group
passes. Rows that do not make it grow are taken on the way, without another look at the rest. What
is left at the end joins the group where it costs least. While a group is made, rows whose sensitive
value it has enough of wait for the others.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.algorithms.goal import Goal
from sfumato.algorithms.refine.groups import Groups, add_values, link_row
from sfumato.algorithms.refine.line import Line, draw_place, weigh_unions
from sfumato.algorithms.space import PointArrays, Sets, Sides, clear_box, new_sides, penalty_of
from sfumato.core.arrays import Codes, Counts, Floats, Whole
from sfumato.core.compiled import inner, kernel
from sfumato.models._rules import passes_rules

_GAIN = 1e-9  # less than that is rounding
_TEAM = 3  # groups; more cost more and gain nothing, under demanding models less
_OVERHEAD = 2000  # the work of finding a team, in pairs of rows


class Pool(NamedTuple):
    """Rows that are grouped anew: those not yet in a group stand first.

    By place: the row, the number of its new group, how much ``more`` penalty the box that is being
    made would have with it, and by axis its coordinates, by set the place of its bit. By new group:
    ``sides`` and ``loads``. ``team`` are the old ones, the ``nearest`` first. ``shares`` says of
    every sensitive value how much of a group it may be at most, as a divisor.
    """

    rows: Codes
    made: Codes
    more: Floats
    places: Floats
    spots: Codes
    sides: Sides
    loads: Counts
    team: Counts
    nearest: Floats
    shares: Counts


def new_pool(size: int, arrays: PointArrays, sets: Sets, shares: Counts) -> Pool:
    """Room for so many rows."""
    n_axes, n_sets = arrays.places.shape[1], len(sets.bits)
    return Pool(
        rows=np.zeros(size, np.int32),
        made=np.zeros(size, np.int32),
        more=np.zeros(size),
        places=np.zeros((n_axes, size)),
        spots=np.zeros((n_sets, size), np.int32),
        sides=new_sides(size + 1, n_axes, int(sets.words[-1])),
        loads=np.zeros(size + 1, np.int64),
        team=np.zeros(_TEAM, np.int64),
        nearest=np.zeros(_TEAM),
        shares=shares,
    )


@kernel
def rebuild_all(
    groups: Groups, line: Line, arrays: PointArrays, sets: Sets, goal: Goal, pool: Pool,
    low: int, work: int,
) -> int:  # fmt: skip
    """Rebuild around each group of a line from ``low`` on, until so much work is done.

    The place where it stopped, for the next call.
    """
    at = low
    while at < line.groups.size and work > 0:
        if line.loads[at] > 0:
            _find_team(line, sets, at, pool)
            rows = _rebuild(groups, arrays, sets, goal, pool)
            work -= rows * (rows + groups.histogram.size)
            for group in pool.team:
                if group >= 0:
                    draw_place(line, groups, group)
        work -= _OVERHEAD
        at += 1
    return at


@inner
def _find_team(line: Line, sets: Sets, at: int, pool: Pool) -> None:
    """A group, and those near it in the line that cost least to merge with; -1 for none."""
    low, high = weigh_unions(line, sets, at)
    team, nearest = pool.team, pool.nearest
    team[:] = -1
    nearest[:] = np.inf
    team[0], nearest[0] = line.groups[at], -np.inf
    last = team.size - 1
    for i in range(high - low):
        cost = line.costs[i]
        if cost < nearest[last]:
            place = last
            while nearest[place - 1] > cost:
                team[place], nearest[place] = team[place - 1], nearest[place - 1]
                place -= 1
            team[place], nearest[place] = line.groups[low + i], cost


@inner
def _rebuild(groups: Groups, arrays: PointArrays, sets: Sets, goal: Goal, pool: Pool) -> int:
    """Group a team anew, if that loses less; how many rows were looked at."""
    n, before = 0, 0.0
    for which in range(pool.team.size):
        group = pool.team[which]
        if group < 0 or n + groups.loads[group] > pool.rows.size:
            pool.team[which] = -1
            continue
        before += groups.loads[group] * groups.sides.penalties[group]
        n = _gather(groups, arrays, sets, pool, group, n)
    if before <= _GAIN:
        return n
    made, left = _make_groups(groups, arrays, sets, goal, pool, n)
    if made == 0 or not _deal_rest(groups, arrays, sets, goal, pool, made, left, n):
        return n
    after = 0.0
    for group in range(made):
        after += pool.loads[group] * pool.sides.penalties[group]
    if after < before - _GAIN:
        _replace(groups, pool, made, n)
    return n


@inner
def _gather(
    groups: Groups, arrays: PointArrays, sets: Sets, pool: Pool, group: Whole, n: int
) -> int:
    """Add the rows of a group to a pool of n; the new n."""
    i = groups.heads[group]
    while i >= 0:
        pool.rows[n] = i
        for j in range(pool.places.shape[0]):
            pool.places[j, n] = arrays.places[i, j]
        for s in range(pool.spots.shape[0]):
            pool.spots[s, n] = 64 * sets.words[s] + arrays.codes[i, s] % sets.bits[s]
        n += 1
        i = groups.following[i]
    return n


@inner
def _make_groups(
    groups: Groups, arrays: PointArrays, sets: Sets, goal: Goal, pool: Pool, n: int
) -> tuple[int, int]:
    """Make groups while there are rows for another; how many, and how many rows are left."""
    made, left = 0, n
    _start_group(pool, sets, 0, 0, n)  # a seed lies far from the group before, or from any row
    while left >= goal.least and left > 0:
        seed = int(np.argmax(pool.more[:left]))
        _start_group(pool, sets, made, seed, left)
        groups.histogram[:] = 0
        before = left
        left = _take(arrays, pool, groups.histogram, made, seed, left)
        left, passes = _grow(groups, arrays, sets, goal, pool, made, left)
        if not passes:
            left = before  # its rows stand right behind
            break
        pool.sides.penalties[made] = penalty_of(pool.sides, made, sets)
        made += 1
    return made, left


@inner
def _start_group(pool: Pool, sets: Sets, group: int, seed: int, left: int) -> None:
    """An empty group, its box around the row at a place of the pool."""
    clear_box(pool.sides, group)
    _widen(pool, group, seed)
    pool.loads[group] = 0
    more = pool.more
    more[:left] = 0.0
    for j in range(pool.places.shape[0]):
        places = pool.places[j]
        here = places[seed]
        for place in range(left):
            more[place] += min(1.0, abs(places[place] - here))
    for s in range(pool.spots.shape[0]):
        spots, share = pool.spots[s], sets.shares[s]
        spot = spots[seed]
        for place in range(left):
            more[place] += share if spots[place] != spot else 0.0


@inner
def _reach_out(pool: Pool, sets: Sets, group: int, taken: int, left: int) -> None:
    """Widen a box to hold the row at a place, and weigh the others anew where it changed."""
    lows, highs, bits, more = pool.sides.lows, pool.sides.highs, pool.sides.bits, pool.more
    for j in range(pool.places.shape[0]):
        places = pool.places[j]
        low, high, here = lows[group, j], highs[group, j], places[taken]
        if low <= here <= high:
            continue
        lower, higher = min(low, here), max(high, here)
        less = min(1.0, higher - lower) - min(1.0, high - low)
        for place in range(left):
            one = places[place]
            more[place] += min(1.0, max(higher, one) - min(lower, one)) - less
            more[place] -= min(1.0, max(high, one) - min(low, one))
        lows[group, j], highs[group, j] = lower, higher
    for s in range(pool.spots.shape[0]):
        spots, share = pool.spots[s], sets.shares[s]
        spot = spots[taken]
        bit = np.uint64(1) << np.uint64(spot & 63)
        if bits[group, spot >> 6] & bit == 0:
            bits[group, spot >> 6] |= bit
            for place in range(left):
                more[place] -= share if spots[place] == spot else 0.0


@inner
def _widen(pool: Pool, group: int, place: int) -> None:
    """Widen a box to hold the row at a place of the pool."""
    for j in range(pool.places.shape[0]):
        here = pool.places[j, place]
        pool.sides.lows[group, j] = min(pool.sides.lows[group, j], here)
        pool.sides.highs[group, j] = max(pool.sides.highs[group, j], here)
    for s in range(pool.spots.shape[0]):
        spot = pool.spots[s, place]
        pool.sides.bits[group, spot >> 6] |= np.uint64(1) << np.uint64(spot & 63)


@inner
def _growth(pool: Pool, sets: Sets, group: int, place: int) -> float:
    """How much more penalty a box has that also holds the row at a place of the pool."""
    lows, highs, bits, more = pool.sides.lows, pool.sides.highs, pool.sides.bits, 0.0
    for j in range(lows.shape[1]):
        low, high, here = lows[group, j], highs[group, j], pool.places[j, place]
        more += min(1.0, max(high, here) - min(low, here)) - min(1.0, high - low)
    for s in range(pool.spots.shape[0]):
        spot = pool.spots[s, place]
        if (bits[group, spot >> 6] >> np.uint64(spot & 63)) & np.uint64(1) == 0:
            more += sets.shares[s]
    return float(more)


@inner
def _take(
    arrays: PointArrays, pool: Pool, histogram: Counts, group: int, place: int, left: int
) -> int:
    """Let a group have the row at a place: it changes places with the last that is left."""
    last = left - 1
    add_values(arrays, pool.rows[place], 1, histogram)
    pool.rows[place], pool.rows[last] = pool.rows[last], pool.rows[place]
    for j in range(pool.places.shape[0]):
        here = pool.places[j, place]
        pool.places[j, place] = pool.places[j, last]
        pool.places[j, last] = here
    for s in range(pool.spots.shape[0]):
        spot = pool.spots[s, place]
        pool.spots[s, place] = pool.spots[s, last]
        pool.spots[s, last] = spot
    pool.more[place] = pool.more[last]
    pool.made[last] = group
    pool.loads[group] += 1
    return last


@inner
def _grow(
    groups: Groups, arrays: PointArrays, sets: Sets, goal: Goal, pool: Pool, group: int, left: int
) -> tuple[int, bool]:
    """Add rows to a group until it passes; how many are left, and whether it does."""
    histogram = groups.histogram
    while True:
        best, best_waits, least, place = -1, True, np.inf, 0
        if _passes(groups, goal, pool.loads[group]):
            return left, True
        while place < left:
            more = pool.more[place]
            waits = goal.sensitive and _waits(arrays, goal, pool, histogram, group, place)
            if more <= _GAIN and not waits:
                _widen(pool, group, place)
                left = _take(arrays, pool, histogram, group, place, left)
                if _passes(groups, goal, pool.loads[group]):
                    return left, True
                continue
            if waits < best_waits or (waits == best_waits and more < least):
                best, best_waits, least = place, waits, more
            place += 1
        if left == 0:
            return left, False
        _reach_out(pool, sets, group, best, left)
        left = _take(arrays, pool, histogram, group, best, left)


@inner
def _passes(groups: Groups, goal: Goal, load: Whole) -> bool:
    """Whether a group of so many rows passes, whose sensitive values are counted."""
    if load < goal.least or not goal.sensitive:
        return bool(load >= goal.least)
    return passes_rules(goal.rules, groups.histogram, load, goal.whole, groups.scratch)


@inner
def _waits(
    arrays: PointArrays, goal: Goal, pool: Pool, histogram: Counts, group: int, place: int
) -> bool:
    """Whether a group has enough of a sensitive value of the row at a place of the pool."""
    i, load = pool.rows[place], max(goal.least, pool.loads[group] + 1)
    for entry in range(arrays.starts[i], arrays.starts[i + 1]):
        value = arrays.values[entry]
        if histogram[value] >= max(1, load // pool.shares[value]):
            return True
    return False


@inner
def _deal_rest(
    groups: Groups, arrays: PointArrays, sets: Sets, goal: Goal, pool: Pool,
    made: int, left: int, n: int,
) -> bool:  # fmt: skip
    """Let the rows that are left join groups; False if one of them finds none that passes then."""
    while left > 0:
        place, best, least = left - 1, -1, np.inf
        for group in range(made):
            cost = pool.sides.penalties[group]
            cost += (pool.loads[group] + 1) * _growth(pool, sets, group, place)
            if cost < least and (
                not goal.sensitive or _passes_with(groups, arrays, goal, pool, group, left, n)
            ):
                best, least = group, cost
        if best < 0:
            return False
        _widen(pool, best, place)
        left = _take(arrays, pool, groups.histogram, best, place, left)
        pool.sides.penalties[best] = penalty_of(pool.sides, best, sets)
    return True


@inner
def _passes_with(
    groups: Groups, arrays: PointArrays, goal: Goal, pool: Pool, group: int, left: int, n: int
) -> bool:
    """Whether a new group passes with the last row that is left."""
    groups.histogram[:] = 0
    add_values(arrays, pool.rows[left - 1], 1, groups.histogram)
    for place in range(left, n):
        if pool.made[place] == group:
            add_values(arrays, pool.rows[place], 1, groups.histogram)
    return _passes(groups, goal, pool.loads[group] + 1)


@inner
def _replace(groups: Groups, pool: Pool, made: int, n: int) -> None:
    """Put new groups where the old ones were, and where there is room."""
    for old in pool.team:
        if old >= 0:
            groups.loads[old] = 0
            groups.heads[old] = -1
            groups.free[groups.n_free[0]] = old
            groups.n_free[0] += 1
    numbers = pool.loads  # no longer needed: the number of each group
    for group in range(made):
        groups.n_free[0] -= 1
        number = groups.free[groups.n_free[0]]
        numbers[group] = number
        for j in range(groups.sides.lows.shape[1]):
            groups.sides.lows[number, j] = pool.sides.lows[group, j]
            groups.sides.highs[number, j] = pool.sides.highs[group, j]
        for w in range(groups.sides.bits.shape[1]):
            groups.sides.bits[number, w] = pool.sides.bits[group, w]
        groups.sides.penalties[number] = pool.sides.penalties[group]
    for place in range(n):
        link_row(groups, numbers[pool.made[place]], pool.rows[place])
