"""Sides that run over the places of a line: whole numbers, days, declared values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from sfumato.answers.sides import MAX_KEYS, Extents, Reading
from sfumato.core.arrays import Counts, Flags, Floats, Words
from sfumato.core.exact import Numbers, as_doubles, distances
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

    def numbers(self, places: Counts) -> Numbers:
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
        """By comparing ends: counting is not exact where values are far apart."""
        first, last = self._runs(wanted)
        known = self.low <= self.high
        covered, touched = _covered(first, last, self.low, self.high)
        also, places = self.missing & wanted.missing, self.sizes() - self.missing
        inside = np.minimum(_inside(first, last, self.low, self.high), places)
        inside = np.where(covered, places, np.where(touched, inside, 0.0))
        return Reading(
            (np.where(known, inside, 0.0) + also) / self.sizes(),
            (covered | ~known) & (~self.missing | also),
            (touched & known) | also,
        )

    def extents(self, wanted: Values) -> Extents:
        """The first and last wanted place inside, and the mean of all between."""
        first, last = self._runs(wanted)
        if not len(first):
            return _no_extents(self.line.numbers(self.low))
        begin = np.minimum(np.searchsorted(last, self.low), len(first) - 1)
        end = np.maximum(np.searchsorted(first, self.high, "right") - 1, 0)
        low = self.line.numbers(np.maximum(first[begin], self.low))
        high = self.line.numbers(np.minimum(last[end], self.high))
        # in one run the mean is the middle; sums over several may be too far from zero to be exact
        middle = self._total(first, last, begin, end) / np.maximum(
            _inside(first, last, self.low, self.high), 1
        )
        below, above = as_doubles(low), as_doubles(high)
        return Extents(low, high, np.clip(middle, np.minimum(below, above), above))

    def _runs(self, wanted: Values) -> tuple[Counts, Counts]:
        """Runs of wanted places, cut to where sides are: far from zero sums would not be exact."""
        first, last = self.line.runs(wanted)
        low, high = self._ends()
        if low > high:
            return first[:0], last[:0]
        near = (last >= low) & (first <= high)
        return np.maximum(first[near], low), np.minimum(last[near], high)

    def _total(self, first: Counts, last: Counts, begin: Counts, end: Counts) -> Floats:
        """The sum of the wanted numbers of each side, which the runs from ``begin`` to ``end``
        have.
        """
        before = np.append(0.0, np.cumsum(self.line.total(first, last)))
        low, high = np.maximum(first[begin], self.low), np.minimum(last[end], self.high)
        ends = np.where(begin == end, high, last[begin])
        head = self.line.total(low, np.maximum(ends, low))
        tail = self.line.total(np.minimum(first[end], high), high)
        between = before[end] - before[np.minimum(begin + 1, end)]
        return np.where(begin < end, head + between + tail, head)

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

    def begins(self, weights: Floats) -> tuple[Sequence[Any], Floats]:
        """The values at their low ends."""
        known = self.low <= self.high
        places, which = np.unique(self.low[known], return_inverse=True)
        values = [value for place in places.tolist() for value in self.line.values(place, place)]
        return values, np.bincount(which, weights[known], len(places)).astype(np.float64)

    def sizes(self) -> Floats:
        """Places between the ends; only their exact distance becomes a double."""
        known = self.low <= self.high
        sizes: Floats = np.where(known, distances(self.low, self.high) + 1, 0) + self.missing
        return sizes

    def single(self) -> Flags:
        """By comparing ends, like everything that is certain."""
        single: Flags = np.where(self.missing, self.low > self.high, self.low == self.high)
        return single

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


def _inside(first: Counts, last: Counts, low: Counts, high: Counts) -> Floats:
    """How many wanted places each side has.

    Counted modulo 2**64, where differences are exact; only a side of all that there is has more.
    """
    if not len(first):
        return np.zeros(len(low))
    starts, ends = first.astype(np.uint64), last.astype(np.uint64)
    before = np.append(np.uint64(0), np.cumsum(ends - starts + np.uint64(1)))

    def upto(places: Counts, side: Literal["left", "right"]) -> Words:
        run = np.searchsorted(first, places, side) - 1
        at = np.maximum(run, 0)
        end = np.minimum(last[at], places).astype(np.uint64)
        # from the left a place itself is left out, if its run has come so far
        part = end - starts[at] + ((last[at] < places) | (side == "right")).astype(np.uint64)
        return np.where(run < 0, np.uint64(0), before[at] + part)

    return (upto(high, "right") - upto(low, "left")).astype(np.float64)


def _no_extents(numbers: Numbers) -> Extents:
    return Extents(numbers, numbers, np.zeros(len(numbers)))
