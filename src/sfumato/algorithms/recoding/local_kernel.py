"""The compiled step of local recoding: settle the groups that one level vector makes.

Rows that are alike on the chosen levels have equal sums of random words, one word per class of each
attribute and level. Two different rows with equal sums would come into one group: harmless, for a
group is judged by what it holds, and it is as unlikely as 2**-64. Sums make it cheap to go from one
level vector to the next: only attributes whose level changes are looked at.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.algorithms.goal import Goal
from sfumato.core.arrays import Codes, Counts, Words
from sfumato.core.compiled import kernel
from sfumato.models._rules import passes_rules


class Field(NamedTuple):
    """The points (see points.Points), and the words of every attribute, level and code.

    Codes stand attribute after attribute, as one attribute is read at a time.
    """

    codes: Codes
    weights: Counts
    starts: Counts
    values: Codes
    counts: Counts
    words: Words
    offsets: Counts  # where the words of an attribute's level begin, by attribute and level


class Bench(NamedTuple):
    """Working space, by slot of the hash table, by class, by point, by sensitive value."""

    keys: Words
    stamps: Counts
    class_of_slot: Codes
    sizes: Counts
    heads: Codes
    numbers: Codes
    following: Codes
    class_of: Codes
    sums: Words
    histogram: Counts
    scratch: Counts


def new_bench(n_points: int, n_values: int) -> Bench:
    """Room for so many points and sensitive values."""
    slots = 1 << max(4, (2 * n_points - 1).bit_length())
    return Bench(
        keys=np.zeros(slots, np.uint64),
        stamps=np.zeros(slots, np.int64),
        class_of_slot=np.zeros(slots, np.int32),
        sizes=np.zeros(n_points, np.int64),
        heads=np.zeros(n_points, np.int32),
        numbers=np.zeros(n_points, np.int32),
        following=np.zeros(n_points, np.int32),
        class_of=np.zeros(n_points, np.int32),
        sums=np.zeros(n_points, np.uint64),
        histogram=np.zeros(n_values, np.int64),
        scratch=np.zeros(n_values + 1, np.int64),
    )


@kernel
def add_words(field: Field, sums: Words, levels: Counts) -> None:
    """Add up the words of all points on these levels; the sums were 0."""
    for j in range(levels.size):
        words = field.words[field.offsets[j, levels[j]] :]
        for p in range(sums.size):
            sums[p] += words[field.codes[j, p]]


@kernel
def change_levels(
    field: Field, sums: Words, alive: Codes, n_alive: int, before: Counts, levels: Counts
) -> None:
    """Bring the sums of the points without a group from one level vector to another."""
    for j in range(levels.size):
        if before[j] == levels[j]:
            continue
        old = field.words[field.offsets[j, before[j]] :]
        new = field.words[field.offsets[j, levels[j]] :]
        for i in range(n_alive):
            p = alive[i]
            code = field.codes[j, p]
            sums[p] += new[code] - old[code]


@kernel
def settle(
    field: Field,
    goal: Goal,
    bench: Bench,
    alive: Codes,
    n_alive: int,
    groups: Codes,
    n_groups: int,
    visit: int,
) -> tuple[int, int]:
    """Give group numbers to all points in classes that pass; tells how many are left, and groups.

    ``alive[:n_alive]`` are the points without a group, and again so afterwards; ``bench.sums`` are
    theirs on the levels in question. ``visit`` differs from call to call, so that the hash table
    need not be emptied.
    """
    mask = np.uint64(16)
    while mask < np.uint64(2 * n_alive):
        mask *= np.uint64(2)
    mask -= np.uint64(1)
    n_classes = 0
    for i in range(n_alive):
        p = alive[i]
        key = bench.sums[p]
        slot = (key ^ (key >> np.uint64(29))) & mask
        while bench.stamps[slot] == visit and bench.keys[slot] != key:
            slot = (slot + np.uint64(1)) & mask
        if bench.stamps[slot] != visit:
            bench.stamps[slot] = visit
            bench.keys[slot] = key
            bench.class_of_slot[slot] = n_classes
            bench.sizes[n_classes] = 0
            bench.heads[n_classes] = -1
            n_classes += 1
        c = bench.class_of_slot[slot]
        bench.class_of[i] = c
        bench.sizes[c] += field.weights[p]
        bench.following[i] = bench.heads[c]
        bench.heads[c] = i
    for c in range(n_classes):
        bench.numbers[c] = -1
        if bench.sizes[c] < goal.least:
            continue
        passes = True
        if goal.sensitive:
            bench.histogram[:] = 0
            i = bench.heads[c]
            while i >= 0:
                p = alive[i]
                for v in range(field.starts[p], field.starts[p + 1]):
                    bench.histogram[field.values[v]] += field.counts[v]
                i = bench.following[i]
            passes = passes_rules(
                goal.rules, bench.histogram, bench.sizes[c], goal.whole, bench.scratch
            )
        if passes:
            bench.numbers[c] = n_groups
            n_groups += 1
    left = 0
    for i in range(n_alive):
        number = bench.numbers[bench.class_of[i]]
        if number >= 0:
            groups[alive[i]] = number
        else:
            alive[left] = alive[i]
            left += 1
    return left, n_groups
