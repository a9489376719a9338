"""Sides of fractions and times: everything between two ends, by length."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from math import ceil, floor
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.answers.sides import Extents, Reading
from sfumato.core.arrays import Counts, Flags, Floats
from sfumato.core.exact import Numbers, as_doubles, offsets
from sfumato.core.moments import unit_number
from sfumato.errors import QueryRefused
from sfumato.queries.values import Range, Values


@dataclass(frozen=True, slots=True, eq=False)
class SpanSides:
    """From one end to another, by length. ``ends`` are all ends, sorted; ``low`` and ``high`` say
    which of them a side has, low > high where only missing is in.
    """

    name: str
    kind: pa.DataType
    ends: Sequence[Any]
    numbers: Numbers
    low: Counts
    high: Counts
    missing: Flags

    def read(self, wanted: Values) -> Reading:
        """Ends are compared as they are, lengths as floating-point numbers."""
        known = self.low <= self.high
        sure, possible = np.zeros_like(known), np.zeros_like(known)
        for part in wanted.all_ranges():
            first, after = self._inside(part)
            sure |= (self.low >= first) & (self.high < after)
            possible |= (self.high >= first) & (self.low < after)
        also = self.missing & wanted.missing
        share = np.where(sure, 1.0, np.where(possible, self._shares(wanted), 0.0))
        share = np.where(known, share, 0.0)
        return Reading(
            (share * (self.sizes() - self.missing) + also) / self.sizes(),
            (sure | ~known) & (~self.missing | also),
            (possible & known) | also,
        )

    def extents(self, wanted: Values) -> Extents:
        """The wanted part of each side, its middle weighted by length."""
        numbers = self._padded(self.numbers)
        low, high = numbers[self.low], numbers[self.high]
        least, most = high.copy(), low.copy()
        left, right = self._lengths()
        parts: list[tuple[Floats, Floats]] = []
        for part in wanted.all_ranges():
            first, after = self._inside(part)
            touched = (self.high >= first) & (self.low < after)
            begin, end = self._clipped(part)
            least = np.where(touched, np.minimum(least, np.maximum(low, begin)), least)
            most = np.where(touched, np.maximum(most, np.minimum(high, end)), most)
            begins, ends = self._overlap(part, left, right)
            width = np.where(touched, np.maximum(ends - begins, 0.0), 0.0)
            parts.append((width, (begins + ends) / 2))
        below, above = as_doubles(least), as_doubles(most)
        length = sum((width for width, _ in parts), np.zeros(len(low)))
        whole = np.where(length > 0, length, 1.0)
        # shares, not sums, which may be too large
        middle = sum((width / whole * place for width, place in parts), np.zeros(len(low)))
        middle = np.where(length > 0, self._at(middle), below / 2 + above / 2)
        return Extents(least, most, np.clip(middle, np.minimum(below, above), above))

    def keys(self) -> Sequence[Any]:
        """Refused: between two fractions there are always others."""
        raise self._unlisted()

    def spread(self, weights: Floats) -> Floats:  # noqa: ARG002
        """Refused like the keys."""
        raise self._unlisted()

    def begins(self, weights: Floats) -> tuple[Sequence[Any], Floats]:
        """Their low ends."""
        known = self.low <= self.high
        places, which = np.unique(self.low[known], return_inverse=True)
        weighed = np.bincount(which, weights[known], len(places)).astype(np.float64)
        return [self.ends[place] for place in places.tolist()], weighed

    def sizes(self) -> Floats:
        """How likely missing is beside the rest: as much as each value that is some side's end."""
        sizes: Floats = (self.high - self.low + 1).astype(np.float64) + self.missing
        return sizes

    def single(self) -> Flags:
        """Which sides have one end, or only missing."""
        single: Flags = np.where(self.missing, self.low > self.high, self.low == self.high)
        return single

    def _unlisted(self) -> QueryRefused:
        return QueryRefused(
            f"GROUP BY {self.name!r}: its values are published as ranges, and between two of them "
            "there are always others",
            clause=self.name,
        )

    def _shares(self, wanted: Values) -> Floats:
        """By length; a point has none, so of single values those count that are some side's end."""
        low, high = self._lengths()
        width = np.where(high > low, high - low, 1.0)
        shares = np.zeros(len(low))
        for part in wanted.ranges:
            begin, end = self._overlap(part, low, high)
            shares += np.maximum(end - begin, 0.0) / width
        ranks = [bisect_left(self.ends, value) for value in wanted.points]
        found = [
            rank
            for rank, value in zip(ranks, wanted.points, strict=True)
            if rank < len(self.ends) and self.ends[rank] == value
        ]
        line = np.sort(np.array(found, np.int64))
        inside = np.searchsorted(line, self.high, "right") - np.searchsorted(line, self.low)
        shares += inside / np.maximum(self.high - self.low + 1, 1)
        return np.minimum(shares, 1.0)

    def _inside(self, part: Range) -> tuple[int, int]:
        """Which of the ends lie in a range: from the first to before the second."""
        first = (
            0
            if part.low is None
            else (bisect_left, bisect_right)[part.low_open](self.ends, part.low)
        )
        if part.high is None:
            return first, len(self.ends)
        return first, (bisect_right, bisect_left)[part.high_open](self.ends, part.high)

    @property
    def _base(self) -> Any:
        return self.numbers[0] if len(self.numbers) else 0

    def _padded(self, numbers: Numbers) -> Numbers:
        """A side without known values has no ends; something must stand for them."""
        padded: Numbers = np.append(numbers, np.zeros(1, numbers.dtype))
        return padded

    def _lengths(self) -> tuple[Floats, Floats]:
        """Where sides begin and end, as distances from the lowest end of all."""
        places = self._padded(offsets(self.numbers, self._base))
        return places[self.low], places[self.high]

    def _at(self, places: Floats) -> Floats:
        """The numbers at such distances."""
        if self.numbers.dtype == np.float64:
            return 4 * (float(self._base) / 4 + places)
        return float(self._base) + places

    def _overlap(self, part: Range, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        begin, end = offsets(np.array(self._clipped(part), self.numbers.dtype), self._base)
        return np.maximum(low, begin), np.minimum(high, end)

    def _clipped(self, part: Range) -> tuple[Any, Any]:
        """The ends of a range as numbers, no further away than all sides."""
        if not len(self.numbers):
            return self._base, self._base
        lowest, highest = self.numbers[0], self.numbers[-1]
        low, high = (None if end is None else self._number(end) for end in part[:2])
        begin = lowest if low is None else min(max(_upwards(low), lowest), highest)
        end = highest if high is None else max(min(_downwards(high), highest), lowest)
        return begin, end

    def _number(self, end: Any) -> Any:
        """An end of a range in the units that numbers count."""
        if isinstance(end, date):
            return unit_number(end, self.kind)
        if pa.types.is_decimal(self.kind):
            return Fraction(end) * Fraction(10) ** self.kind.scale
        return end


def _upwards(number: Any) -> Any:
    return number if isinstance(number, float) else ceil(number)


def _downwards(number: Any) -> Any:
    return number if isinstance(number, float) else floor(number)
