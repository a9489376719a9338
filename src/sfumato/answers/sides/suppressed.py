"""Sides that show the one value of a group, or nothing: it was suppressed and may be anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.answers.packing import Domain
from sfumato.answers.sides import Extents, Reading
from sfumato.core.arrays import Codes, Flags, Floats
from sfumato.core.exact import as_doubles
from sfumato.errors import QueryRefused
from sfumato.queries.values import EVERYTHING, Values


@dataclass(frozen=True, slots=True, eq=False)
class CellSides:
    """Side s shows the code ``codes[s]`` of the values that are shown anywhere, or has -1."""

    domain: Domain
    codes: Codes

    def read(self, wanted: Values) -> Reading:
        """A suppressed value is expected to be one of those shown elsewhere; it need not be."""
        marks = self.domain.marks(wanted).astype(np.float64)
        share = np.append(marks, marks.mean() if len(marks) else 0.0)[self.codes]
        sure, possible = share == 1.0, share > 0.0
        everything = wanted.missing and wanted.ranges == (EVERYTHING,)
        sure[self._hidden], possible[self._hidden] = everything, not wanted.empty
        return Reading(share, sure, possible)

    def extents(self, wanted: Values) -> Extents:  # noqa: ARG002
        """Exact numbers; refused where some are suppressed."""
        self._require_shown("computed with")
        numbers = self.domain.numbers[self.codes]
        return Extents(numbers, numbers, as_doubles(numbers))

    def keys(self) -> Sequence[Any]:
        """The values that are shown; refused where some are not."""
        self._require_shown("listed")
        return self.domain.values

    def spread(self, weights: Floats) -> Floats:
        """Each side's weight to its value."""
        return np.bincount(self.codes, weights, self.domain.size).astype(np.float64)

    def begins(self, weights: Floats) -> tuple[Sequence[Any], Floats]:
        """The values that are shown."""
        shown, known = self.codes >= 0, len(self.domain.attribute.values)
        weighed = np.bincount(self.codes[shown], weights[shown], self.domain.size)
        return self.domain.values[:known], weighed[:known].astype(np.float64)

    def sizes(self) -> Floats:
        """One value, or as many as are shown."""
        return np.where(self._hidden, max(1, self.domain.size), 1).astype(np.float64)

    def single(self) -> Flags:
        """What is suppressed may be anything, however few values are shown."""
        return ~self._hidden

    @property
    def _hidden(self) -> Flags:
        hidden: Flags = self.codes < 0
        return hidden

    def _require_shown(self, done: str) -> None:
        if self._hidden.any():
            name = self.domain.name
            raise QueryRefused(
                f"some values of {name!r} are suppressed and may be anything, so they cannot be "
                f"{done}",
                clause=name,
            )
