"""The compiled loop of the frontier; __init__.py says what it does and why it may."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.core.arrays import Codes, Counts, Flags, Whole
from sfumato.core.compiled import inner, kernel

_NONE = np.int32(-1)


class Queues(NamedTuple):
    """The rows of a leaf in a queue per value, and the values by how many rows they have left.

    ``places`` holds the rows, queue after queue. By value of the leaf: ``heads`` and ``ends`` of
    its queue, ``latest`` group that took from it and how many it has ``taken``. By number of rows
    left: the ``first`` of the values that had as many when they were last looked at, and the one
    ``after`` each. By code: its ``value`` of the leaf. ``heap`` holds the rows at heads,
    nearest first, and rows that were heads once; ``aside`` the values that the group has enough of.
    """

    places: Codes
    heads: Codes
    ends: Codes
    latest: Codes
    taken: Codes
    after: Codes
    first: Codes
    value: Codes
    heap: Codes
    aside: Codes


def new_queues(largest_leaf: int, n_codes: int) -> Queues:
    """Working space for leaves of up to so many rows."""
    places, heads, ends, latest, taken, after, first, heap, aside = (
        np.zeros(largest_leaf + 1, np.int32) for _ in range(9)
    )
    value = np.full(n_codes, _NONE)
    return Queues(places, heads, ends, latest, taken, after, first, value, heap, aside)


@kernel
def take_groups(
    codes: Codes, leaves: Counts, l: int, size: int, queues: Queues
) -> tuple[Codes, Flags]:
    """The group of every row, leaf after leaf, and of every group whether its leaf starts there.

    ``codes`` are the sensitive values of rows in their order, ``leaves`` where each leaf starts.
    """
    groups = np.empty(codes.size, np.int32)
    first = np.zeros(codes.size // size, np.bool_)
    group = 0
    for leaf in range(leaves.size - 1):
        low, high = leaves[leaf], leaves[leaf + 1]
        rest = high - low
        first[group] = True
        if rest >= 2 * size:
            n_values = _line_up(codes, low, high, l, queues)
            n_heap = 0
            for value in range(n_values):
                n_heap = _push(queues.heap, n_heap, queues.places[queues.heads[value]])
            while rest >= 2 * size:
                took, n_heap = _take_group(codes, rest, l, size, group, n_heap, queues, groups)
                rest -= took
                group += 1
            for value in range(n_values):
                for at in range(queues.heads[value], queues.ends[value]):
                    groups[queues.places[at]] = group
            for i in range(low, high):
                queues.value[codes[i]] = _NONE
        else:
            for i in range(low, high):
                groups[i] = group
        group += 1
    return groups, first[:group]


@inner
def _line_up(codes: Codes, low: Whole, high: Whole, l: int, queues: Queues) -> int:
    """Queue the rows of a leaf; how many values it has."""
    n_values = 0
    for i in range(low, high):
        code = codes[i]
        if queues.value[code] < 0:
            queues.value[code] = n_values
            queues.ends[n_values] = 0
            n_values += 1
        queues.ends[queues.value[code]] += 1
    start = 0
    for value in range(n_values):
        length = queues.ends[value]
        queues.heads[value] = start
        queues.ends[value] = start
        queues.latest[value] = _NONE
        start += length
    for i in range(low, high):
        value = queues.value[codes[i]]
        queues.places[queues.ends[value]] = i
        queues.ends[value] += 1
    for count in range((high - low) // l + 1):
        queues.first[count] = _NONE
    for value in range(n_values):
        _enlist(value, queues)
    return n_values


@inner
def _take_group(
    codes: Codes,
    rest: Whole,
    l: int,
    size: int,
    group: int,
    n_heap: int,
    queues: Queues,
    groups: Codes,
) -> tuple[Whole, int]:
    """Make one group of a leaf with so many rows left: how many it took, and the heap's size."""
    cap = size // l
    keep = (rest - size) // l  # the most rows that a value may have behind this group
    took: Whole = np.int64(0)
    for count in range(keep + 1, keep + cap + 1):
        value = queues.first[count]
        while value != _NONE:
            after = queues.after[value]
            surplus = queues.ends[value] - queues.heads[value] - keep
            if surplus > 0:
                _take(value, surplus, group, queues, groups)
                took += surplus
                n_heap = _push(queues.heap, n_heap, queues.places[queues.heads[value]])
            _enlist(value, queues)
            value = after
    n_aside = 0
    while took < size:
        place = queues.heap[0]
        value = queues.value[codes[place]]
        goes_on = False
        if queues.places[queues.heads[value]] == place:  # else it was taken before its turn
            full = queues.latest[value] == group and queues.taken[value] == cap
            if not full:
                _take(value, 1, group, queues, groups)
                took += 1
                full = queues.taken[value] == cap
            goes_on = queues.heads[value] < queues.ends[value]
            if goes_on and full:
                queues.aside[n_aside] = value
                n_aside += 1
                goes_on = False
        if goes_on:
            _sift(queues.heap, n_heap, queues.places[queues.heads[value]])
        else:
            n_heap -= 1
            _sift(queues.heap, n_heap, queues.heap[n_heap])
    for at in range(n_aside):
        head = queues.heads[queues.aside[at]]
        n_heap = _push(queues.heap, n_heap, queues.places[head])
    return took, n_heap


@inner
def _take(value: Whole, n: Whole, group: int, queues: Queues, groups: Codes) -> None:
    """Give the next rows of a value to a group."""
    if queues.latest[value] != group:
        queues.latest[value] = group
        queues.taken[value] = 0
    queues.taken[value] += n
    for _ in range(n):
        groups[queues.places[queues.heads[value]]] = group
        queues.heads[value] += 1


@inner
def _enlist(value: Whole, queues: Queues) -> None:
    """Put a value first among those that have as many rows left."""
    count = queues.ends[value] - queues.heads[value]
    queues.after[value] = queues.first[count]
    queues.first[count] = value


@inner
def _push(heap: Codes, n: int, place: Whole) -> int:
    """Add a place to a heap of n; how many it has then."""
    at = n
    while at > 0 and heap[(at - 1) // 2] > place:
        heap[at] = heap[(at - 1) // 2]
        at = (at - 1) // 2
    heap[at] = place
    return n + 1


@inner
def _sift(heap: Codes, n: int, place: Whole) -> None:
    """Replace the first place of a heap of n."""
    at = 0
    while True:
        child = 2 * at + 1
        if child >= n:
            break
        if child + 1 < n and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= place:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = place
