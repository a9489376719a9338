"""Points: pairs of quasi-identifiers that are asked about together, by circles.

A pair of codes is one code, that of x times the size of y's domain plus that of y. So a circle is
a list of runs, as the condition on any attribute is (conditions.py): one for each code of x that it
reaches. In the index it is a rectangle of ranges, of which those are kept that lie inside
(point_kernel.py). Distances are those of a plane, in the units of both columns; a point lies in a
circle if (x - a)^2 + (y - b)^2 <= r^2 in double precision, for radii of any size: all three are
divided by a power of two first. Who lacks x or y lies in none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import frexp
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sfumato.core.arrays import Codes, Flags, Floats, Ints
from sfumato.core.attribute import Attribute, Kind, as_floats
from sfumato.core.predicates import Both, Predicate, Within
from sfumato.errors import QueryRefused, SchemaError
from sfumato.queries.columns import Catalog
from sfumato.statdb.count.conditions import Axis, Conditions, Run, Runs, common

_LEAST = -1000  # a power of two for a radius of 0, below which squares of doubles are 0


class Region(NamedTuple):
    """For every code of x the first and last code of y; none where the first is greater."""

    low: Codes
    high: Codes


class Pair(NamedTuple):
    """The places of x and y in the schema, and the sizes of their domains."""

    x: int
    y: int
    x_size: int
    y_size: int

    def region(self, runs: Runs) -> Region:
        """Runs as ends of y."""
        return region_of(runs, self.x_size, self.y_size)


def region_of(runs: Runs, x_size: int, y_size: int) -> Region:
    """Runs as ends of y."""
    low, high = np.ones(x_size, np.int32), np.zeros(x_size, np.int32)
    first, last = np.array(runs, np.int64).reshape(-1, 2).T
    low[first // y_size], high[first // y_size] = first % y_size, last % y_size
    return Region(low, high)


@dataclass(frozen=True, eq=False)
class PointAxis:
    """Two axes as one."""

    name: str
    x: Axis
    y: Axis

    @property
    def columns(self) -> tuple[str, str]:
        """The names of both."""
        return self.x.attribute.name, self.y.attribute.name

    def runs(self, predicate: Predicate) -> Runs:
        """The pairs of codes in all circles."""
        low, high = np.zeros(self.x.size, np.int32), np.full(self.x.size, self.y.size, np.int32)
        for circle in self.circles(predicate):
            first, last = self._inside(circle)
            low, high = np.maximum(low, first), np.minimum(high, last)
        return self._runs(Region(low, high))

    def circles(self, predicate: Predicate) -> Iterator[Within]:
        """Circles that a point has to lie in, joined by AND."""
        waiting = [predicate]
        while waiting:
            part = waiting.pop()
            if isinstance(part, Both):
                waiting += [part.second, part.first]
            elif isinstance(part, Within):
                yield part
            else:
                raise QueryRefused(
                    f"{self.name!r} is a point: ask whether it lies within a circle, "
                    f"ST_DWithin({self.name}, ST_Point(3, 4), 2), or about its columns "
                    f"{' and '.join(map(repr, self.columns))}; circles are joined by AND only",
                    clause=self.name,
                )

    def clipped(self, runs: Runs, x: Runs, y: Runs) -> tuple[Runs, Runs, Runs]:
        """What is left of a region where x and y are ranges, and of these where it lies."""
        low, high = region_of(runs, self.x.size, self.y.size)
        if len(y) == 1:
            low, high = np.maximum(low, y[0][0]), np.minimum(high, y[0][1])
        kept = np.zeros(self.x.size, np.bool_)
        for first, last in x:
            kept[first : last + 1] = True
        high = np.where(kept, high, -1)
        some = np.flatnonzero(low <= high)
        if not len(some):
            return (), (), ()
        across = ((int(some[0]), int(some[-1])),)
        along = ((int(low[some].min()), int(high[some].max())),)
        return self._runs(Region(low, high)), common(x, across), common(y, along)

    def _runs(self, region: Region) -> Runs:
        at = np.flatnonzero(region.low <= region.high)
        base = at.astype(np.int64) * self.y.size
        found: list[Run] = list(
            zip((base + region.low[at]).tolist(), (base + region.high[at]).tolist(), strict=True)
        )
        return tuple(found)

    def _inside(self, circle: Within) -> tuple[Codes, Codes]:
        """The first and last code of y in a circle, for every code of x."""
        across, along = self._lines
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            beside = _scaled(across - circle.x, circle) ** 2
            left = _scaled(circle.radius, circle) ** 2 - beside
            reach = np.ldexp(np.sqrt(np.maximum(left, 0.0)), _power(circle))
        first = np.searchsorted(along, circle.y - reach, "left")
        last = np.searchsorted(along, circle.y + reach, "right") - 1
        # the root is rounded: what decides is the sum of squares
        first += ~self._holds(circle, beside, first) & (first <= last)
        first -= self._holds(circle, beside, first - 1)
        last -= ~self._holds(circle, beside, last) & (first <= last)
        last += self._holds(circle, beside, last + 1)
        nobody = (left < 0) | (last < first)
        low = np.ones(self.x.size, np.int32)
        high = np.zeros(self.x.size, np.int32)
        low[: len(across)] = np.where(nobody, 1, first)
        high[: len(across)] = np.where(nobody, 0, last)
        return low, high

    def _holds(self, circle: Within, beside: Floats, at: Ints) -> Flags:
        """Whether the value of y at a code lies inside, where there is such a code."""
        _, along = self._lines
        there = (at >= 0) & (at < len(along))
        y = along[np.clip(at, 0, max(0, len(along) - 1))]
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            along_squared = _scaled(y - circle.y, circle) ** 2
            found: Flags = there & (beside + along_squared <= _scaled(circle.radius, circle) ** 2)
        return found

    @cached_property
    def _lines(self) -> tuple[Floats, Floats]:
        return as_floats(self.x.attribute.values), as_floats(self.y.attribute.values)


def _power(circle: Within) -> int:
    """The power of two that a radius is about as large as; of none, one below all numbers."""
    return frexp(circle.radius)[1] if circle.radius else _LEAST


def _scaled(distance: Floats | float, circle: Within) -> Floats:
    """In about as many radii, so that squares are neither 0 nor too large where it matters."""
    found: Floats = np.ldexp(distance, -_power(circle))
    return found


def point_axes(
    points: Mapping[str, tuple[str, str]], axes: Mapping[str, Axis]
) -> dict[str, PointAxis]:
    """Those of a schema."""
    return {name: PointAxis(name, axes[x], axes[y]) for name, (x, y) in points.items()}


def require_lines(
    points: Mapping[str, tuple[str, str]], attributes: Mapping[str, Attribute]
) -> None:
    """Raise unless points are made of numbers: classes and dates have no distances."""
    for name, pair in points.items():
        for column in pair:
            one = attributes[column]
            if one.kind is not Kind.NUMERICAL or pa.types.is_temporal(one.values.type):
                raise SchemaError(
                    f"the point {name!r} needs numbers, and {column!r} holds "
                    f"{one.values.type} values of the {one.kind} kind; leave out its bins or order",
                    column=column,
                )


def refusal_of(axis: PointAxis) -> str:
    """What is said where a point stands for a column."""
    x, y = axis.columns
    return (
        f"{axis.name!r} is a point; ask ST_DWithin({axis.name}, ST_Point(3, 4), 2), or about its "
        f"columns {x!r} and {y!r}"
    )


def found_point(points: Mapping[str, PointAxis], name: str, catalog: Catalog) -> PointAxis | None:
    """The point of a name, written as it is or in other letters if no column is called so."""
    if name in points:
        return points[name]
    if name in catalog.columns:
        return None
    alike = [one for known, one in points.items() if known.lower() == name.lower()]
    return alike[0] if len(alike) == 1 else None


def reaching(conditions: Conditions, points: Mapping[str, PointAxis]) -> dict[str, Runs]:
    """Conditions in which x and y of every point that is asked about are where it can lie.

    A region that is empty leaves nothing of x, and so nobody.
    """
    found = dict(conditions)
    for name, axis in points.items():
        if name not in found:
            continue
        x, y = axis.columns
        whole = (((0, axis.x.size - 1),), ((0, axis.y.size - 1),))
        runs, across, along = axis.clipped(
            found[name], found.get(x, whole[0]), found.get(y, whole[1])
        )
        found |= {name: runs, x: across, y: along}
    return found
