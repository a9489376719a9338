"""The compiled loops of the streamed Anatomize; stream.py says what they do."""

from __future__ import annotations

import numpy as np

from sfumato.algorithms.anatomize.kernel import _below
from sfumato.core.arrays import Codes, Counts, Words
from sfumato.core.compiled import inner, kernel


@kernel
def next_groups(
    sizes: Counts,
    order: Counts,
    last: Counts,
    state: Words,
    residue: Counts,
    wait: Counts,
    joined: Counts,
    first_group: int,
    l: int,
    values: Codes,
) -> int:
    """Lines 3 to 8 of Figure 3 for as many groups as ``values`` has room for; how many there are.

    ``values`` gets the l values of each group, group after group; they are all that is kept of a
    group, so memory does not grow with the rows. ``sizes``, ``order`` (bins by size, largest
    first), ``last`` (the latest group with each value) and ``state`` carry over to the next call.
    Value ``residue[i]`` joins the group that lacks it after ``wait[i]`` others that lack it; its
    number is put into ``joined[i]``.

    After the l largest bins have lost a row each, only bins that tied with the l-th can be out of
    order. The tie's ends are found by bisection, so a group costs O(l + log values).
    """
    made = 0
    while made < values.size // l and sizes[order[l - 1]] > 0:
        group = first_group + made
        tied = sizes[order[l - 1]]
        first = _first_at_most(sizes, order, tied)
        end = _first_at_most(sizes, order, tied - 1)
        # choose l - first of the ties at random, and bring them to the end of the tie
        for drawn in range(l - first):
            place = end - 1 - drawn
            pick = first + _below(state, place - first + 1)
            order[pick], order[place] = order[place], order[pick]
        for at in range(l):
            value = order[at] if at < first else order[end - l + at]
            values[made * l + at] = value
            sizes[value] -= 1
            last[value] = group
        for i in range(residue.size):
            if last[residue[i]] != group:
                if wait[i] == 0:
                    joined[i] = group
                wait[i] -= 1
        made += 1
    return made


@kernel
def tally(values: Codes, l: int, blocks: Codes, trees: Counts) -> None:
    """Count, at the leaf of every value's tree, the groups of each block that have the value."""
    leaf = trees.shape[1] // 2
    for i in range(values.size):
        trees[values[i], leaf + blocks[i // l]] += 1


@kernel
def spread(codes: Codes, words: Words, trees: Counts) -> Codes:
    """A block for every row: one of the places that its value has left, all equally likely.

    A value's tree holds its places: node 1 counts them all, nodes 2i and 2i + 1 those in either
    half of node i, the leaves those of each block. Drawing places one by one without putting them
    back is a uniformly random assignment of rows to places, whatever order the rows come in.
    """
    leaf = trees.shape[1] // 2
    blocks = np.empty(codes.size, np.int32)
    for i in range(codes.size):
        tree = trees[codes[i]]
        # a word of 64 bits: the remainder prefers no place by more than a factor of 1 + n / 2**64
        place = np.int64(words[i] % np.uint64(tree[1]))
        tree[1] -= 1
        node = 1
        while node < leaf:
            node *= 2
            if place >= tree[node]:
                place -= tree[node]
                node += 1
            tree[node] -= 1
        blocks[i] = node - leaf
    return blocks


@inner
def _first_at_most(sizes: Counts, order: Counts, size: int) -> int:
    """The first place in the order whose bin has at most so many rows."""
    low, high = 0, order.size
    while low < high:
        middle = (low + high) // 2
        if sizes[order[middle]] <= size:
            high = middle
        else:
            low = middle + 1
    return low
