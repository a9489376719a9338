"""What a shown value says of the true one: the chance that it is among those that are wanted.

microaggregation  a number   normal around the group's mean, with the scatter that is stated:
                             right for all groups together, a model for a single one
                  a category the shown value, but for the share of rows that is stated to have
                             another, which are taken to have any as often as it is shown
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import ceil, erf, floor, inf, sqrt
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from sfumato.answers.packing import Domain
from sfumato.core.arrays import Flags, Floats, Ints
from sfumato.core.attribute import Kind, as_floats
from sfumato.core.moments import unit_number
from sfumato.forms.manifest import PublishedColumn, encoded
from sfumato.forms.masked.distortion import MICROAGGREGATION, Distortion
from sfumato.queries.values import Range, Values

_FAR = 8.0  # standard deviations, beyond which nothing lies
_GRID = np.linspace(-_FAR, _FAR, 4001)
_NORMAL = np.array([(1 + erf(z / sqrt(2))) / 2 for z in _GRID])


class Blur(Protocol):
    """A masked column, prepared for questions."""

    def weights(self, wanted: Values) -> Floats:
        """What each row counts for: 1 or 0 on average, as its value is wanted or not."""
        ...

    def doubt(self, wanted: Values, weights: Floats) -> float:
        """By how much the variance of a count exceeds that of weights that are known chances."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Scattered:
    """Numbers that lie around what is shown."""

    shown: Floats
    known: Flags
    deviation: float
    line: Line

    def weights(self, wanted: Values) -> Floats:
        """By the normal distribution."""
        chance = np.zeros(len(self.shown))
        for low, high in self.line.ends_of(wanted):
            chance += self._below(high) - self._below(low)
        return np.where(self.known, np.clip(chance, 0.0, 1.0), float(wanted.missing))

    def doubt(self, _wanted: Values, _weights: Floats) -> float:
        """Chances are taken for known."""
        return 1.0

    def _below(self, end: float) -> Floats:
        if self.deviation <= 0 or abs(end) == inf:
            return (self.shown < end).astype(np.float64)
        below: Floats = np.interp((end - self.shown) / self.deviation, _GRID, _NORMAL)
        return below


@dataclass(frozen=True, slots=True, eq=False)
class Replaced:
    """Categories, some of which are others than they seem."""

    domain: Domain
    codes: Ints
    changed: float

    def weights(self, wanted: Values) -> Floats:
        """Those that are shown, mixed with what is shown on the whole."""
        shown = self.domain.marks(wanted)[self.codes].astype(np.float64)
        weights: Floats = (1 - self.changed) * shown + self.changed * shown.mean()
        return weights

    def doubt(self, _wanted: Values, _weights: Floats) -> float:
        """Chances are taken for known."""
        return 1.0


@dataclass(frozen=True, slots=True)
class Line:
    """The line that numbers lie on: in steps, or without gaps; of dates, their units."""

    step: int
    kind: pa.DataType

    def ends_of(self, wanted: Values) -> list[tuple[float, float]]:
        """Points and ranges as intervals; around a whole number lies half a step."""
        return [self._ends(part) for part in wanted.all_ranges()]

    def _ends(self, part: Range) -> tuple[float, float]:
        low = -inf if part.low is None else self.number(part.low)
        high = inf if part.high is None else self.number(part.high)
        if self.step:
            low, high = low / self.step, high / self.step
            if low > -inf:
                low = (floor(low) + 1 if part.low_open else ceil(low)) - 0.5
            if high < inf:
                high = (ceil(high) - 1 if part.high_open else floor(high)) + 0.5
            low, high = low * self.step, high * self.step
        elif not part.high_open and high < inf:
            high = float(np.nextafter(high, inf))
        return low, max(low, high)

    def number(self, value: Any) -> float:
        """A value that is compared, as a number."""
        if pa.types.is_date(self.kind):
            return float(unit_number(value, self.kind))
        return float(value)


def blur_of(column: PublishedColumn, values: pa.ChunkedArray, stated: Distortion) -> Blur:
    """A masked column, by what is stated of it."""
    return _BLURS[stated.model](column, values, stated)


def numbers_shown(values: pa.ChunkedArray) -> tuple[Floats, Flags]:
    """The numbers of rows, 0 where there is none, and where there is one."""
    array = values.combine_chunks()
    known = ~np.asarray(array.is_null())
    shown = np.zeros(len(array))
    shown[known] = as_floats(array.drop_null())
    return shown, known


def _aggregated(column: PublishedColumn, values: pa.ChunkedArray, stated: Distortion) -> Blur:
    if column.kind == Kind.NUMERICAL:
        shown, known = numbers_shown(values)
        line = Line(stated.step, values.type)
        return Scattered(shown, known, sqrt(stated.variance), line)
    attribute, codes = encoded(column, values)
    return Replaced(Domain(attribute), codes, stated.changed)


_BLURS: Mapping[str, Callable[[PublishedColumn, pa.ChunkedArray, Distortion], Blur]] = {
    MICROAGGREGATION: _aggregated,
}
