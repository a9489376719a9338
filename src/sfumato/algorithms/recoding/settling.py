"""Settling: rows without a group that are alike on given levels get one if they satisfy the model.

Once compiled, over different vectors with weights, and once in NumPy for models of a user's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from sfumato.algorithms.goal import Goal, goal_of
from sfumato.algorithms.ladders import Ladder
from sfumato.algorithms.points import Points
from sfumato.algorithms.recoding.local_kernel import (
    Bench,
    Field,
    add_words,
    change_levels,
    new_bench,
    settle,
)
from sfumato.core.arrays import Codes, Counts, Words
from sfumato.core.compiled import announce
from sfumato.core.partition import Partition
from sfumato.core.randomness import Randomness
from sfumato.models.bound import Bound, CompiledRules


class Search(Protocol):
    """Rows, some of which have a group."""

    @property
    def rows(self) -> int:
        """How many rows there are."""
        ...

    @property
    def left(self) -> int:
        """How many of them have no group."""
        ...

    def settle(self, levels: Counts) -> int:
        """Make groups on these levels, one per attribute; tells how many rows were settled."""
        ...

    def groups(self) -> Codes:
        """The group of every row, -1 for none; later groups have larger numbers."""
        ...


def compiled_search(
    bound: Bound, rules: CompiledRules, ladders: Sequence[Ladder], randomness: Randomness
) -> Search:
    """A search under built-in models."""
    points = Points.distinct(bound.table, rules.offsets, bound.weights)
    words, offsets = _words(ladders, randomness)
    codes = np.ascontiguousarray(points.codes.T)
    space = Field(
        codes, points.weights, points.starts, points.values, points.counts, words, offsets
    )
    bench = new_bench(len(points.weights), len(rules.whole_counts))
    return _Compiled(space, goal_of(rules, bound.n_rows), bench, points.point_of_row)


def plain_search(bound: Bound, ladders: Sequence[Ladder], randomness: Randomness) -> Search:
    """A search under any models."""
    return _Plain(bound, *_words(ladders, randomness))


def compile_first() -> None:
    """Settle one row, so that the compiler's time is nobody's search time."""
    announce(settle)
    nothing, one = np.zeros(0, np.int32), np.ones(1, np.int64)
    space = Field(
        codes=np.zeros((1, 1), np.int32),
        weights=one,
        starts=np.zeros(2, np.int64),
        values=nothing,
        counts=nothing.astype(np.int64),
        words=np.zeros(1, np.uint64),
        offsets=np.zeros((1, 1), np.int64),
    )
    goal = Goal(np.zeros((0, 5)), np.zeros(0), 1, sensitive=False)
    _Compiled(space, goal, new_bench(1, 0), np.zeros(1, np.int32)).settle(np.zeros(1, np.int64))


@dataclass(slots=True, eq=False)
class _Compiled:
    space: Field
    goal: Goal
    bench: Bench
    point_of_row: Codes
    alive: Codes = field(init=False)
    n_alive: int = field(init=False)
    found: Codes = field(init=False)
    levels: Counts = field(init=False)  # to which the sums of words belong
    n_groups: int = 0
    visits: int = 0

    def __post_init__(self) -> None:
        self.n_alive = len(self.space.weights)
        self.alive = np.arange(self.n_alive, dtype=np.int32)
        self.found = np.full(self.n_alive, -1, np.int32)
        self.levels = np.zeros(len(self.space.codes), np.int64)
        add_words(self.space, self.bench.sums, self.levels)

    @property
    def rows(self) -> int:
        return int(self.space.weights.sum())

    @property
    def left(self) -> int:
        return int(self.space.weights[self.alive[: self.n_alive]].sum())

    def settle(self, levels: Counts) -> int:
        before = self.left
        self.visits += 1
        change_levels(self.space, self.bench.sums, self.alive, self.n_alive, self.levels, levels)
        self.levels = levels.copy()
        self.n_alive, self.n_groups = settle(
            self.space, self.goal, self.bench, self.alive, self.n_alive,
            self.found, self.n_groups, self.visits,
        )  # fmt: skip
        return before - self.left

    def groups(self) -> Codes:
        of_row: Codes = self.found[self.point_of_row]
        return of_row


@dataclass(slots=True, eq=False)
class _Plain:
    bound: Bound
    words: Words
    offsets: Counts
    found: Codes = field(init=False)
    codes: Codes = field(init=False)
    sums: Words = field(init=False)
    levels: Counts = field(init=False)

    def __post_init__(self) -> None:
        self.codes = np.ascontiguousarray(self.bound.table.quasi_codes().T)
        self.found = np.full(self.bound.table.n_rows, -1, np.int32)
        self.levels = np.zeros(len(self.codes), np.int64)
        self.sums = np.zeros(self.bound.table.n_rows, np.uint64)
        for j, codes in enumerate(self.codes):
            self.sums += self.words[self.offsets[j, 0] + codes]

    @property
    def rows(self) -> int:
        return len(self.found)

    @property
    def left(self) -> int:
        return int((self.found < 0).sum())

    def settle(self, levels: Counts) -> int:
        rows = np.flatnonzero(self.found < 0)
        if not len(rows):
            return 0
        for j in np.flatnonzero(levels != self.levels):
            old, new = self.offsets[j, self.levels[j]], self.offsets[j, levels[j]]
            codes = self.codes[j, rows]
            self.sums[rows] += self.words[new + codes] - self.words[old + codes]
        self.levels = levels.copy()
        _, first, classes = np.unique(self.sums[rows], return_index=True, return_inverse=True)
        alike = Partition.of(classes.astype(np.int32))
        passes = self.bound.passing(alike, rows)
        # classes in the order in which the rows show them, as the kernel numbers them
        chosen = np.flatnonzero(passes)
        chosen = chosen[np.argsort(first[chosen])]
        numbers = np.full(len(passes), -1, np.int32)
        numbers[chosen] = np.arange(len(chosen)) + self.found.max() + 1
        self.found[rows] = numbers[classes]
        return int(passes[classes].sum())

    def groups(self) -> Codes:
        return self.found


def _words(ladders: Sequence[Ladder], randomness: Randomness) -> tuple[Words, Counts]:
    """A random word per class of each attribute and level, spread out to codes."""
    height = max(one.height for one in ladders) + 1
    offsets = np.zeros((len(ladders), height), np.int64)
    spread: list[Words] = []
    filled = 0
    for j, one in enumerate(ladders):
        for level, classes in enumerate(one.classes):
            _, of_code = np.unique(classes, return_inverse=True)
            spread.append(randomness.words(len(classes))[of_code])
            offsets[j, level] = filled
            filled += len(classes)
    return np.concatenate(spread), offsets
