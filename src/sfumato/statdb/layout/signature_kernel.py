"""Compiled loop that finds the signatures of a first version; signatures.py says what it does.

The values that are left stand in a heap, the most frequent on top, so that a signature costs about
m log(values) steps, however many values there are: a table whose values all differ has as many
signatures as rows / m.
"""

from __future__ import annotations

import numpy as np

from sfumato.core.arrays import Codes, Counts, Whole
from sfumato.core.compiled import inner, kernel


@kernel
def take_largest(left: Counts, ranks: Counts, heap: Counts, m: int) -> tuple[Codes, Counts]:
    """Signatures, a line each, and how many groups of it; ``left`` is lowered by what they take.

    ``ranks`` break ties between values. ``heap`` has the values that occur, the most frequent
    first, and is used up.
    """
    rows = left.sum()
    size: Whole = np.int64(heap.size)
    found, times, n_found = np.empty((16, m), np.int32), np.empty(16, np.int64), 0
    chosen = np.empty(m, np.int64)
    while size >= m:
        for i in range(m):
            chosen[i] = heap[0]
            size = drop_top(heap, size, left, ranks)
        following = left[heap[0]] if size > 0 else np.int64(0)
        x = min(left[chosen[m - 1]], rows // m - following)
        if x < 1:
            break
        if n_found == times.size:
            found, times = longer(found, times)
        times[n_found] = x
        for i in range(m):
            found[n_found, i] = chosen[i]
            left[chosen[i]] -= x
            if left[chosen[i]] > 0:
                size = add(heap, size, chosen[i], left, ranks)
        rows -= m * x
        n_found += 1
    return found[:n_found].copy(), times[:n_found].copy()


@inner
def longer(found: Codes, times: Counts) -> tuple[Codes, Counts]:
    """The same with twice the room."""
    more, more_times = np.empty((2 * len(found), found.shape[1]), np.int32), np.empty_like(times)
    more[: len(found)] = found
    return more, np.append(times, more_times)


@inner
def before(one: Whole, other: Whole, left: Counts, ranks: Counts) -> bool:
    """Whether a value comes first: the more frequent one, then the one of lower rank."""
    if left[one] != left[other]:
        return bool(left[one] > left[other])
    return bool(ranks[one] < ranks[other])


@inner
def drop_top(heap: Counts, size: Whole, left: Counts, ranks: Counts) -> Whole:
    """Take the first value away; how many are left."""
    size -= 1
    value, at = heap[size], 0
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and before(heap[child + 1], heap[child], left, ranks):
            child += 1
        if not before(heap[child], value, left, ranks):
            break
        heap[at] = heap[child]
        at = child
    heap[at] = value
    return size


@inner
def add(heap: Counts, size: Whole, value: Whole, left: Counts, ranks: Counts) -> Whole:
    """Put a value in its place; how many there are now."""
    at = size
    while at > 0 and before(value, heap[(at - 1) // 2], left, ranks):
        heap[at] = heap[(at - 1) // 2]
        at = (at - 1) // 2
    heap[at] = value
    return size + 1
