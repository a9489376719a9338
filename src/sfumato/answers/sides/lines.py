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
from sfumato.core.exact import Numbers, as_doubles, distances
from sfumato.errors import QueryRefused
from sfumato.queries.values import Range, Values

_EPOCH = date(1970, 1, 1).toordinal()
_LOWEST, _HIGHEST = (int(end) for end in (np.iinfo(np.int64).min, np.iinfo(np.int64).max))


@dataclass(frozen=True, slots=True)
class WholeLine:
    """Every whole number, or every day counted from 1970, is its own place.

    Places of ``unsigned`` numbers begin at the lowest, so that all of them have one.
    """

    days: bool = False
    unsigned: bool = False

    @property
    def offset(self) -> int:
        """What lies between a place and its number."""
        return -_LOWEST if self.unsigned else 0

    def places(self, numbers: Numbers) -> Counts:
        """The places of numbers that the column holds."""
        found: Counts = numbers.astype(np.int64)
        # modulo 2**64: the highest bit decides between the lower and the upper half
        return found ^ np.int64(_LOWEST) if self.unsigned else found

    def runs(self, wanted: Values) -> tuple[Counts, Counts]:
        """Lists are sorted as numbers; ranges come closed from binding."""
        points = np.sort(np.array([*self._places(wanted)], np.int64))
        first, last = points, points
        ends = [
            (max(low, _LOWEST), min(high, _HIGHEST))
            for low, high in map(self._ends, wanted.ranges)
            if low <= _HIGHEST and high >= _LOWEST  # beyond them there is nobody
        ]
        if ends:
            lows, highs = np.array(ends, np.int64).T
            order = np.argsort(np.concatenate([points, lows]), kind="stable")
            first = np.concatenate([points, lows])[order]
            last = np.concatenate([points, highs])[order]
        return _joined(first, last)

    def values(self, low: int, high: int) -> Sequence[Any]:
        """Numbers, or dates."""
        if self.days:
            return [date.fromordinal(place + _EPOCH) for place in range(low, high + 1)]
        return range(low + self.offset, high + 1 + self.offset)

    def total(self, low: Counts, high: Counts) -> Floats:
        """The sum of an arithmetic series."""
        first, last = as_doubles(self.numbers(low)), as_doubles(self.numbers(high))
        total: Floats = (first / 2 + last / 2) * (distances(low, high) + 1)
        return total

    def numbers(self, places: Counts) -> Numbers:
        """A place is its number."""
        return (places ^ np.int64(_LOWEST)).astype(np.uint64) if self.unsigned else places

    def _places(self, wanted: Values) -> list[int]:
        if self.days:
            return [value.toordinal() - _EPOCH for value in wanted.points]
        # a fraction, or a number too large for the column, is nobody's
        places = (value - self.offset for value in wanted.points if isinstance(value, int))
        return [place for place in places if _LOWEST <= place <= _HIGHEST]

    def _ends(self, part: Range) -> tuple[int, int]:
        low = _LOWEST if part.low is None else self._place(part.low)
        return low, _HIGHEST if part.high is None else self._place(part.high)

    def _place(self, end: Any) -> int:
        return end.toordinal() - _EPOCH if self.days else int(end) - self.offset


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
        ends = np.append(0.0, np.cumsum(as_doubles(self._numbers())))
        total: Floats = ends[high + 1] - ends[low]
        return total

    def numbers(self, places: Counts) -> Numbers:
        """The declared numbers."""
        numbers: Numbers = self._numbers()[places]
        return numbers

    def _numbers(self) -> Numbers:
        numbers = self.domain.numbers
        if np.any(numbers[1:] < numbers[:-1]):
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
    apart = first[1:] - 1 > last[:-1]  # not the first of all, so there is a place before it
    return first[np.append(True, apart)], last[np.append(apart, True)]
