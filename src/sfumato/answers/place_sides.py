"""Sides that run over the places of a line: whole numbers, days, declared values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from sfumato.answers.sides import MAX_KEYS, Extents, Reading
from sfumato.core.arrays import Counts, Flags, Floats
from sfumato.errors import QueryRefused
from sfumato.queries.values import Values


class Line(Protocol):
    """A domain laid out on whole numbers."""

    def runs(self, wanted: Values) -> tuple[Counts, Counts]:
        """First and last place of each run of wanted values, sorted and apart."""
        ...

    def values(self, low: int, high: int) -> Sequence[Any]:
        """The values at some places in a row."""
        ...

    def total(self, low: Counts, high: Counts) -> Floats:
        """The sum of the numbers from one place to another, both included."""
        ...

    def numbers(self, places: Counts) -> Floats:
        """The numbers at some places."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class PlaceSides:
    """From place ``low`` to place ``high`` of a line; low > high where only missing is in."""

    name: str
    line: Line
    low: Counts
    high: Counts
    missing: Flags

    def read(self, wanted: Values) -> Reading:
        """By comparing ends: counting could overflow where values are far apart."""
        first, last = self._runs(wanted)
        known = self.low <= self.high
        covered, touched = _covered(first, last, self.low, self.high)
        also = self.missing & wanted.missing
        inside = np.where(
            known, _upto(first, last, self.high) - _upto(first, last, self.low - 1), 0
        )
        return Reading(
            (inside + also) / self.sizes(),
            (covered | ~known) & (~self.missing | also),
            (touched & known) | also,
        )

    def extents(self, wanted: Values) -> Extents:
        """The first and last wanted place inside, and the mean of all between."""
        first, last = self._runs(wanted)
        if not len(first):
            return _no_extents(len(self.low))
        low = np.maximum(
            first[np.minimum(np.searchsorted(last, self.low), len(first) - 1)], self.low
        )
        high = np.minimum(
            last[np.maximum(np.searchsorted(first, self.high, "right") - 1, 0)], self.high
        )
        found = _upto(first, last, self.high) - _upto(first, last, self.low - 1)
        total = self._total(first, last, self.high) - self._total(first, last, self.low - 1)
        return Extents(
            self.line.numbers(low), self.line.numbers(high), total / np.maximum(found, 1)
        )

    def _runs(self, wanted: Values) -> tuple[Counts, Counts]:
        """Runs of wanted places, cut to where sides are: far from zero sums would not be exact."""
        first, last = self.line.runs(wanted)
        low, high = self._ends()
        near = (last >= low) & (first <= high)
        return np.maximum(first[near], low), np.minimum(last[near], high)

    def _total(self, first: Counts, last: Counts, place: Counts) -> Floats:
        """The sum of all wanted numbers up to a place."""
        before = np.append(0.0, np.cumsum(self.line.total(first, last)))
        run = np.searchsorted(first, place, "right") - 1
        begin = first[np.maximum(run, 0)]
        part = self.line.total(begin, np.minimum(last[np.maximum(run, 0)], place))
        return np.where(run < 0, 0.0, before[np.maximum(run, 0)] + part)

    def keys(self) -> Sequence[Any]:
        """The values from the lowest to the highest end, and missing."""
        low, high = self._ends()
        if high - low >= MAX_KEYS:
            raise QueryRefused(
                f"GROUP BY {self.name!r} would have {high - low + 1:,} groups; "
                f"at most {MAX_KEYS:,} are listed",
                clause=self.name,
            )
        return [*self.line.values(low, high), *([None] if self.missing.any() else [])]

    def spread(self, weights: Floats) -> Floats:
        """By differences: what begins at an end, and what stops after one."""
        low, high = self._ends()
        known = self.low <= self.high
        length = high - low + 2
        changes = np.bincount(self.low[known] - low, weights[known], length)
        changes -= np.bincount(self.high[known] - low + 1, weights[known], length)
        spread = np.cumsum(changes)[:-1]
        return np.append(spread, [weights[self.missing].sum()] if self.missing.any() else [])

    def sizes(self) -> Floats:
        """Places between the ends, as fractions: the distance may be too large for an integer."""
        places = np.maximum(self.high.astype(np.float64) - self.low + 1, 0)
        sizes: Floats = places + self.missing
        return sizes

    def _ends(self) -> tuple[int, int]:
        known = self.low <= self.high
        if not known.any():
            return 0, -1
        return int(self.low[known].min()), int(self.high[known].max())


def _covered(first: Counts, last: Counts, low: Counts, high: Counts) -> tuple[Flags, Flags]:
    """Whether one run covers all of a side, and whether any touches it."""
    if not len(first):
        return np.zeros(len(low), np.bool_), np.zeros(len(low), np.bool_)
    run = np.searchsorted(first, low, "right") - 1
    covered = (run >= 0) & (last[np.maximum(run, 0)] >= high)
    run = np.searchsorted(last, low)
    touched = (run < len(first)) & (first[np.minimum(run, len(first) - 1)] <= high)
    return covered, touched


def _upto(first: Counts, last: Counts, place: Counts) -> Floats:
    """How many wanted places there are up to some place."""
    if not len(first):
        return np.zeros(len(place))
    before = np.append(0.0, np.cumsum(last.astype(np.float64) - first + 1))
    run = np.searchsorted(first, place, "right") - 1
    begin, end = first[np.maximum(run, 0)], np.minimum(last[np.maximum(run, 0)], place)
    part = end.astype(np.float64) - begin + 1
    return np.where(run < 0, 0.0, before[np.maximum(run, 0)] + part)


def _no_extents(n: int) -> Extents:
    return Extents(np.zeros(n), np.zeros(n), np.zeros(n))
