"""Sides that list their values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.answers.packing import Domain
from sfumato.answers.sides import Extents, Reading
from sfumato.core.arrays import Codes, Counts, Flags, Floats
from sfumato.core.exact import as_doubles
from sfumato.queries.values import Values


@dataclass(frozen=True, slots=True, eq=False)
class SetSides:
    """Side s has the values ``codes[starts[s]:starts[s + 1]]``."""

    domain: Domain
    starts: Counts
    codes: Codes

    def read(self, wanted: Values) -> Reading:
        """Count the wanted values in the sets."""
        marks = self.domain.marks(wanted)[self.codes].astype(np.int64)
        found, sizes = np.add.reduceat(marks, self.starts[:-1]), np.diff(self.starts)
        return Reading(found / sizes, found == sizes, found > 0)

    def extents(self, wanted: Values) -> Extents:
        """The numbers in the sets."""
        marked = self.domain.marks(wanted).view(np.bool_)[self.codes]
        heads, size = self.starts[:-1], self.domain.size
        # a set's domain is in the order of its numbers
        low = np.minimum.reduceat(np.where(marked, self.codes, size), heads)
        high = np.maximum.reduceat(np.where(marked, self.codes, -1), heads)
        numbers = self.domain.numbers
        least, most = (numbers[np.clip(codes, 0, size - 1)] for codes in (low, high))
        found = np.maximum(np.add.reduceat(marked.astype(np.int64), heads), 1)
        # shares, not sums, which may be too large
        shares = marked / np.repeat(found, np.diff(self.starts))
        mean = np.add.reduceat(shares * as_doubles(numbers)[self.codes], heads)
        return Extents(least, most, mean)

    def keys(self) -> Sequence[Any]:
        """All values that some set has."""
        return self.domain.values

    def spread(self, weights: Floats) -> Floats:
        """Each set's weight to each of its values."""
        each = np.repeat(weights, np.diff(self.starts))
        return np.bincount(self.codes, each, self.domain.size).astype(np.float64)

    def begins(self, weights: Floats) -> tuple[Sequence[Any], Floats]:
        """The values that sets have."""
        known = len(self.domain.attribute.values)
        return self.domain.values[:known], self.spread(weights)[:known]

    def sizes(self) -> Floats:
        """How many values each set has."""
        return np.diff(self.starts).astype(np.float64)

    def single(self) -> Flags:
        """Which sets have one value."""
        single: Flags = np.diff(self.starts) == 1
        return single
