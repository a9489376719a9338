"""Compiled loops that count in groups of neighbours; neighbours.py says what they do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.core.arrays import Counts, Whole, Words
from sfumato.core.compiled import inner, kernel
from sfumato.statdb.count.kernel import ones
from sfumato.statdb.count.match_kernel import BLOCK, match, match_in
from sfumato.statdb.layout.neighbourhoods import STRETCH

if TYPE_CHECKING:
    from sfumato.statdb.layout.neighbourhoods import Groups

_FULL = np.uint64(0xFFFFFFFFFFFFFFFF)


@kernel
def near_count(
    bitmaps: Words,
    steps: Counts,
    more: Words,
    hulls: Counts,
    value_bitmaps: Words,
    value_steps: Counts,
    value_more: Words,
    groups: Groups,
) -> tuple[float, int, int]:
    """Expected, fewest and most rows."""
    base, n_groups = groups.base, groups.base.size - 1
    hit = np.empty(bitmaps.shape[1], np.uint64)
    wanted = np.empty(bitmaps.shape[1], np.uint64)
    scratch = np.empty((3, BLOCK), np.uint64)
    expected, lo, hi = 0.0, np.int64(0), np.int64(0)
    touched = next_touched(groups, hulls, 0)
    while touched < groups.low.shape[0]:
        after = touched + 1
        while after < groups.low.shape[0] and not is_apart(groups, after, hulls):
            after += 1
        begin, end = touched * STRETCH, min(after * STRETCH, n_groups)
        first, last = base[begin] >> 6, (base[end] + 63) >> 6
        match_in(bitmaps, steps, more, first, last, hit, scratch)
        match_in(value_bitmaps, value_steps, value_more, first, last, wanted, scratch)
        for g in range(begin, end):
            q = between(hit, base[g], base[g + 1])
            if q > 0:
                n, w = base[g + 1] - base[g], between(wanted, base[g], base[g + 1])
                expected += q * w / n
                lo += max(np.int64(0), q + w - n)
                hi += min(q, w)
        touched = next_touched(groups, hulls, after)
    return expected, int(lo), int(hi)


@kernel
def near_tally(bitmaps: Words, steps: Counts, more: Words, groups: Groups) -> Counts:
    """How many rows, or places, of every group satisfy the conditions."""
    hit = np.empty(bitmaps.shape[1], np.uint64)
    match(bitmaps, steps, more, 0, hit.size, hit)
    found = np.empty(groups.base.size - 1, np.int64)
    for g in range(found.size):
        found[g] = between(hit, groups.base[g], groups.base[g + 1])
    return found


@inner
def next_touched(groups: Groups, hulls: Counts, s: Whole) -> Whole:
    """The first stretch from this one on that conditions may touch."""
    while s < groups.low.shape[0] and is_apart(groups, s, hulls):
        s += 1
    return s


@inner
def is_apart(groups: Groups, s: Whole, hulls: Counts) -> bool:
    """Whether a stretch has nothing in common with some condition, which lies inside its hull."""
    for i in range(hulls.shape[0]):
        axis = hulls[i, 0]
        if groups.high[s, axis] < hulls[i, 1] or groups.low[s, axis] > hulls[i, 2]:
            return True
    return False


@inner
def between(words: Words, begin: Whole, end: Whole) -> Whole:
    """How many bits are set from one place up to another, after it."""
    first, last = begin >> 6, (end - 1) >> 6
    head = _FULL << np.uint64(begin & 63)
    tail = _FULL >> np.uint64(63 - ((end - 1) & 63))
    if first == last:
        return ones(words[first] & head & tail)
    found = ones(words[first] & head) + ones(words[last] & tail)
    for w in range(first + 1, last):
        found += ones(words[w])
    return found
