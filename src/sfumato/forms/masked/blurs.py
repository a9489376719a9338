"""What a shown value says of the true one: the chance that it is among those that are wanted.

microaggregation  a number   the group's mean, or normal around it (aggregated.py): right for
                             all groups together, a model for a single one
                  a category the shown value, but for the share of rows that is stated to have
                             another, which are taken to have any as often as it is shown
additive noise    a number   in cells (noisy.py); chances and weights by what must have been there
swapping          any value  in cells of ranks (swapped.py), in the same way
synthetic rows    any value  itself: rows are a sample of what the model says
"""

from __future__ import annotations

from collections.abc import Callable
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
from sfumato.forms.masked.deconvolution import Channel
from sfumato.forms.masked.release import MaskedTable
from sfumato.queries.values import Range, Values

_LEAST = 1e-300  # deviations; narrower ones are none
_FAR = 8.0  # standard deviations, beyond which nothing lies
_GRID = np.linspace(-_FAR, _FAR, 4001)
_NORMAL = np.array([(1 + erf(z / sqrt(2))) / 2 for z in _GRID])


class Blur(Protocol):
    """A masked column, prepared for questions.

    An ``edge`` below or above 0 counts what may or may not be wanted, because finer things are
    asked than can be told apart, as all unwanted or all wanted.
    """

    def weights(self, wanted: Values, edge: int = 0) -> Floats:
        """What each row counts for: 1 or 0 on average, as its value is wanted or not."""
        ...

    def chances(self, wanted: Values, edge: int = 0) -> Floats:
        """How likely the value of each row is wanted; often the same."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Scattered:
    """Numbers that are what is shown or, with some ``chance``, lie around it."""

    shown: Floats
    known: Flags
    line: Line
    chance: Floats | float = 0.0
    deviation: Floats | float = 1.0

    def weights(self, wanted: Values, _edge: int = 0) -> Floats:
        """By the normal distribution."""
        found = np.zeros(len(self.shown))
        for low, high in self.line.ends_of(wanted):
            found += self._below(high) - self._below(low)
        return np.where(self.known, np.clip(found, 0.0, 1.0), float(wanted.missing))

    def chances(self, wanted: Values, edge: int = 0) -> Floats:
        """The weights are chances."""
        return self.weights(wanted, edge)

    def _below(self, end: float) -> Floats:
        exactly = (self.shown < end).astype(np.float64)
        if abs(end) == inf:
            return exactly
        wide = np.asarray(self.deviation) > _LEAST
        away = (end - self.shown) / np.where(wide, self.deviation, 1.0)
        around = np.where(wide, np.interp(away, _GRID, _NORMAL), exactly)
        below: Floats = exactly + self.chance * (around - exactly)
        return below


@dataclass(frozen=True, slots=True, eq=False)
class Replaced:
    """Categories, some of which are others than they seem."""

    domain: Domain
    codes: Ints
    changed: float

    def weights(self, wanted: Values, _edge: int = 0) -> Floats:
        """Those that are shown, mixed with what is shown on the whole."""
        shown = self.domain.marks(wanted)[self.codes].astype(np.float64)
        weights: Floats = (1 - self.changed) * shown + self.changed * shown.mean()
        return weights

    def chances(self, wanted: Values, edge: int = 0) -> Floats:
        """The weights are chances."""
        return self.weights(wanted, edge)


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Values that were moved between cells by known chances (deconvolution.py).

    ``shares`` tells which part of the values of each cell is wanted.
    """

    cells: Ints
    known: Flags
    channel: Channel
    shares: Callable[[Values], Floats]

    def weights(self, wanted: Values, edge: int = 0) -> Floats:
        """Of the cells that rows show."""
        return self._of_rows(self.channel.weights(self._asked(wanted, edge)), wanted)

    def chances(self, wanted: Values, edge: int = 0) -> Floats:
        """The same."""
        return self._of_rows(self.channel.chances(self._asked(wanted, edge)), wanted)

    def _asked(self, wanted: Values, edge: int) -> Floats:
        shares: Floats = np.round(self.shares(wanted), 9)
        if edge == 0:
            return shares
        return np.floor(shares) if edge < 0 else np.ceil(shares)

    def _of_rows(self, by_cell: Floats, wanted: Values) -> Floats:
        return np.where(self.known, by_cell[self.cells], float(wanted.missing))


@dataclass(frozen=True, slots=True)
class Line:
    """The line that numbers lie on: in steps, or without gaps; of dates, their units."""

    step: int
    kind: pa.DataType

    def ends_of(self, wanted: Values) -> list[tuple[float, float]]:
        """Points and ranges as intervals; around a whole number lies half a step."""
        return [self._ends(part) for part in wanted.all_ranges()]

    def shares(self, wanted: Values, edges: Floats) -> Floats:
        """Which part of each cell between edges is wanted; the outer cells have no end."""
        found = np.zeros(len(edges) - 1)
        for low, high in self.ends_of(wanted):
            left, right = np.maximum(edges[:-1], low), np.minimum(edges[1:], high)
            found += np.maximum(right - left, 0.0) / np.diff(edges)
        return np.clip(found, 0.0, 1.0)

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


def numbers_shown(values: pa.ChunkedArray) -> tuple[Floats, Flags]:
    """The numbers of rows, 0 where there is none, and where there is one."""
    array = values.combine_chunks()
    known = ~np.asarray(array.is_null())
    shown = np.zeros(len(array))
    shown[known] = as_floats(array.drop_null())
    return shown, known


def drawn(release: MaskedTable, column: PublishedColumn) -> Blur:
    """A column of nobody's values, of which each stands for one that somebody has."""
    values = release.table.column(column.name)
    if column.kind == Kind.NUMERICAL:
        return Scattered(*numbers_shown(values), Line(0, values.type))
    attribute, codes = encoded(column, values)
    return Replaced(Domain(attribute), codes, 0.0)
