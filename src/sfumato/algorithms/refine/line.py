"""Groups in a line: what is weighed are the neighbours in it.

Neighbours in one of several random orders of the attributes are mostly near in space too. Each
number of all boxes lies side by side, so that neighbours are weighed at once, by vector
instructions; that is most of what a pass does.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.algorithms.refine.groups import Groups
from sfumato.algorithms.space import PointArrays, Sets, ones
from sfumato.core.arrays import Counts, Floats, Whole, Words
from sfumato.core.compiled import inner, kernel

REACH = 128  # neighbours that are weighed on each side


class Line(NamedTuple):
    """The ``groups`` by place, and by number of a group its ``place``, -1 for none.

    By place: ``loads`` (0 where the group is gone), ``penalties``, and by axis or word the box.
    ``costs`` and ``values`` are room for what is computed about the neighbours of one.
    """

    groups: Counts
    place: Counts
    loads: Floats
    penalties: Floats
    lows: Floats
    highs: Floats
    bits: Words
    costs: Floats
    values: Counts


def line_of(groups: Groups, order: Counts) -> Line:
    """Let groups stand in an order."""
    place = np.full(len(groups.loads), -1, np.int64)
    place[order] = np.arange(len(order))
    line = Line(
        groups=order,
        place=place,
        loads=np.zeros(len(order)),
        penalties=np.zeros(len(order)),
        lows=np.zeros((groups.sides.lows.shape[1], len(order))),
        highs=np.zeros((groups.sides.highs.shape[1], len(order))),
        bits=np.zeros((groups.sides.bits.shape[1], len(order)), np.uint64),
        costs=np.zeros(2 * REACH + 1),
        values=np.zeros(2 * REACH + 1, np.int64),
    )
    draw_line(line, groups)
    return line


@kernel
def draw_line(line: Line, groups: Groups) -> None:
    """Draw all groups of a line."""
    for group in line.groups:
        draw_place(line, groups, group)


@inner
def draw_place(line: Line, groups: Groups, group: Whole) -> None:
    """Draw a group where it stands, if it stands in the line, as it is now."""
    at = line.place[group]
    if at < 0:
        return
    line.loads[at] = groups.loads[group]
    line.penalties[at] = groups.sides.penalties[group]
    for j in range(line.lows.shape[0]):
        line.lows[j, at] = groups.sides.lows[group, j]
        line.highs[j, at] = groups.sides.highs[group, j]
    for w in range(line.bits.shape[0]):
        line.bits[w, at] = groups.sides.bits[group, w]


@inner
def weigh_unions(line: Line, sets: Sets, at: int) -> tuple[int, int]:
    """Weigh what merging costs with each neighbour, infinite if it is gone; the first and the end.

    That is what the rows of both lose more in one box than in two.
    """
    low, high = max(0, at - REACH), min(line.groups.size, at + REACH + 1)
    n, costs, values = high - low, line.costs, line.values
    for i in range(n):
        costs[i] = 0.0
    for j in range(line.lows.shape[0]):
        lows, highs = line.lows[j, low:high], line.highs[j, low:high]
        bottom, top = line.lows[j, at], line.highs[j, at]
        for i in range(n):
            costs[i] += min(1.0, max(top, highs[i]) - min(bottom, lows[i]))
    for s in range(sets.shares.size):
        for i in range(n):
            values[i] = -1
        for w in range(sets.words[s], sets.words[s + 1]):
            bits, word = line.bits[w, low:high], line.bits[w, at]
            for i in range(n):
                values[i] += ones(bits[i] | word)
        for i in range(n):
            costs[i] += values[i] * sets.shares[s]
    loads, penalties = line.loads[low:high], line.penalties[low:high]
    load, penalty = line.loads[at], line.penalties[at]
    for i in range(n):
        cost = load * (costs[i] - penalty) + loads[i] * (costs[i] - penalties[i])
        costs[i] = cost if loads[i] > 0 else np.inf
    costs[at - low] = np.inf
    return low, high


@inner
def weigh_row(line: Line, arrays: PointArrays, sets: Sets, row: Whole, at: int) -> tuple[int, int]:
    """Weigh what a row of a group costs in each neighbour, infinite if gone; the first and the end.

    That is its own loss, and what the others lose more.
    """
    low, high = max(0, at - REACH), min(line.groups.size, at + REACH + 1)
    n, costs = high - low, line.costs
    for i in range(n):
        costs[i] = 0.0
    for j in range(line.lows.shape[0]):
        lows, highs, here = line.lows[j, low:high], line.highs[j, low:high], arrays.places[row, j]
        for i in range(n):
            wide = min(1.0, max(highs[i], here) - min(lows[i], here))
            costs[i] += wide - min(1.0, highs[i] - lows[i])
    for s in range(sets.shares.size):
        bit = arrays.codes[row, s] % sets.bits[s]
        bits, share = line.bits[sets.words[s] + (bit >> 6), low:high], sets.shares[s]
        mask = np.uint64(1) << np.uint64(bit & 63)
        for i in range(n):
            costs[i] += share if bits[i] & mask == 0 else 0.0
    loads, penalties = line.loads[low:high], line.penalties[low:high]
    for i in range(n):
        cost = penalties[i] + (loads[i] + 1.0) * costs[i]
        costs[i] = cost if loads[i] > 0 else np.inf
    costs[at - low] = np.inf
    return low, high
