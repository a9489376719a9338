"""Compiled loops of the breach audit: which boxes cover a person, and what they tell together.

Which boxes cover a value of one column is a set of bits, one per box; the boxes that cover a person
are the bits that the sets of all columns share. Boxes that lie near each other share a word of 64
bits, and a summary with one bit per word lets most words be passed over.
"""

from __future__ import annotations

import numpy as np

from sfumato.core.arrays import Codes, Counts, Flags, Floats, Words
from sfumato.core.compiled import kernel

_ONE = np.uint64(1)
_NONE = np.uint64(0)


@kernel
def mark_ranges(
    codes: Codes, low: Codes, high: Codes, missing: Flags, order: Codes, bits: Words
) -> None:
    """Mark for each of the ascending ``codes`` the ranges that cover it; code 0 is missing."""
    for place in range(order.size):
        box = order[place]
        word, bit = place >> 6, _ONE << np.uint64(place & 63)
        if missing[box] and codes[0] == 0:
            bits[0, word] |= bit
        if high[box] <= 0:
            continue
        k = np.searchsorted(codes, low[box])
        while k < codes.size and codes[k] <= high[box]:
            bits[k, word] |= bit
            k += 1


@kernel
def mark_sets(codes: Codes, starts: Counts, items: Codes, order: Codes, bits: Words) -> None:
    """Mark for each of the ascending ``codes`` the sets that hold it."""
    for place in range(order.size):
        box = order[place]
        word, bit = place >> 6, _ONE << np.uint64(place & 63)
        for i in range(starts[box], starts[box + 1]):
            k = np.searchsorted(codes, items[i])
            if k < codes.size and codes[k] == items[i]:
                bits[k, word] |= bit


@kernel
def covering(places: Counts, bits: Words, summary: Words, order: Codes, hits: Codes) -> Counts:
    """How many boxes cover each point; the boxes themselves go into ``hits`` as far as it reaches.

    ``places[p]`` are the rows of ``bits`` for the values of point p, one per column.
    """
    found = np.zeros(places.shape[0], np.int64)
    at = 0
    for p in range(places.shape[0]):
        before = at
        for s in range(summary.shape[1]):
            words = summary[places[p, 0], s]
            for j in range(1, places.shape[1]):
                words &= summary[places[p, j], s]
            w = 64 * s
            while words != _NONE:
                if words & _ONE:
                    shared = bits[places[p, 0], w]
                    for j in range(1, places.shape[1]):
                        shared &= bits[places[p, j], w]
                    place = 64 * w
                    while shared != _NONE:
                        if shared & _ONE:
                            if at < hits.size:
                                hits[at] = order[place]
                            at += 1
                        shared >>= _ONE
                        place += 1
                words >>= _ONE
                w += 1
        found[p] = at - before
    return found


@kernel
def name_values(
    starts: Counts,
    cells: Codes,
    cell_starts: Counts,
    entry_groups: Codes,
    entry_rows: Counts,
    group_starts: Counts,
    values: Codes,
    shares: Floats,
    n_values: int,
    asked_starts: Counts,
    asked: Codes,
    real: Codes,
    out: Floats,
) -> None:
    """For every asking row the probability of its real value, in the mixture over what matches.

    Vector v matches ``cells[starts[v]:starts[v + 1]]``, and the rows ``asked`` of it ask for the
    value ``real`` (-1: a value that nobody has). ``out`` is left alone where nothing matches.
    """
    mass = np.zeros(n_values, np.float64)
    stamp = np.full(n_values, -1, np.int64)
    for v in range(starts.size - 1):
        total = 0
        for c in cells[starts[v] : starts[v + 1]]:
            for e in range(cell_starts[c], cell_starts[c + 1]):
                g = entry_groups[e]
                total += entry_rows[e]
                for i in range(group_starts[g], group_starts[g + 1]):
                    value = values[i]
                    if stamp[value] != v:
                        stamp[value] = v
                        mass[value] = 0.0
                    mass[value] += entry_rows[e] * shares[i]
        if total == 0:
            continue
        for i in range(asked_starts[v], asked_starts[v + 1]):
            value = real[asked[i]]
            known = value >= 0 and stamp[value] == v
            out[asked[i]] = mass[value] / total if known else 0.0
