"""Domains laid out on whole numbers: the places that ranges of a box run over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from itertools import islice
from typing import Any

import numpy as np

from sfumato.answers.packing import Domain
from sfumato.core.arrays import Counts, Floats
from sfumato.errors import QueryRefused
from sfumato.queries.values import Values

_EPOCH = date(1970, 1, 1).toordinal()
_LOWEST, _HIGHEST = (int(end) for end in (np.iinfo(np.int64).min + 1, np.iinfo(np.int64).max - 1))


@dataclass(frozen=True, slots=True)
class WholeLine:
    """Every whole number, or every day counted from 1970, is its own place."""

    days: bool = False

    def runs(self, wanted: Values) -> tuple[Counts, Counts]:
        """Lists are sorted as numbers; ranges come closed from binding."""
        points = np.sort(np.array([*self._places(wanted)], np.int64))
        first, last = points, points
        if wanted.ranges:
            ends = [
                (self._end(part.low, _LOWEST), self._end(part.high, _HIGHEST))
                for part in wanted.ranges
            ]
            lows, highs = np.array(ends, np.int64).T
            order = np.argsort(np.concatenate([points, lows]), kind="stable")
            first = np.concatenate([points, lows])[order]
            last = np.concatenate([points, highs])[order]
        return _joined(first, last)

    def values(self, low: int, high: int) -> Sequence[Any]:
        """Numbers, or dates."""
        if self.days:
            return [date.fromordinal(place + _EPOCH) for place in range(low, high + 1)]
        return range(low, high + 1)

    def total(self, low: Counts, high: Counts) -> Floats:
        """The sum of an arithmetic series."""
        first, last = low.astype(np.float64), high.astype(np.float64)
        total: Floats = (first + last) / 2 * (last - first + 1)
        return total

    def numbers(self, places: Counts) -> Floats:
        """A place is its number."""
        return places.astype(np.float64)

    def _places(self, wanted: Values) -> list[int]:
        if self.days:
            return [value.toordinal() - _EPOCH for value in wanted.points]
        # a fraction, or a number too large for the column, is nobody's
        return [
            value
            for value in wanted.points
            if isinstance(value, int) and _LOWEST <= value <= _HIGHEST
        ]

    def _end(self, end: Any, unbounded: int) -> int:
        if end is None:
            return unbounded
        place = end.toordinal() - _EPOCH if self.days else int(end)
        return min(max(place, _LOWEST), _HIGHEST)


@dataclass(frozen=True, slots=True, eq=False)
class ListLine:
    """The values of a declared order, or the leaves of a taxonomy, one after the other."""

    domain: Domain

    def runs(self, wanted: Values) -> tuple[Counts, Counts]:
        """Neighbouring wanted values make a run."""
        places = np.flatnonzero(self.domain.marks(wanted))
        return _joined(places, places)

    def values(self, low: int, high: int) -> Sequence[Any]:
        """Values as declared."""
        return list(islice(self.domain.values, low, high + 1))

    def total(self, low: Counts, high: Counts) -> Floats:
        """The sum of the declared numbers."""
        ends = np.append(0.0, np.cumsum(self._numbers()))
        total: Floats = ends[high + 1] - ends[low]
        return total

    def numbers(self, places: Counts) -> Floats:
        """The declared numbers."""
        numbers: Floats = self._numbers()[places]
        return numbers

    def _numbers(self) -> Floats:
        numbers = self.domain.numbers
        if (np.diff(numbers) < 0).any():
            raise QueryRefused(
                f"the declared order of {self.domain.name!r} is not that of its numbers; they can "
                "be counted, not computed with",
                clause=self.domain.name,
            )
        return numbers


def _joined(first: Counts, last: Counts) -> tuple[Counts, Counts]:
    """Runs without a gap between them become one."""
    if not len(first):
        return first, last
    apart = first[1:] > last[:-1] + 1
    return first[np.append(True, apart)], last[np.append(apart, True)]
