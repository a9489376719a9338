"""Compiled loops that build a database; bucketization.py and index.py say what they do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.core.arrays import Codes, Counts, Words
from sfumato.core.compiled import kernel

if TYPE_CHECKING:
    from sfumato.statdb.layout.bucketization import Bucketization


@kernel
def place_rows(buckets: Bucketization, rows: Codes, starts: Counts) -> Codes:
    """Deal the rows of every value, in their order, to the segments that need them."""
    at = np.empty(buckets.base[-1], np.int32)
    for place in range(at.size):
        at[place] = -1
    following = starts.copy()
    for b in range(buckets.groups.size):
        size, room = buckets.size[b], buckets.room[b]
        for j in range(buckets.starts[b + 1] - buckets.starts[b]):
            value = buckets.values[buckets.starts[b] + j]
            first = buckets.base[b] + j * buckets.stride[b]
            left = buckets.groups[b]
            while left > 0:
                for i in range(min(size, left)):
                    at[first + i] = rows[following[value]]
                    following[value] += 1
                first += room
                left -= size
    return at


@kernel
def mark_places(rows: Codes, words: Words) -> None:
    """Set the bits of all places that have a row."""
    for place in range(rows.size):
        if rows[place] >= 0:
            words[place >> 6] |= np.uint64(1) << np.uint64(place & 63)


@kernel
def mark_digits(
    codes: Codes, everybody: Words, divisor: int, base: int, bitmaps: Words, scratch: Words
) -> None:
    """Bitmaps of "digit <= t", t = 0, 1, ..., of the digit ``code // divisor % base``.

    A word of places at a time: mark equal digits in ``scratch``, then add them up.
    """
    n_maps = bitmaps.shape[0]
    for w in range(everybody.size):
        for t in range(base):
            scratch[t] = np.uint64(0)
        for i in range(64):
            bit = np.uint64(1) << np.uint64(i)
            if everybody[w] & bit:
                scratch[codes[w * 64 + i] // divisor % base] |= bit
        seen = np.uint64(0)
        for t in range(n_maps):
            seen |= scratch[t]
            bitmaps[t, w] = seen
