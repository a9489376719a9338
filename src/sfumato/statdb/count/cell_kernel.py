"""Compiled loops that share rows out among the margins of a query; generalization.py says how.

Sets of margins are numbers: bit 2 i stands for the lower, 2 i + 1 for the upper margin of dimension
i. The cell of a row is the set of margins that it lies in, so cell 0 is the inside. A counterfeit
may stand in any margin: its cell is the set of all, in which no row can be.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.core.arrays import Counts, Whole, Words
from sfumato.core.compiled import inner, kernel
from sfumato.statdb.count.kernel import mask_of, ones
from sfumato.statdb.count.match_kernel import BLOCK, EVERYBODY, WORD, below

if TYPE_CHECKING:
    from sfumato.statdb.layout.bucketization import Bucketization

MOST_DIMS = 3  # 27 cells and 64 sets; with every dimension three times and four times as many
_MANY = np.iinfo(np.int64).max


@kernel
def yields_of(cells: Counts, n_margins: int) -> Counts:
    """Groups per margin, for so many rows of every value (a line) in every cell."""
    found = np.empty(n_margins, np.int64)
    share_out(cells.copy(), np.empty(cells.shape[1], np.int64), found)
    return found


@inner
def draw_cells(
    bitmaps: Words, steps: Counts, dims: Whole, begin: Whole, end: Whole, maps: Words
) -> None:
    """A bitmap per cell; those of dimension i lie 3**i and 2 * 3**i after the ones without it."""
    high, low = np.empty(BLOCK, np.uint64), np.empty(BLOCK, np.uint64)
    for first in range(begin, end, BLOCK):
        last = min(first + BLOCK, end)
        maps[0, first:last] = bitmaps[EVERYBODY, first:last]
        at, known = np.int64(0), 1
        for _ in range(dims):
            n_digits = steps[at + 1]
            below(bitmaps, steps, at + 2, n_digits, first, last, high)
            below(bitmaps, steps, at + 2 + 2 * n_digits, n_digits, first, last, low)
            at += 2 + 4 * n_digits
            for c in range(known):
                split(
                    high, low, maps[c, first:last],
                    maps[known + c, first:last], maps[2 * known + c, first:last],
                )  # fmt: skip
            known *= 3


@inner
def split(high: Words, low: Words, whole: Words, under: Words, over: Words) -> None:
    """The parts of a cell below, above and, in its place, between two ends."""
    for w in range(whole.size):
        word = whole[w]
        under[w] = word & low[w]
        over[w] = word & ~high[w]
        whole[w] = word & high[w] & ~low[w]


@inner
def cell_sets(dims: Whole) -> Counts:
    """The margins of every cell, in the order of their bitmaps."""
    sets = np.zeros(3**dims, np.int64)
    known = 1
    for i in range(dims):
        for c in range(known):
            sets[known + c] = sets[c] | (1 << (2 * i))
            sets[2 * known + c] = sets[c] | (2 << (2 * i))
        known *= 3
    return sets


@inner
def count_cells(b: Whole, dims: Whole, maps: Words, buckets: Bucketization) -> tuple[Whole, Whole]:
    """Groups inside, and neither inside nor outside, over the cohorts of a bucket."""
    n_values = buckets.starts[b + 1] - buckets.starts[b]
    stride, room = buckets.stride[b], buckets.room[b]
    sets = cell_sets(dims)
    cells = np.zeros((n_values, 4**dims), np.int64)
    rows = np.empty(n_values, np.int64)
    reach = np.empty(4**dims, np.int64)
    found = np.empty(2 * dims, np.int64)
    inside, partly = np.int64(0), np.int64(0)
    for k in range(buckets.cohorts[b]):
        fewest, most = room, np.int64(0)
        for j in range(n_values):
            first = buckets.base[b] + j * stride + k * room
            for s in range(reach.size):
                cells[j, s] = 0
            rows[j] = count_row(maps, sets, first, room, cells, j)
            fewest = min(fewest, cells[j, 0])
            most = max(most, rows[j])
        for j in range(n_values):
            cells[j, -1] += most - rows[j]
        inside += fewest
        partly += most - fewest - share_out(cells, reach, found)
    return inside, partly


@inner
def count_row(
    maps: Words, sets: Counts, first: Whole, room: Whole, cells: Counts, j: Whole
) -> Whole:
    """The rows of a segment by cell, in line j; how many there are. (Slices would cost time.)"""
    rows, mask = np.int64(0), mask_of(first, room)
    for c in range(sets.size):
        found = np.int64(0)
        for w in range(first >> 6, (first + max(room, WORD)) >> 6):
            found += ones(maps[c, w] & mask)
        cells[j, sets[c]] = found
        rows += found
    return rows


@inner
def share_out(cells: Counts, reach: Counts, found: Counts) -> Whole:
    """Find groups per margin; ``cells`` and ``reach`` are used up. Returns how many there are."""
    n_margins = found.size
    reach[:] = _MANY
    for j in range(cells.shape[0]):
        lower_reach(cells, j, n_margins, reach)
    total, improved = np.int64(0), True
    found[:] = 0
    while improved:
        improved = False
        for i in range(n_margins):
            step = room_for(reach, 1 << i)
            if step > 0:
                give(reach, 1 << i, step)
                found[i] += step
                total += step
        for i in range(n_margins):
            for j in range(n_margins):
                for k in range(j):
                    # where all margins together have what they can have there is no more to find
                    if reach[-1] == 0 or found[i] == 0 or j == i or k == i:
                        continue
                    step = room_for_two(reach, i, (1 << j) | (1 << k), found[i])
                    if step > 0:
                        give(reach, 1 << i, -step)
                        give(reach, 1 << j, step)
                        give(reach, 1 << k, step)
                        found[i] -= step
                        found[j] += step
                        found[k] += step
                        total += step
                        improved = True
    return total


@inner
def lower_reach(cells: Counts, j: Whole, n_margins: Whole, reach: Counts) -> None:
    """Lower the reach of every set of margins to what one value allows.

    A set is reached by the rows that lie in one of its margins, which are all but those whose cells
    are sets of other margins.
    """
    last = reach.size - 1
    for i in range(n_margins):
        bit = 1 << i
        for without in range(0, reach.size, 2 * bit):
            for s in range(without, without + bit):
                cells[j, s + bit] += cells[j, s]  # in the end: all rows whose cells are subsets
    for s in range(1, last + 1):
        reach[s] = min(reach[s], cells[j, last] - cells[j, last - s])


@inner
def room_for(reach: Counts, margin: Whole) -> Whole:
    """How many more groups a margin can have."""
    step = np.int64(reach[margin])
    for s in range(margin + 1, reach.size):
        if s & margin:
            step = min(step, reach[s])
    return step


@inner
def room_for_two(reach: Counts, i: Whole, pair: Whole, most: Whole) -> Whole:
    """How many groups of margin i can be exchanged for a group in each margin of a pair."""
    step = most
    for s in range(1, reach.size):
        common = s & pair
        more = (2 if common == pair else 1 if common else 0) - (s >> i & 1)
        if more == 1:
            step = min(step, reach[s])
        elif more == 2:
            step = min(step, reach[s] >> 1)
        if step == 0:
            break
    return step


@inner
def give(reach: Counts, margin: Whole, step: Whole) -> None:
    """Take a step from what every union of margins that holds this one has left."""
    for s in range(margin, reach.size):
        if s & margin:
            reach[s] -= step
