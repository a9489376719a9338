"""The compiled loops of Anatomize; __init__.py says what they do."""

from __future__ import annotations

import numpy as np

from sfumato.core.arrays import Codes, Counts, Whole, Words
from sfumato.core.compiled import inner, kernel

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


@kernel
def create_groups(
    sizes: Counts, order: Counts, starts: Counts, l: int, state: Words, slots: Codes
) -> int:
    """Lines 3 to 8 of Figure 3: fill the slots of every bin with the groups that take from it.

    ``sizes`` are the rows left in each bin, ``order`` the bins by size, largest first, ``starts``
    where a bin's slots start. A slot that no group fills keeps what it held: the residue. Returns
    the number of groups.

    After the l largest bins have lost a row each, only bins that tied with the l-th can be out of
    order; those not taken move before those taken, and the order holds again. How many bins have
    so many rows or more tells where a tie starts and ends, so a group costs l steps, and not a look
    at all the values that occur once.
    """
    taken = np.zeros(sizes.size, np.int64)
    reaching = _bins_reaching(sizes, order)
    n_groups = 0
    while sizes[order[l - 1]] > 0:
        tied = sizes[order[l - 1]]
        first, last = reaching[tied + 1], reaching[tied]
        # choose l - first of the ties at random, and bring them to the end of the tie
        for drawn in range(l - first):
            end = last - 1 - drawn
            pick = first + _below(state, end - first + 1)
            order[pick], order[end] = order[end], order[pick]
        for at in range(first):
            _take(order[at], n_groups, sizes, starts, taken, reaching, slots)
        for at in range(last - (l - first), last):
            _take(order[at], n_groups, sizes, starts, taken, reaching, slots)
        n_groups += 1
    return n_groups


@kernel
def deal(codes: Codes, starts: Counts, slots: Codes) -> Codes:
    """Give every row of a bin the next of the bin's slots: the group of every row."""
    place = starts.copy()
    groups = np.empty(codes.size, np.int32)
    for i in range(codes.size):
        code = codes[i]
        groups[i] = slots[place[code]]
        place[code] += 1
    return groups


@inner
def _bins_reaching(sizes: Counts, order: Counts) -> Counts:
    """How many bins have so many rows or more, from none to one more than any bin has."""
    reaching = np.zeros(sizes[order[0]] + 2, np.int64)
    for value in range(sizes.size):
        reaching[sizes[value]] += 1
    for rows in range(reaching.size - 1, 0, -1):
        reaching[rows - 1] += reaching[rows]
    return reaching


@inner
def _take(
    value: Whole,
    group: int,
    sizes: Counts,
    starts: Counts,
    taken: Counts,
    reaching: Counts,
    slots: Codes,
) -> None:
    slots[starts[value] + taken[value]] = group
    taken[value] += 1
    reaching[sizes[value]] -= 1
    sizes[value] -= 1


@inner
def _below(state: Words, bound: int) -> Whole:
    """A random number below a bound (splitmix64).

    It only breaks ties between values, which the published tables show anyway; which row a group
    gets is decided by secret words elsewhere.
    """
    state[0] += _GAMMA
    mixed = state[0]
    mixed = (mixed ^ (mixed >> np.uint64(30))) * _MIX_1
    mixed = (mixed ^ (mixed >> np.uint64(27))) * _MIX_2
    mixed ^= mixed >> np.uint64(31)
    return np.int64((mixed >> np.uint64(32)) * np.uint64(bound) >> np.uint64(32))
