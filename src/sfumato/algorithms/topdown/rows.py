"""The groups of TopDown as a wide tree over rows of boxes: what a search goes through.

Groups stand in the order in which the tree of splits has its leaves, so neighbours mostly lie close
to each other. WIDTH of them are a *row*; the boxes around the rows are rows again, level by level,
up to a single one. In a row each number of all its boxes lies side by side, so that all of them are
weighed at once, by vector instructions and with few ways to memory. On many evenly filled
dimensions, where boxes bound badly and a search sees most groups, that is what makes it fast.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.algorithms.space import Sets, Sides, ones
from sfumato.core.arrays import Codes, Counts, Floats, Whole, Words
from sfumato.core.compiled import inner, kernel

WIDTH = 64  # fewer bound more tightly, more are weighed faster; measured


class Rows(NamedTuple):
    """By node of the tree ``slot``, of leaves only; by slot of the lowest level its ``groups``.

    By row and slot: ``loads`` (the smallest below; infinite where nothing is), ``spares`` (the
    largest load below of a group with more than one point), ``penalties``, and by axis or word the
    box. ``first`` has the first row of every level, the groups' own being the lowest. The rest is
    room for what is computed about one row.
    """

    slot: Codes
    groups: Codes
    first: Counts
    loads: Floats
    spares: Counts
    penalties: Floats
    lows: Floats
    highs: Floats
    bits: Words
    costs: Floats
    nears: Floats
    values: Counts
    shared: Words


def new_rows(children: Codes, n_axes: int, n_words: int) -> Rows:
    """Rows for the leaves of a tree, without groups in them."""
    slot = np.full(len(children), -1, np.int32)
    n = number_leaves(children, slot)
    sizes = [-(-n // WIDTH)]
    while sizes[-1] > 1:
        sizes.append(-(-sizes[-1] // WIDTH))
    total = sum(sizes)
    return Rows(
        slot=slot,
        groups=np.full(sizes[0] * WIDTH, -1, np.int32),
        first=np.append(0, np.cumsum(sizes)),
        loads=np.full((total, WIDTH), np.inf),
        spares=np.zeros((total, WIDTH), np.int64),
        penalties=np.full((total, WIDTH), -1.0),
        lows=np.full((total, n_axes, WIDTH), np.inf),
        highs=np.full((total, n_axes, WIDTH), -np.inf),
        bits=np.zeros((total, n_words, WIDTH), np.uint64),
        costs=np.zeros(WIDTH),
        nears=np.zeros(WIDTH),
        values=np.zeros(WIDTH, np.int64),
        shared=np.zeros(WIDTH, np.uint64),
    )


@kernel
def number_leaves(children: Codes, slot: Codes) -> int:
    """Number the leaves of a tree from left to right; tells how many there are."""
    below = np.ones(slot.size, np.int32)
    for node in range(slot.size - 1, -1, -1):  # children before parents
        if children[node, 0] >= 0:
            below[node] = below[children[node, 0]] + below[children[node, 1]]
    start = np.zeros(slot.size, np.int32)
    for node in range(slot.size):
        one, other = children[node, 0], children[node, 1]
        if one < 0:
            slot[node] = start[node]
        else:
            start[one] = start[node]
            start[other] = start[node] + below[one]
    return int(below[0])


@inner
def write_slot(rows: Rows, sides: Sides, group: Whole, load: float, spare: Whole) -> None:
    """Say what a group is now, or with an infinite load that it is gone."""
    place = rows.slot[group]
    r, at = place // WIDTH, place % WIDTH
    rows.groups[place] = group
    rows.loads[r, at] = load
    rows.spares[r, at] = spare
    rows.penalties[r, at] = sides.penalties[group] if load < np.inf else -1.0
    for j in range(sides.lows.shape[1]):
        rows.lows[r, j, at] = sides.lows[group, j]
        rows.highs[r, j, at] = sides.highs[group, j]
    for w in range(sides.bits.shape[1]):
        rows.bits[r, w, at] = sides.bits[group, w]


@kernel
def draw_all(rows: Rows, sets: Sets) -> None:
    """Draw the boxes around all rows."""
    for level in range(rows.first.size - 2):
        for r in range(rows.first[level], rows.first[level + 1]):
            draw_row(rows, sets, level, r)


@inner
def draw_above(rows: Rows, sets: Sets, group: Whole) -> None:
    """Draw the boxes around a group's row and those above, while they change."""
    r: Whole = np.int64(rows.slot[group] // WIDTH)
    for level in range(rows.first.size - 2):
        if not draw_row(rows, sets, level, r):
            break
        r = rows.first[level + 1] + (r - rows.first[level]) // WIDTH


@inner
def draw_row(rows: Rows, sets: Sets, level: int, r: Whole) -> bool:
    """Draw the box around a row, which is not the highest; tells whether it changed."""
    place = r - rows.first[level]
    above, at = rows.first[level + 1] + place // WIDTH, place % WIDTH
    load, spare = np.inf, np.int64(0)
    for i in range(WIDTH):
        load = min(load, rows.loads[r, i])
        spare = max(spare, rows.spares[r, i])
    changed = load != rows.loads[above, at] or spare != rows.spares[above, at]
    rows.loads[above, at], rows.spares[above, at] = load, spare
    penalty = 0.0
    for j in range(rows.lows.shape[1]):
        low, high = np.inf, -np.inf
        for i in range(WIDTH):
            low, high = min(low, rows.lows[r, j, i]), max(high, rows.highs[r, j, i])
        changed |= low != rows.lows[above, j, at] or high != rows.highs[above, j, at]
        rows.lows[above, j, at], rows.highs[above, j, at] = low, high
        penalty += min(1.0, high - low)
    for s in range(sets.bits.size):
        values = 0
        for w in range(sets.words[s], sets.words[s + 1]):
            word = np.uint64(0)
            for i in range(WIDTH):
                word |= rows.bits[r, w, i]
            changed |= word != rows.bits[above, w, at]
            rows.bits[above, w, at] = word
            values += ones(word)
        penalty += (values - 1) * sets.shares[s]
    rows.penalties[above, at] = penalty if load < np.inf else -1.0
    return bool(changed)
