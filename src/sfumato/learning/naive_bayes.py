"""Naive Bayes: the chance of every bin given a value, axis by axis.

Expected counts become chances by the m-estimate, (count + w P(bin)) / (all + w), so that a value
that was hardly seen has the bins that everybody has. A bin that is not known says nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.answers.lines import Lines
from sfumato.core.arrays import Codes, Floats
from sfumato.learning.kernel import add_shares

WEIGHT = 5.0
_LEAST = 1e-300  # so that what was never seen has a logarithm


@dataclass(frozen=True, slots=True, eq=False)
class NaiveBayes:
    """Logarithms: ``tables[j][b, v]`` of the chance of a bin given a value, and of values."""

    tables: tuple[Floats, ...]
    prior: Floats

    @classmethod
    def learn(cls, lines: Lines) -> NaiveBayes:
        """From the expected counts of every bin and value."""
        sums = [expected(lines, j) for j in range(len(lines.axes))]
        tables = tuple(log_chances(one, WEIGHT) for one in sums)
        return cls(tables, log_prior(sums[0].sum(axis=0)))

    def log_chances(self, bins: Codes) -> Floats:
        """The logarithm of P(value and bins) for everybody; ``bins[:, j]`` are those of axis j."""
        found = np.repeat(self.prior[None, :], len(bins), axis=0)
        for j, table in enumerate(self.tables):
            known = bins[:, j] >= 0
            found[known] += table[bins[known, j]]
        return found

    def __str__(self) -> str:
        return "naive Bayes"


def expected(lines: Lines, j: int) -> Floats:
    """How many people of each value are expected in each bin of an axis."""
    values, shares = lines.values, lines.shares[j]
    sums = np.zeros((len(shares), lines.n_values))
    add_shares(
        lines.sides[:, j], lines.groups, lines.weights,
        values.starts, values.values, values.shares, sums,
    )  # fmt: skip
    found: Floats = shares.T @ sums
    return found


def log_chances(sums: Floats, weight: float) -> Floats:
    """Of each line given each column, from how often they go together."""
    everybody = sums.sum(axis=1, keepdims=True)
    share = (everybody + 1) / (everybody.sum() + len(sums))
    chances: Floats = np.log((sums + weight * share) / (sums.sum(axis=0) + weight))
    return chances


def log_prior(counts: Floats) -> Floats:
    """Of values that occur so often."""
    prior: Floats = np.log(np.maximum(counts / max(counts.sum(), 1), _LEAST))
    return prior
