"""Sides of fractions and times: everything between two ends, by length."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.answers.numbers import number_of
from sfumato.answers.sides import Extents, Reading
from sfumato.core.arrays import Counts, Flags, Floats
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
    numbers: Floats
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
        low, high = self._ends_of_sides()
        least, most = np.full(len(low), np.inf), np.full(len(low), -np.inf)
        length, moment = np.zeros(len(low)), np.zeros(len(low))
        for part in wanted.all_ranges():
            first, after = self._inside(part)
            begin, end = self._overlap(part, low, high)
            touched = (self.high >= first) & (self.low < after)
            least = np.where(touched, np.minimum(least, begin), least)
            most = np.where(touched, np.maximum(most, end), most)
            width = np.where(touched, end - begin, 0.0)
            length, moment = length + width, moment + width * (begin + end) / 2
        least, most = (np.where(np.isfinite(ends), ends, 0.0) for ends in (least, most))
        middle = np.where(length > 0, moment / np.where(length > 0, length, 1), (least + most) / 2)
        return Extents(least, most, middle)

    def keys(self) -> Sequence[Any]:
        """Refused: between two fractions there are always others."""
        raise self._unlisted()

    def spread(self, weights: Floats) -> Floats:  # noqa: ARG002
        """Refused like the keys."""
        raise self._unlisted()

    def sizes(self) -> Floats:
        """How likely missing is beside the rest: as much as each value that is some side's end."""
        sizes: Floats = (self.high - self.low + 1).astype(np.float64) + self.missing
        return sizes

    def _unlisted(self) -> QueryRefused:
        return QueryRefused(
            f"GROUP BY {self.name!r}: its values are published as ranges, and between two of them "
            "there are always others",
            clause=self.name,
        )

    def _shares(self, wanted: Values) -> Floats:
        """By length; a point has none, so of single values those count that are some side's end."""
        low, high = self._ends_of_sides()
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

    def _ends_of_sides(self) -> tuple[Floats, Floats]:
        numbers = np.append(self.numbers, 0.0)  # a side without known values has no ends
        return numbers[self.low], numbers[self.high]

    def _overlap(self, part: Range, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        begin = low if part.low is None else np.maximum(low, number_of(part.low, self.kind))
        end = high if part.high is None else np.minimum(high, number_of(part.high, self.kind))
        return begin, end
