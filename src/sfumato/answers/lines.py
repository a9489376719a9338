"""What a release shows of people, line by line, as somebody who learns from it reads it.

A line is a row of a QIT, or a box. Of its people, ``shares[j][side, b]`` lie in bin b of axis j,
attribute by attribute, as the estimates of answers have it: one bin or another where values are
exact. And they have the values of their group, each with its share. So

    expected rows in bins b1, ..., bd with value v
      = sum over lines of weight x shares[1][., b1] x ... x shares[d][., bd] x share of v

is what COUNT estimates, and nothing has to be drawn or reconstructed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sfumato.answers.axes import Axis, exact_axis
from sfumato.answers.grouped import GroupedTables
from sfumato.core._kernels import number_rows
from sfumato.core.arrays import Codes, Floats
from sfumato.core.attribute import Attribute
from sfumato.core.histograms import Histograms


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """Line i stands for ``weights[i]`` people of group ``groups[i]``; ``sides[i, j]`` is its row of
    ``shares[j]``. ``values`` are those of the groups, which have an attribute.
    """

    axes: tuple[Axis, ...]
    shares: tuple[Floats, ...]
    sides: Codes
    weights: Floats
    groups: Codes
    values: Histograms

    @property
    def target(self) -> Attribute:
        """The attribute whose values are learnt."""
        assert self.values.attribute is not None
        return self.values.attribute

    @property
    def n_values(self) -> int:
        """How many values it has."""
        return len(self.values.whole)

    def together(self) -> Lines:
        """The same with lines that are alike as one."""
        both = np.column_stack([self.groups, self.sides]).astype(np.int32)
        sizes = np.array([self.values.n_groups, *map(len, self.shares)], np.int64)
        number, first, _ = number_rows(both, sizes)
        weights = np.bincount(number, self.weights, len(first)).astype(np.float64)
        return Lines(
            self.axes, self.shares, self.sides[first], weights, self.groups[first], self.values
        )


class LineReader(NamedTuple):
    """How what answers questions is read line by line: an axis of its own, and lines over axes."""

    axis_of: Callable[[Any, str], Axis]
    lines_of: Callable[[Any, Sequence[Axis], str], Lines]


def _axis_of(tables: GroupedTables, name: str) -> Axis:
    """The bins of a column that is shown exactly."""
    rows = tables.holder(name)
    attribute = rows.attribute(name)
    counts = np.bincount(rows.codes(name), rows.counts if rows.counts.size else None)
    return exact_axis(tables.catalog.columns[name], attribute, counts)


def _lines_of(tables: GroupedTables, axes: Sequence[Axis], target: str) -> Lines:
    """Rows of the first table; where it has the target too, everybody's value is known."""
    rows, counted = tables.tables[0], tables.holder(target)
    if counted is rows:
        groups = rows.codes(target).astype(np.int32)
        values = _each_alone(rows.attribute(target))
    else:
        groups, values = rows.groups(), counted.histograms(target)
    bins = [axis.of_codes(rows.attribute(axis.column.name)) for axis in axes]
    sides = [of[rows.codes(axis.column.name)] for of, axis in zip(bins, axes, strict=True)]
    weights = rows.counts if rows.counts.size else np.ones(len(groups))
    return Lines(
        tuple(axes), tuple(np.eye(len(axis.bins)) for axis in axes),
        np.stack(sides, axis=1).astype(np.int32), weights.astype(np.float64), groups, values,
    ).together()  # fmt: skip


def _each_alone(attribute: Attribute) -> Histograms:
    """A group for every value, which has no other."""
    codes = np.arange(attribute.size)
    return Histograms.of_keys(attribute, codes * (attribute.size + 1), codes * 0 + 1, len(codes))


BY_ROWS = LineReader(_axis_of, _lines_of)
