"""Pairs of places that swap, each place at most once."""

from __future__ import annotations

import numpy as np

from sfumato.core.arrays import Counts, Words
from sfumato.core.compiled import inner, kernel


@kernel
def partners(starts: Counts, widths: Counts, words: Words) -> Counts:
    """Where each place gets its value from: a group begins at each start, and has a width.

    ``free`` holds the places ahead that have not swapped, in any order, and ``held`` where in it.
    """
    n = starts[-1]
    to = np.arange(n)
    free, held = np.empty(n, np.int64), np.empty(n, np.int64)
    for group in range(len(starts) - 1):
        entered, count, end = starts[group], 0, starts[group + 1]
        for at in range(starts[group], end):
            while entered < min(end, at + widths[group] + 1):
                free[count], held[entered] = entered, count
                count, entered = count + 1, entered + 1
            if to[at] != at:
                continue
            count = _leave(free, held, count, at)
            if count == 0:
                continue
            other = free[np.int64(words[at] % np.uint64(count))]
            count = _leave(free, held, count, other)
            to[at], to[other] = other, at
    return to


@inner
def _leave(free: Counts, held: Counts, count: int, place: int) -> int:
    """The last one takes its seat."""
    last = free[count - 1]
    free[held[place]], held[last] = last, held[place]
    return count - 1
