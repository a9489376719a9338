"""Sums, averages, minima and maxima over rows of which only part is known.

Rows stand in *clusters*. Of each cluster between ``least`` and ``most`` rows satisfy the query, and
nobody knows which; the value of a row may itself be known only to lie between two ends. All choices
are compatible with what was published, clusters are independent, so the extremes over all possible
tables are found cluster by cluster:

    SUM    take what must be taken, largest values first, then what adds to the sum
    AVG    the same, counting values from the average that is reached (Dinkelbach's iteration)
    MIN    lowest when the lowest row that can be taken is; highest when of each cluster only what
           must be taken is taken, and the largest values of it
"""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum

import numpy as np

from sfumato.answers._kernels import forced_minimum, largest_sum
from sfumato.answers.scope import Scope
from sfumato.core.arrays import Counts, Floats

_LN_2 = float(np.log(2))
_EXACT = 2.0**53  # whole numbers up to here are exact in floating point


@dataclass(frozen=True, slots=True, eq=False)
class Choices:
    """Entries by cluster, values ascending; an entry stands for ``counts`` rows.

    The value of an entry's rows lies between ``low`` and ``high``; ``expected`` of it, and
    ``weights`` rows of it, are what to expect.
    """

    low: Floats
    high: Floats
    expected: Floats
    weights: Floats
    counts: Counts
    starts: Counts
    least: Counts
    most: Counts

    @classmethod
    def of_groups(cls, numbers: Floats, counts: Counts, groups: Counts, scope: Scope) -> Choices:
        """Exact values, a cluster per group; which of them satisfy the rest is open."""
        order = np.lexsort((numbers, groups))
        numbers, counts, groups = numbers[order], counts[order], groups[order]
        heads = np.flatnonzero(np.diff(groups, prepend=-1))
        clusters = groups[heads]
        found = np.add.reduceat(counts, heads) if len(heads) else np.zeros(0, np.int64)
        return cls(
            numbers,
            numbers,
            numbers,
            counts * scope.share[groups],
            counts,
            np.append(heads, len(groups)),
            np.maximum(found - scope.lack[clusters], 0),
            np.minimum(found, scope.cap[clusters]),
        )

    @property
    def possible(self) -> bool:
        """Whether some row can be chosen."""
        return bool(self.most.any())

    @property
    def sure(self) -> bool:
        """Whether some row must be chosen."""
        return bool(self.least.any())

    @property
    def decided(self) -> bool:
        """Whether there is nothing to choose: every row is taken, and its value is known."""
        taken = np.add.reduceat(self.counts, self.starts[:-1]) if len(self.counts) else self.most
        return bool((self.low == self.high).all() and (self.least == taken).all())

    def mirrored(self) -> Choices:
        """The same with the opposite of every value: its largest sum is our smallest."""
        return Choices(
            -self.high[::-1],
            -self.low[::-1],
            -self.expected[::-1],
            self.weights[::-1],
            np.ascontiguousarray(self.counts[::-1]),
            np.ascontiguousarray(self.starts[-1] - self.starts[::-1]),
            np.ascontiguousarray(self.least[::-1]),
            np.ascontiguousarray(self.most[::-1]),
        )

    def largest_sum(self) -> float:
        """The largest sum that some choice has."""
        return self._best(0.0)[0]

    def largest_average(self) -> float:
        """The largest average that some choice of at least one row has."""
        if not self.sure:
            return self.largest()
        best, rows = self._best(0.0)
        average = best / rows
        while True:
            best, rows = self._best(average)
            if best / rows <= average:
                return average
            average = best / rows

    def largest(self) -> float:
        """The largest value that can be chosen."""
        return float(self.high[self._open()].max())

    def largest_minimum(self) -> float:
        """The largest value that the smallest chosen one can have."""
        if not self.sure:
            return self.largest()
        return float(forced_minimum(self.high, self.counts, self.starts, self.least))

    def exact_sum(self) -> float:
        """The sum of all values, rounded once: the same whatever their order."""
        return fsum(np.repeat(self.low, self.counts))

    def expected_sum(self) -> float:
        """The sum to expect."""
        return float((self.weights * self.expected).sum())

    def expected_rows(self) -> float:
        """The number of rows to expect."""
        return float(self.weights.sum())

    def expected_minimum(self) -> float:
        """The value that the smallest chosen one is as likely to exceed as not.

        Rows are taken to come independently and to lie evenly between their ends: none lies below x
        with probability exp(-r), r being the number of rows expected there.
        """
        widths = self.high - self.low
        steep = np.where(widths > 0, self.weights / np.where(widths > 0, widths, 1.0), 0.0)
        # walking up, rows come in evenly from a low end to a high one, or all at a single value
        ends = np.concatenate([self.low, self.high])
        order = np.argsort(ends, kind="stable")
        ends = ends[order]
        slopes = np.cumsum(np.concatenate([steep, -steep])[order])
        jumps = np.concatenate([np.where(widths > 0, 0.0, self.weights), np.zeros_like(steep)])
        before = np.append(0.0, np.cumsum(slopes[:-1] * np.diff(ends)))
        before[1:] += np.cumsum(jumps[order])[:-1]
        after = before + jumps[order]
        at = min(int(np.searchsorted(after, _LN_2)), len(ends) - 1)
        if at and before[at] > _LN_2:
            return float(ends[at - 1] + (_LN_2 - after[at - 1]) / slopes[at - 1])
        return float(ends[at])

    def slack(self) -> float:
        """How far rounding can have moved a sum: nowhere while all of it is whole and small."""
        size = float((np.maximum(np.abs(self.low), np.abs(self.high)) * self.counts).sum())
        whole = bool((self.low % 1 == 0).all() and (self.high % 1 == 0).all())
        if whole and size < _EXACT:
            return 0.0
        return size * (len(self.counts) + 4) * float(np.finfo(np.float64).eps)

    def _open(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        return np.repeat(self.most > 0, np.diff(self.starts))

    def _best(self, pivot: float) -> tuple[float, int]:
        return largest_sum(
            np.ascontiguousarray(self.high), self.counts, self.starts, self.least, self.most, pivot
        )
