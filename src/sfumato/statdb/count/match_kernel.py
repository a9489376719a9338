"""Compiled loops that find the rows of conditions in the bitmaps of the index; see index.py.

A condition is a list of numbers: how many runs of codes it has and how many digits, then per run
two ends, "code <= last" and "code < first", and per end and digit, least significant first, the two
bitmaps of the step ``found = one | (two & found)``. search.py writes such lists.
"""

from __future__ import annotations

import numpy as np

from sfumato.core.arrays import Codes, Counts, Whole, Words
from sfumato.core.compiled import inner, kernel

EVERYBODY = 1
WORD = 64
BLOCK = 256  # words that are worked on together: they stay in the fastest cache


@kernel
def matching_places(bitmaps: Words, steps: Counts, more: Words) -> Words:
    """The places whose rows satisfy the conditions, as a bitmap."""
    hit = np.empty(bitmaps.shape[1], np.uint64)
    match(bitmaps, steps, more, 0, hit.size, hit)
    return hit


@kernel
def mark_codes(codes: Codes, marks: Counts, everybody: Words) -> Words:
    """A bitmap of the places whose code is marked, for conditions of very many runs."""
    found = np.zeros(everybody.size, np.uint64)
    for w in range(found.size):
        word = np.uint64(0)
        for i in range(WORD):
            word |= np.uint64(marks[codes[w * WORD + i]]) << np.uint64(i)
        found[w] = word & everybody[w]
    return found


@inner
def match(bitmaps: Words, steps: Counts, more: Words, begin: Whole, end: Whole, hit: Words) -> None:
    """The places from word ``begin`` to ``end`` whose rows satisfy all conditions."""
    match_in(bitmaps, steps, more, begin, end, hit, np.empty((3, BLOCK), np.uint64))


@inner
def match_in(
    bitmaps: Words,
    steps: Counts,
    more: Words,
    begin: Whole,
    end: Whole,
    hit: Words,
    scratch: Words,
) -> None:
    """The same, for many short stretches of words: with three blocks to work in."""
    some, high, low = scratch[0], scratch[1], scratch[2]
    for first in range(begin, end, BLOCK):
        last = min(first + BLOCK, end)
        n = last - first
        out = hit[first:last]
        out[:] = bitmaps[EVERYBODY, first:last]
        for m in range(more.shape[0]):
            keep(out, more[m, first:last])
        at = 0
        while at < steps.size:
            n_runs, n_digits = steps[at], steps[at + 1]
            at += 2
            if n_runs == 1 and n_digits == 1:
                one, other = bitmaps[steps[at], first:last], bitmaps[steps[at + 2], first:last]
                keep_between(out, one, other)
                at += 4
                continue
            if n_runs != 1:
                some[:] = np.uint64(0)
            for _ in range(n_runs):
                below(bitmaps, steps, at, n_digits, first, last, high)
                below(bitmaps, steps, at + 2 * n_digits, n_digits, first, last, low)
                at += 4 * n_digits
                if n_runs == 1:
                    keep_between(out, high[:n], low[:n])
                else:
                    add_between(some[:n], high[:n], low[:n])
            if n_runs != 1:
                keep(out, some[:n])


@inner
def below(
    bitmaps: Words, steps: Counts, at: Whole, n_digits: Whole, first: Whole, last: Whole, out: Words
) -> None:
    """One end of a run."""
    n = last - first
    out[:n] = bitmaps[steps[at], first:last]
    for k in range(1, n_digits):
        one, two = steps[at + 2 * k], steps[at + 2 * k + 1]
        step(out[:n], bitmaps[one, first:last], bitmaps[two, first:last])


@inner
def step(out: Words, one: Words, two: Words) -> None:
    """One step through a binary number: this bit is smaller, or equal and the rest is."""
    for i in range(out.size):
        out[i] = one[i] | (two[i] & out[i])


@inner
def keep(out: Words, other: Words) -> None:
    """Keep what is in both."""
    for i in range(out.size):
        out[i] &= other[i]


@inner
def keep_between(out: Words, high: Words, low: Words) -> None:
    """Keep what lies between two bounds."""
    for i in range(out.size):
        out[i] &= high[i] & ~low[i]


@inner
def add_between(out: Words, high: Words, low: Words) -> None:
    """Add what lies between two bounds."""
    for i in range(out.size):
        out[i] |= high[i] & ~low[i]
