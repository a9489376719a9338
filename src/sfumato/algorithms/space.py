"""The space TopDown works in: points, boxes, and what a box costs.

Ordered attributes are axes with coordinates from 0 to 1 (a missing value lies at 2), unordered ones
sets of bits. A box spans a range of each axis and has some bits of each set; its penalty is the sum
over attributes of what Boxes.penalties says: the width, at most 1 (a value that may also be missing
counts as unknown), and (values - 1) / (domain - 1). That is half the box's normalized perimeter.

The penalty of a union grows the less the more is in it already, which is what the bounds of
search.py rests on. In a set of more than BITS values several share a bit and count as one
while groups are merged; the two-seed splits count them exactly.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.algorithms.points import Points
from sfumato.core.arrays import Codes, Counts, Floats, Whole, Words
from sfumato.core.compiled import inner
from sfumato.core.microdata import Microdata

BITS = 256


class PointArrays(NamedTuple):
    """The points in random order: coordinates on the axes, codes in the sets, weights.

    ``member`` remembers where each came from; by that number ``starts``, ``values`` and ``counts``
    are its sensitive values (see points.Points).
    """

    places: Floats
    codes: Codes
    weights: Counts
    member: Codes
    starts: Counts
    values: Codes
    counts: Counts


class Sets(NamedTuple):
    """Per unordered attribute: first code and first word, number of bits, penalty of a value."""

    offsets: Counts
    words: Counts
    bits: Counts
    shares: Floats


class Sides(NamedTuple):
    """Boxes, one per line: ends on the axes, bits of the sets, and the penalty of it all."""

    lows: Floats
    highs: Floats
    bits: Words
    penalties: Floats


def sets_of(table: Microdata) -> Sets:
    """The unordered quasi-identifiers, end to end."""
    sizes = np.array([one.size for one in table.quasi if not one.ordered], np.int64)
    bits = np.minimum(sizes, BITS)
    words = (bits + 63) // 64
    return Sets(
        offsets=np.append(0, np.cumsum(sizes)),
        words=np.append(0, np.cumsum(words)),
        bits=bits,
        shares=1 / np.maximum(1, sizes - 1),
    )


def point_arrays(table: Microdata, points: Points, order: Codes) -> PointArrays:
    """The points in the given order."""
    codes = points.codes[order]
    axes = [
        attribute.coordinates[codes[:, j]]
        for j, attribute in enumerate(table.quasi)
        if attribute.ordered
    ]
    sets = [j for j, attribute in enumerate(table.quasi) if not attribute.ordered]
    places = np.stack(axes, axis=1) if axes else np.zeros((len(order), 0))
    return PointArrays(
        places=np.ascontiguousarray(places),
        codes=np.ascontiguousarray(codes[:, sets]),
        weights=points.weights[order],
        member=order,
        starts=points.starts,
        values=points.values,
        counts=points.counts,
    )


def new_sides(n: int, n_axes: int, n_words: int) -> Sides:
    """Room for so many boxes."""
    return Sides(
        lows=np.full((n, n_axes), np.inf),
        highs=np.full((n, n_axes), -np.inf),
        bits=np.zeros((n, n_words), np.uint64),
        penalties=np.zeros(n),
    )


@inner
def clear_box(sides: Sides, at: Whole) -> None:
    """Make a box empty."""
    for j in range(sides.lows.shape[1]):
        sides.lows[at, j] = np.inf
        sides.highs[at, j] = -np.inf
    for w in range(sides.bits.shape[1]):
        sides.bits[at, w] = np.uint64(0)
    sides.penalties[at] = 0.0


@inner
def add_point(sides: Sides, at: Whole, arrays: PointArrays, sets: Sets, i: Whole) -> None:
    """Widen a box to hold a point; the penalty is left as it was."""
    for j in range(sides.lows.shape[1]):
        place = arrays.places[i, j]
        sides.lows[at, j] = min(sides.lows[at, j], place)
        sides.highs[at, j] = max(sides.highs[at, j], place)
    for s in range(sets.bits.size):
        bit = arrays.codes[i, s] % sets.bits[s]
        sides.bits[at, sets.words[s] + (bit >> 6)] |= np.uint64(1) << np.uint64(bit & 63)


@inner
def join_boxes(sides: Sides, at: Whole, one: Whole, other: Whole) -> None:
    """Make a box the union of two, either of which it may be itself; the penalty is left."""
    for j in range(sides.lows.shape[1]):
        sides.lows[at, j] = min(sides.lows[one, j], sides.lows[other, j])
        sides.highs[at, j] = max(sides.highs[one, j], sides.highs[other, j])
    for w in range(sides.bits.shape[1]):
        sides.bits[at, w] = sides.bits[one, w] | sides.bits[other, w]


@inner
def penalty_of(sides: Sides, at: Whole, sets: Sets) -> float:
    """What a box that is not empty costs each row in it."""
    penalty = 0.0
    for j in range(sides.lows.shape[1]):
        penalty += min(1.0, sides.highs[at, j] - sides.lows[at, j])
    for s in range(sets.bits.size):
        values = 0
        for w in range(sets.words[s], sets.words[s + 1]):
            values += ones(sides.bits[at, w])
        penalty += (values - 1) * sets.shares[s]
    return penalty


@inner
def ones(word: np.uint64) -> int:
    """How many bits of a word are set, in pairs, nibbles, bytes."""
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    pairs = np.uint64(0x3333333333333333)
    word = (word & pairs) + ((word >> np.uint64(2)) & pairs)
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int((word * np.uint64(0x0101010101010101)) >> np.uint64(56))
