"""Compiled loops of G-Count; generalization.py says what they do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.core.arrays import Counts, Whole, Words
from sfumato.core.compiled import inner, kernel
from sfumato.statdb.count.cell_kernel import MOST_DIMS, count_cells, draw_cells
from sfumato.statdb.count.kernel import (
    count_one,
    mask_of,
    next_wanted,
    ones,
    stretch_end,
    wanted_values,
)
from sfumato.statdb.count.match_kernel import BLOCK, EVERYBODY, WORD, below

if TYPE_CHECKING:
    from sfumato.statdb.layout.bucketization import Bucketization


@kernel
def g_types(
    bitmaps: Words, steps: Counts, dims: int, wanted: Counts, buckets: Bucketization
) -> tuple[Counts, Counts, Counts]:
    """Per bucket: wanted values, groups inside, and groups that are neither inside nor outside.

    ``steps`` has one run per dimension of the query. Nothing is counted without a wanted value.
    """
    alpha = wanted_values(wanted, buckets)
    inside, partly = np.zeros(alpha.size, np.int64), np.zeros(alpha.size, np.int64)
    few = dims <= MOST_DIMS
    maps = np.empty((3**dims if few else 3 * dims + 2, bitmaps.shape[1]), np.uint64)
    begin = next_wanted(alpha, 0)
    while begin < alpha.size:
        end = stretch_end(alpha, begin, buckets)
        first, last = buckets.base[begin] >> 6, (buckets.base[end] + 63) >> 6
        if few:
            draw_cells(bitmaps, steps, dims, first, last, maps)
        else:
            maps[-1, first:last] = bitmaps[EVERYBODY, first:last]
            draw_margins(bitmaps, steps, dims, first, last, maps[: 2 * dims], maps[2 * dims : -1])
        for b in range(begin, end):
            if alpha[b] > 0 and few:
                inside[b], partly[b] = count_cells(b, dims, maps, buckets)
            elif alpha[b] > 0:
                inside[b], partly[b] = count_margins(b, dims, maps, buckets)
        begin = next_wanted(alpha, end)
    return alpha, inside, partly


@kernel
def margin_maps(bitmaps: Words, steps: Counts, dims: int) -> tuple[Words, Words]:
    """All margins, and per dimension what lies in no margin of a later one; the last is S_c."""
    margins = np.empty((2 * dims, bitmaps.shape[1]), np.uint64)
    inside = np.empty((dims + 1, bitmaps.shape[1]), np.uint64)
    draw_margins(bitmaps, steps, dims, 0, bitmaps.shape[1], margins, inside)
    return margins, inside


@inner
def draw_margins(
    bitmaps: Words,
    steps: Counts,
    dims: Whole,
    begin: Whole,
    end: Whole,
    margins: Words,
    inside: Words,
) -> None:
    """The rows of every margin, as bitmaps."""
    high, low = np.empty(BLOCK, np.uint64), np.empty(BLOCK, np.uint64)
    for first in range(begin, end, BLOCK):
        last = min(first + BLOCK, end)
        everybody = bitmaps[EVERYBODY, first:last]
        inside[dims, first:last] = everybody
        at = np.int64(steps.size)
        for i in range(dims - 1, -1, -1):
            # conditions are read from the last to the first, each has one run
            at -= 2 + 4 * digits_before(steps, i)
            n_digits = steps[at + 1]
            below(bitmaps, steps, at + 2, n_digits, first, last, high)
            below(bitmaps, steps, at + 2 + 2 * n_digits, n_digits, first, last, low)
            divide(
                everybody, high, low,
                margins[2 * i, first:last], margins[2 * i + 1, first:last],
                inside[i + 1, first:last], inside[i, first:last],
            )  # fmt: skip


@inner
def digits_before(steps: Counts, i: Whole) -> Whole:
    """How many digits condition i has."""
    at = np.int64(0)
    for _ in range(i):
        at += 2 + 4 * steps[at + 1]
    return np.int64(steps[at + 1])


@inner
def divide(
    everybody: Words,
    high: Words,
    low: Words,
    under: Words,
    over: Words,
    later: Words,
    both: Words,
) -> None:
    """The rows below a condition, beyond it, and within it and all later ones."""
    for w in range(everybody.size):
        under[w] = low[w]
        over[w] = everybody[w] & ~high[w]
        both[w] = later[w] & high[w] & ~low[w]


@inner
def count_margins(
    b: Whole, dims: Whole, maps: Words, buckets: Bucketization
) -> tuple[Whole, Whole]:
    """Figure 6 for all cohorts of a bucket: groups of types 1 and 2."""
    margins, inside, left = maps[: 2 * dims], maps[2 * dims : -1], maps[-1]
    n_values = buckets.starts[b + 1] - buckets.starts[b]
    stride, room = buckets.stride[b], buckets.room[b]
    n_1, n_2 = np.int64(0), np.int64(0)
    for k in range(buckets.cohorts[b]):
        first = buckets.base[b] + k * room
        groups = np.int64(0)
        for j in range(n_values):
            groups = max(groups, np.int64(count_one(left, first + j * stride, room)))
        y = least(inside[0], left, first, n_values, stride, room)
        n_1 += y
        n_2 += groups - y
        for i in range(dims):
            for side in range(2 * i, 2 * i + 2):
                y = least(margins[side], left, first, n_values, stride, room)
                n_2 -= y
                # rows in a margin of the last dimension lie in no other that is still to come
                if y == 0 or i == dims - 1:
                    continue
                for j in range(n_values):
                    at = first + j * stride
                    rest = spend(margins[side], inside[i + 1], left, at, room, y)
                    spend_any(margins[side], left, at, room, rest)
    return n_1, n_2


@inner
def least(
    chosen: Words, left: Words, first: Whole, n_values: Whole, stride: Whole, room: Whole
) -> Whole:
    """The yield: how many rows of every value of a cohort are chosen and left."""
    fewest = room
    for j in range(n_values):
        at = first + j * stride
        mask, found = mask_of(at, room), np.int64(0)
        for w in range(at >> 6, (at + max(room, WORD)) >> 6):
            found += ones(chosen[w] & left[w] & mask)
        fewest = min(fewest, found)
        if fewest == 0:
            break
    return fewest


@inner
def spend(
    chosen: Words, first_of_all: Words, left: Words, at: Whole, room: Whole, y: Whole
) -> Whole:
    """Take up to y rows of a segment that are chosen and in no margin to come."""
    mask = mask_of(at, room)
    for w in range(at >> 6, (at + max(room, WORD)) >> 6):
        if y == 0:
            break
        y = take(left, w, chosen[w] & first_of_all[w] & left[w] & mask, y)
    return y


@inner
def spend_any(chosen: Words, left: Words, at: Whole, room: Whole, y: Whole) -> None:
    """Take y chosen rows of a segment, whatever else they lie in."""
    mask = mask_of(at, room)
    for w in range(at >> 6, (at + max(room, WORD)) >> 6):
        if y == 0:
            break
        y = take(left, w, chosen[w] & left[w] & mask, y)


@inner
def take(left: Words, w: Whole, candidates: np.uint64, y: Whole) -> Whole:
    """Take up to y of the candidates, in the order of their places; how many are still to take."""
    found = ones(candidates)
    if found <= y:
        left[w] &= ~candidates
        return y - found
    while y > 0:
        rest = candidates & (candidates - np.uint64(1))
        left[w] &= ~(candidates ^ rest)
        candidates = rest
        y -= 1
    return y
