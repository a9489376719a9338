"""The list of a newcomer who hides among counterfeits: m values, each as likely as any other.

Somebody who knows the frequencies of the values, how lists are made, and a newcomer's list, must
not know more than the list. Let a newcomer's value be x with probability p_x. What is wanted is a
law of lists S of m values under which

    P(value = x and list = S)  is the same for all x in S:

then the chance of each, given S, is exactly 1/m. Summed over the lists that have x, p_x is 1/m of
the chance that x is on the list, so x must be on a list with the chance pi_x = m p_x. Systematic
sampling with unequal probabilities (Madow 1949) has these chances:

    1. lay the values side by side in random order, x with the length pi_x; the whole is m long
    2. draw a point t in the stretch of the newcomer's own value
    3. the list has the values at the points t mod 1, t mod 1 + 1, ..., t mod 1 + m - 1

No stretch is longer than 1, so the m values differ. Whatever x is, the density of (x, t mod 1) is
p_x / pi_x = 1/m, and t mod 1 decides the list: that is the equation above.

pi_x <= 1 needs p_x <= 1/m, which holds in a table that is m-eligible. Where deletions have made a
value x more frequent, it is on every list, and the others are drawn as above for the rest: then x
itself has the chance p_x, which is public, and no list could lower it.

p_x are the frequencies of places in the database, counterfeits' included, which everybody can find
out; those of rows would tell in later lists who left, and who came. Half a place more for every
value of the public domain, so that a declared value that nobody has yet is on lists at times, and
the first who has it is not found by it. Lengths are whole numbers, in units of 1/(2n + |domain|):
nothing is rounded.

Simpler ways tell more. With counterfeits of the most frequent values, whoever has another value is
the odd one out; with counterfeits drawn with equal chances, the frequent values of a list are the
likelier ones.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.core.arrays import Codes, Counts
from sfumato.core.randomness import Randomness
from sfumato.statdb.layout.signatures import Signature


class _Line(NamedTuple):
    """Values to draw ``n`` from, and their weights; ``certain`` ones are on every list."""

    certain: Codes
    values: Codes
    weights: Counts
    n: int


def drawn_lists(
    frequencies: Counts, values: Codes, m: int, randomness: Randomness
) -> list[Signature]:
    """For every newcomer's value a list of m values that has it, ascending.

    ``frequencies`` count the places of the database by value; at least m values are in the domain.
    """
    line = _line_of(2 * frequencies.astype(np.int64) + 1, m)
    return [_drawn(line, value, randomness) for value in values.tolist()]


def _line_of(weights: Counts, m: int) -> _Line:
    """Take values with more than their share out, the largest first, until none is left."""
    values = np.argsort(-weights, kind="stable").astype(np.int32)
    first = 0
    while (m - first) * weights[values[first]] > weights[values[first:]].sum():
        first += 1  # ends: the last one of m has no more than the whole
    return _Line(values[:first], values[first:], weights[values[first:]], m - first)


def _drawn(line: _Line, value: int, randomness: Randomness) -> Signature:
    order = randomness.permutation(len(line.values))
    ends, whole = np.cumsum(line.n * line.weights[order]), int(line.weights.sum())
    begin, end = 0, whole
    own = np.flatnonzero(line.values[order] == value)
    if len(own):  # else it is on every list, and the others are drawn from anywhere
        end = int(ends[own[0]])
        begin = end - line.n * int(line.weights[order[own[0]]])
    point = (begin + int(randomness.words(1)[0]) % (end - begin)) % whole
    chosen = order[np.searchsorted(ends, point + whole * np.arange(line.n), "right")]
    return tuple(sorted([*line.certain.tolist(), *line.values[chosen].tolist()]))
