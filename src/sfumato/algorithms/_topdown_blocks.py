"""The groups of TopDown once more, side by side in blocks: the last steps of a search.

On many evenly filled dimensions boxes bound badly, and a search has to look at most groups. Near
the leaves of the tree it therefore stops descending: the groups of a subtree of at most SLOTS of
them are a *block*, in which each number of all boxes stands in a row. The costs of merging with all
of them are computed at once, some instructions for each instead of a way through memory.

The compiler makes vector instructions of small functions over rows of a fixed length. They take
arrays, not tuples of arrays: to pass one on costs as much as they take.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.algorithms._topdown_space import Sides, ones
from sfumato.core.arrays import Codes, Counts, Floats, Whole, Words
from sfumato.core.compiled import inner, kernel

SLOTS = 32


class Blocks(NamedTuple):
    """By node ``block`` (-1 above all blocks) and, of leaves, ``slot``; by block its ``root``.

    By block and slot: the group (``leaves``) with its ``loads``, infinite where there is none,
    ``spares`` and ``penalties``, and by axis or word its box. ``costs`` and ``values`` are room for
    the groups of one block.
    """

    block: Codes
    slot: Codes
    root: Codes
    leaves: Codes
    loads: Floats
    spares: Counts
    penalties: Floats
    lows: Floats
    highs: Floats
    bits: Words
    costs: Floats
    values: Counts


def new_blocks(parents: Codes, children: Codes, n_axes: int, n_words: int) -> Blocks:
    """The blocks of a tree, without groups in them."""
    block, slot = np.full(len(parents), -1, np.int32), np.full(len(parents), -1, np.int32)
    n = number_blocks(parents, children, block, slot)
    return Blocks(
        block=block,
        slot=slot,
        root=np.flatnonzero((block >= 0) & (block[parents] != block)).astype(np.int32)
        if n > 1
        else np.zeros(1, np.int32),
        leaves=np.full((n, SLOTS), -1, np.int32),
        loads=np.full((n, SLOTS), np.inf),
        spares=np.zeros((n, SLOTS), np.int64),
        penalties=np.full((n, SLOTS), -1.0),
        lows=np.full((n, n_axes, SLOTS), np.inf),
        highs=np.full((n, n_axes, SLOTS), -np.inf),
        bits=np.zeros((n, n_words, SLOTS), np.uint64),
        costs=np.zeros(SLOTS),
        values=np.zeros(SLOTS, np.int64),
    )


@kernel
def number_blocks(parents: Codes, children: Codes, block: Codes, slot: Codes) -> int:
    """Fill the block of every node, in the order of their roots; tells how many there are."""
    below = np.zeros(parents.size, np.int32)  # leaves
    for node in range(parents.size - 1, -1, -1):  # children before parents
        below[node] = 1
        if children[node, 0] >= 0:
            below[node] = below[children[node, 0]] + below[children[node, 1]]
    n_blocks = 0
    filled = np.zeros(parents.size, np.int32)
    for node in range(parents.size):
        above = parents[node]
        if above >= 0 and block[above] >= 0:
            block[node] = block[above]
        elif below[node] <= SLOTS:
            block[node] = n_blocks
            n_blocks += 1
        if children[node, 0] < 0:
            slot[node] = filled[block[node]]
            filled[block[node]] += 1
    return n_blocks


@inner
def write_slot(blocks: Blocks, sides: Sides, group: Whole, load: float, spare: Whole) -> None:
    """Say what a group is now, or with an infinite load that it is gone."""
    b, at = blocks.block[group], blocks.slot[group]
    blocks.leaves[b, at] = group
    blocks.loads[b, at] = load
    blocks.spares[b, at] = spare
    blocks.penalties[b, at] = sides.penalties[group] if load < np.inf else -1.0
    for j in range(sides.lows.shape[1]):
        blocks.lows[b, j, at] = sides.lows[group, j]
        blocks.highs[b, j, at] = sides.highs[group, j]
    for w in range(sides.bits.shape[1]):
        blocks.bits[b, w, at] = sides.bits[group, w]


@inner
def lay_axis(
    costs: Floats, lows: Floats, highs: Floats, b: Whole, j: int, low: float, high: float
) -> None:
    """Add the widths along an axis."""
    for i in range(SLOTS):
        costs[i] += min(1.0, max(high, highs[b, j, i]) - min(low, lows[b, j, i]))


@inner
def lay_word(costs: Floats, bits: Words, b: Whole, w: Whole, word: np.uint64, share: float) -> None:
    """Add the shares of a set of one word."""
    for i in range(SLOTS):
        costs[i] += (ones(word | bits[b, w, i]) - 1) * share


@inner
def lay_values(values: Counts, bits: Words, b: Whole, w: Whole, word: np.uint64) -> None:
    """Add the values in one word of a larger set."""
    for i in range(SLOTS):
        values[i] += ones(word | bits[b, w, i])


@inner
def lay_costs(
    costs: Floats,
    loads: Floats,
    penalties: Floats,
    spares: Counts,
    b: Whole,
    load: float,
    penalty: float,
    spare: Whole,
) -> None:
    """Turn penalties of unions into costs of merging, infinite where too little can be spared."""
    for i in range(SLOTS):
        cost = load * (costs[i] - penalty) + loads[b, i] * (costs[i] - penalties[b, i])
        costs[i] = cost if spares[b, i] >= spare else np.inf


@inner
def any_below(costs: Floats, limit: float) -> bool:
    """Whether any cost is below a limit."""
    found = 0
    for i in range(SLOTS):
        found += 1 if costs[i] < limit else 0
    return found > 0
