"""Compiled loops that count in groups of neighbours; neighbours.py says what they do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.core.arrays import Codes, Counts, Whole, Words
from sfumato.core.compiled import inner, kernel
from sfumato.statdb.count.kernel import ones
from sfumato.statdb.count.match_kernel import match

if TYPE_CHECKING:
    from sfumato.statdb.layout.neighbourhoods import Groups

STRETCH = 64
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
    expected, lo, hi = 0.0, np.int64(0), np.int64(0)
    for s in range(groups.low.shape[0]):
        if is_apart(groups.low[s], groups.high[s], hulls):
            continue
        begin, end = s * STRETCH, min((s + 1) * STRETCH, n_groups)
        first, last = base[begin] >> 6, (base[end] + 63) >> 6
        match(bitmaps, steps, more, first, last, hit)
        if any_of(hit[first:last]):
            match(value_bitmaps, value_steps, value_more, first, last, wanted)
            for g in range(begin, end):
                q = between(hit, base[g], base[g + 1])
                if q > 0:
                    n, w = base[g + 1] - base[g], between(wanted, base[g], base[g + 1])
                    expected += q * w / n
                    lo += max(np.int64(0), q + w - n)
                    hi += min(q, w)
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
def is_apart(low: Codes, high: Codes, hulls: Counts) -> bool:
    """Whether a box has nothing in common with some condition, which lies inside its hull."""
    for i in range(hulls.shape[0]):
        if high[hulls[i, 0]] < hulls[i, 1] or low[hulls[i, 0]] > hulls[i, 2]:
            return True
    return False


@inner
def any_of(words: Words) -> bool:
    """Whether some bit is set."""
    found = np.uint64(0)
    for w in range(words.size):
        found |= words[w]
    return bool(found != np.uint64(0))


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
