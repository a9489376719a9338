"""Sides that list their values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.answers.packing import Domain
from sfumato.answers.sides import Extents, Reading
from sfumato.core.arrays import Codes, Counts, Floats
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
        numbers, heads = self.domain.numbers[self.codes], self.starts[:-1]
        total = np.add.reduceat(np.where(marked, numbers, 0.0), heads)
        found = np.add.reduceat(marked.astype(np.int64), heads)
        low = np.minimum.reduceat(np.where(marked, numbers, np.inf), heads)
        high = np.maximum.reduceat(np.where(marked, numbers, -np.inf), heads)
        low, high = (np.where(found > 0, ends, 0.0) for ends in (low, high))
        return Extents(low, high, total / np.maximum(found, 1))

    def keys(self) -> Sequence[Any]:
        """All values that some set has."""
        return self.domain.values

    def spread(self, weights: Floats) -> Floats:
        """Each set's weight to each of its values."""
        each = np.repeat(weights, np.diff(self.starts))
        return np.bincount(self.codes, each, self.domain.size).astype(np.float64)

    def sizes(self) -> Floats:
        """How many values each set has."""
        return np.diff(self.starts).astype(np.float64)
