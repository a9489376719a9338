"""Logistic regression over coded columns: the chance of every value, given all codes at once.

Naive Bayes takes quasi-identifiers for independent, and counts twice what two of them say alike.
Here a person's chances are proportional to exp(sum of one number for each code and value), and the
numbers are those under which every code goes with every value as often as it was counted.

Darroch, Ratcliff: "Generalized iterative scaling for log-linear models", 1972: if every person has
one code on each of d axes, a number grows by

    log(counted / expected) / d,

which never makes the counts less likely. It begins at naive Bayes, from where a few steps are
enough. Counts may be expectations, so the same steps are the second half of a round of expectation
maximization (definetti.py). A step is linear in people x axes x values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.audits.attacks.kernel import expect
from sfumato.audits.attacks.naive_bayes import Axes, Learnt
from sfumato.core.arrays import Codes, Floats

_LEAST = 1.0  # rows: what was hardly seen moves little


@dataclass(slots=True, eq=False)
class Regression:
    """People by the ``rows`` of their codes, each so many times, and the numbers found so far.

    ``weight`` is that of naive Bayes, with which it begins.
    """

    axes: Axes
    rows: Codes
    times: Floats
    weight: float
    steps: int
    found: Learnt | None = None

    def learnt(self, sums: Floats) -> Learnt:
        """Some steps nearer to how often each row goes with each value."""
        if self.found is None:
            first = Learnt.of_sums(self.axes, sums, self.weight)
            tables = first.tables + first.prior / len(self.axes.bins)
            self.found = Learnt(self.axes, tables, np.zeros_like(first.prior))
        for _ in range(self.steps):
            expected = np.zeros_like(sums)
            expect(self.found.tables, self.rows, self.times, expected)
            self.found.tables[:] += np.log((sums + _LEAST) / (expected + _LEAST)) / len(
                self.axes.bins
            )
        return self.found
