"""Compiled loops over points: who lies in a region of codes, and how much of a box does.

A region says for every code of x the first and the last code of y that lie in it; where the first
is greater there is none.
"""

from __future__ import annotations

import numpy as np

from sfumato.core.arrays import Codes, Counts, Words
from sfumato.core.compiled import kernel
from sfumato.statdb.count.match_kernel import WORD, match

_ONE = np.uint64(1)


@kernel
def mark_points(
    bitmaps: Words, steps: Counts, nothing: Words, xs: Codes, ys: Codes, low: Codes, high: Codes
) -> Words:
    """The places of a rectangle, which the index finds, whose points lie in the region."""
    found = np.empty(bitmaps.shape[1], np.uint64)
    match(bitmaps, steps, nothing, 0, found.size, found)
    for w in range(found.size):
        word = found[w]
        if word == 0:
            continue
        for i in range(WORD):
            bit = _ONE << np.uint64(i)
            if word & bit:
                x, y = xs[w * WORD + i], ys[w * WORD + i]
                if y < low[x] or y > high[x]:
                    word &= ~bit
        found[w] = word
    return found


@kernel
def codes_inside(
    groups: Codes, x_low: Codes, x_high: Codes, y_low: Codes, y_high: Codes, low: Codes, high: Codes
) -> Counts:
    """How many pairs of codes in the box of each group lie in the region."""
    found = np.zeros(groups.size, np.int64)
    for i in range(groups.size):
        group = groups[i]
        for x in range(x_low[group], x_high[group] + 1):
            first, last = max(low[x], y_low[group]), min(high[x], y_high[group])
            found[i] += max(0, last - first + 1)
    return found
