"""Distinct quasi-identifier vectors with their weights: what cutting algorithms work on.

Real tables repeat themselves (a million census rows have under 200,000 different vectors), and
rows with equal vectors fall on the same side of every strict cut.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.core._kernels import number_rows
from sfumato.core.arrays import Codes, Counts
from sfumato.core.histograms import Histograms
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.models.bound import Bound


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """``codes[p]`` is the vector of point p, ``weights[p]`` how many rows have it.

    ``point_of_row`` leads from rows to points. Point p has sensitive value ``values[i]``
    ``counts[i]`` times for i from ``starts[p]`` to ``starts[p + 1]``; with several sensitive
    attributes their codes are shifted by ``offsets``.
    """

    codes: Codes
    weights: Counts
    point_of_row: Codes
    starts: Counts
    values: Codes
    counts: Counts

    @classmethod
    def distinct(
        cls, table: Microdata, offsets: dict[str, int], weights: Counts | None = None
    ) -> Points:
        """One point per different vector; with ``weights`` a row stands for so many."""
        codes = table.quasi_codes()
        point_of_row, first, sizes = number_rows(codes, table.quasi_sizes())
        loads = Partition(point_of_row, sizes).loads(weights)
        starts, values, counts = _sensitive(table, point_of_row, len(first), offsets, weights)
        return cls(codes[first], loads, point_of_row, starts, values, counts)

    @classmethod
    def every_row(cls, table: Microdata, offsets: dict[str, int], order: Codes) -> Points:
        """One point per row, in the given order of rows."""
        point_of_row = np.empty(table.n_rows, np.int32)
        point_of_row[order] = np.arange(table.n_rows, dtype=np.int32)
        starts, values, counts = _sensitive(table, point_of_row, table.n_rows, offsets, None)
        weights = np.ones(table.n_rows, np.int64)
        return cls(table.quasi_codes()[order], weights, point_of_row, starts, values, counts)

    def counted(
        self, table: Microdata, name: str, weights: Counts | None
    ) -> tuple[Counts, Codes, Counts]:
        """Starts, values and counts of one attribute, whatever models look at."""
        return _sensitive(table, self.point_of_row, len(self.weights), {name: 0}, weights)


class PointJudge:
    """Asks the models about groups that are given as points."""

    def __init__(self, points: Points, bound: Bound) -> None:
        """Bind the requirements to the points that are asked about."""
        self._bound = bound
        order = np.argsort(points.point_of_row, kind="stable")
        self._rows = np.split(order, np.cumsum(points.weights)[:-1])

    def pass_all(self, *groups: Codes) -> bool:
        """Whether all of these groups are safe; one without points is not."""
        if not all(map(len, groups)):
            return False
        rows = [np.concatenate([self._rows[point] for point in group]) for group in groups]
        numbers = np.repeat(np.arange(len(groups), dtype=np.int32), [len(one) for one in rows])
        return bool(self._bound.passing(Partition.of(numbers), np.concatenate(rows)).all())


def _sensitive(
    table: Microdata,
    points: Codes,
    n_points: int,
    offsets: dict[str, int],
    weights: Counts | None,
) -> tuple[Counts, Codes, Counts]:
    """Sensitive values per point, the attributes' histograms interleaved point by point."""
    if not offsets:
        return np.zeros(n_points + 1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int64)
    found = [
        Histograms.of_groups(table.attributes[name], table.codes[name], points, n_points, weights)
        for name in offsets
    ]
    if len(found) == 1:
        return found[0].starts, found[0].values, found[0].counts
    owner = np.concatenate([part.groups for part in found])
    order = np.argsort(owner, kind="stable")
    values = np.concatenate(
        [part.values + np.int32(shift) for part, shift in zip(found, offsets.values(), strict=True)]
    )
    starts = np.sum([part.starts for part in found], axis=0)
    return starts, values[order], np.concatenate([part.counts for part in found])[order]
