"""Naive Bayes over coded columns: the chance of every code given a sensitive value, axis by axis.

Counts become chances as in learning/naive_bayes.py, also where persons are learnt from whose values
are only more or less likely. Axes with an order and many codes are cut into bins of
about equally many people; a missing value stays a bin of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sfumato.core.arrays import Codes, Floats, Ints
from sfumato.core.attribute import Attribute
from sfumato.learning.naive_bayes import log_chances, log_prior


@dataclass(frozen=True, slots=True, eq=False)
class Axes:
    """Rows of a table with a line for every bin of every axis: ``bins[j][code]`` is a row."""

    bins: tuple[Codes, ...]
    n_rows: int

    @classmethod
    def of(
        cls, quasi: tuple[Attribute, ...], points: Ints, weights: Ints | None, most: int
    ) -> Axes:
        """At most so many bins for each ordered axis, as even as these points allow."""
        bins = []
        n_rows = 0
        for j, attribute in enumerate(quasi):
            codes = np.arange(attribute.size)
            if attribute.ordered and len(attribute.values) > most:
                counts = np.bincount(points[:, j], weights, attribute.size)
                codes = _even(counts, len(attribute.values), most)
            bins.append((codes + n_rows).astype(np.int32))
            n_rows = int(bins[-1].max(initial=n_rows - 1)) + 1
        return cls(tuple(bins), n_rows)

    def rows(self, points: Ints) -> Codes:
        """The row of each point on every axis."""
        columns = [bins[points[:, j]] for j, bins in enumerate(self.bins)]
        return np.stack(columns, axis=1, dtype=np.int32)

    @property
    def heads(self) -> Ints:
        """The first row of each axis."""
        return np.array([bins[0] for bins in self.bins])


@dataclass(frozen=True, slots=True, eq=False)
class Learnt:
    """Logarithms of the chance of each row given a value (``tables``) and of values."""

    axes: Axes
    tables: Floats
    prior: Floats

    @classmethod
    def of_sums(cls, axes: Axes, sums: Floats, weight: float) -> Learnt:
        """From how often each row goes with each value, as counts or as expectations."""
        tables = np.empty_like(sums)
        heads = [*axes.heads, axes.n_rows]
        for low, high in pairwise(heads):
            tables[low:high] = log_chances(sums[low:high], weight)
        return cls(axes, tables, log_prior(sums[: heads[1]].sum(axis=0)))

    def log_chances(self, points: Codes) -> Floats:
        """The logarithm of P(value and codes) for every point and value."""
        rows = self.axes.rows(points)
        chances = np.repeat(self.prior[None, :], len(points), axis=0)
        for column in rows.T:
            chances += self.tables[column]
        return chances


@dataclass(frozen=True, slots=True)
class NaiveBayes:
    """Learns from persons whose values are known. ``weight`` is w, ``bins`` the most of an axis."""

    weight: float = 5.0
    bins: int = 64

    def learn(
        self, quasi: tuple[Attribute, ...], points: Codes, values: Ints, n_values: int
    ) -> Learnt:
        """What other people's rows tell."""
        axes = Axes.of(quasi, points, None, self.bins)
        return Learnt.of_sums(axes, counted(axes, points, values, n_values), self.weight)


def counted(axes: Axes, points: Codes, values: Ints, n_values: int) -> Floats:
    """How often each row of the axes goes with each value."""
    sums = np.zeros(axes.n_rows * n_values)
    for column in axes.rows(points).T:
        sums += np.bincount(column * n_values + values, minlength=len(sums))
    return sums.reshape(axes.n_rows, n_values)


def _even(counts: Floats | Ints, n_values: int, most: int) -> Ints:
    """The bin of every code; codes that nobody has share the bin of their neighbours."""
    upto = np.cumsum(counts[:n_values]) - counts[:n_values] / 2
    shares = np.minimum(upto * most / max(upto[-1], 1), most - 1).astype(np.int64)
    bins = np.unique(shares, return_inverse=True)[1]
    return np.append(bins, np.full(len(counts) - n_values, bins[-1] + 1))
