"""Sums, averages, minima and maxima over rows that are only partly known.

Rows stand in *clusters*. Of each cluster between ``least`` and ``most`` rows satisfy the query, and
nobody knows which; the value of a row may itself be known only to lie between two ends. All choices
are compatible with what was published, clusters are independent, so the extremes over all possible
tables are found cluster by cluster:

    SUM    take what must be taken, largest values first, then what adds to the sum
    AVG    the same, counting values from the average that is reached (Dinkelbach's iteration)
    MIN    lowest when the lowest row that can be taken is; highest when of each cluster only what
           must be taken is taken, and the largest values of it

Values are exact, and so are their sums (core.exact): the best average
is reached after finitely many steps, each of which is better than the one before.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from sfumato.answers.group_bounds import Scope
from sfumato.answers.kernels import last_forced, taken_rows
from sfumato.core.arrays import Counts, Flags, Floats
from sfumato.core.exact import (
    Exact,
    Numbers,
    above,
    below,
    offset_number,
    offsets,
    order_keys,
    total,
)

_LN_2 = float(np.log(2))


class Walk(NamedTuple):
    """The clusters with their entries in the order in which one side of the values is best last."""

    ends: Numbers
    counts: Counts
    starts: Counts
    least: Counts
    most: Counts


@dataclass(frozen=True, slots=True, eq=False)
class Choices:
    """Entries by cluster, values ascending; an entry stands for ``counts`` rows.

    The value of an entry's rows lies between ``low`` and ``high``; ``expected`` of it, and
    ``weights`` rows of it, are what to expect.
    """

    low: Numbers
    high: Numbers
    expected: Floats
    weights: Floats
    counts: Counts
    starts: Counts
    least: Counts
    most: Counts

    @classmethod
    def of_groups(cls, numbers: Numbers, counts: Counts, groups: Counts, scope: Scope) -> Choices:
        """Exact values, a cluster per group; which of them satisfy the rest is open."""
        keys = order_keys(numbers)
        steps = np.diff(groups)
        if not ((steps > 0) | ((steps == 0) & (keys[1:] >= keys[:-1]))).all():
            order = np.lexsort((keys, groups))
            numbers, counts, groups = numbers[order], counts[order], groups[order]
        heads = np.flatnonzero(np.diff(groups, prepend=-1))
        clusters = groups[heads]
        found = np.add.reduceat(counts, heads) if len(heads) else np.zeros(0, np.int64)
        return cls(
            numbers,
            numbers,
            numbers.astype(np.float64),
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
        known = self.low is self.high or np.all(self.low == self.high)
        return bool(known and (self.least == taken).all())

    def sum_of_all(self) -> Exact:
        """The sum where there is nothing to choose."""
        return total(self.low, self.counts)

    def sums(self) -> tuple[Exact, Exact]:
        """The smallest and the largest sum that some choice has."""
        return self._best(up=False)[0], self._best(up=True)[0]

    def averages(self) -> tuple[Exact, Exact]:
        """The smallest and the largest average that some choice of at least one row has."""
        if not self.sure:
            return self.smallest(), self.largest()
        return self._average(up=False), self._average(up=True)

    def smallest(self) -> Any:
        """The smallest value that can be chosen."""
        return _plain(self.low[self._open()].min())

    def largest(self) -> Any:
        """The largest value that can be chosen."""
        return _plain(self.high[self._open()].max())

    def largest_minimum(self) -> Any:
        """The largest value that the smallest chosen one can have."""
        return self.largest() if not self.sure else _plain(self._forced(self._upwards()).min())

    def smallest_maximum(self) -> Any:
        """The smallest value that the largest chosen one can have."""
        return self.smallest() if not self.sure else _plain(self._forced(self._downwards()).max())

    def expected_sum(self) -> float:
        """The sum to expect; not finite where doubles cannot tell."""
        with np.errstate(over="ignore", invalid="ignore"):
            return float((self.weights * self.expected).sum())

    def expected_average(self) -> float:
        """The average to expect; not a number where no row is expected."""
        rows = self.weights.sum()
        if rows <= 0:
            return float("nan")
        with np.errstate(over="ignore", invalid="ignore"):
            return float((self.weights / rows * self.expected).sum())

    def expected_minimum(self) -> Any:
        """The value that the smallest chosen one is as likely to exceed as not.

        Rows are taken to come independently and to lie evenly between their ends: none lies below x
        with probability exp(-r), r being the number of rows expected there.
        """
        base = self.low.min()
        low, high = offsets(self.low, base), offsets(self.high, base)
        return offset_number(base, _expected_least(low, high, self.weights), self.low)

    def expected_maximum(self) -> Any:
        """The same for the largest one: from above."""
        base = self.low.min()
        low, high = offsets(self.low, base), offsets(self.high, base)
        return offset_number(base, -_expected_least(-high, -low, self.weights), self.low)

    def _average(self, up: bool) -> Exact:
        best, rows = self._best(up)
        average = Fraction(best) / rows
        while True:
            best, rows = self._best(up, average)
            found = Fraction(best) / rows
            if found <= average if up else found >= average:
                return average
            average = found

    def _best(self, up: bool, pivot: Exact = 0) -> tuple[Exact, int]:
        """Sum and number of the rows chosen so that the sum of (value - pivot) is extreme."""
        walk = self._upwards() if up else self._downwards()
        gains = above(walk.ends, pivot) if up else below(walk.ends, pivot)
        taken = taken_rows(gains, walk.counts, walk.starts, walk.least, walk.most)
        return total(walk.ends, taken), int(taken.sum())

    def _forced(self, walk: Walk) -> Numbers:
        places = last_forced(walk.counts, walk.starts, walk.least)
        found: Numbers = walk.ends[places[places >= 0]]
        return found

    def _upwards(self) -> Walk:
        return Walk(self.high, self.counts, self.starts, self.least, self.most)

    def _downwards(self) -> Walk:
        return reversed_walk(self)

    def _open(self) -> Flags:
        return np.repeat(self.most > 0, np.diff(self.starts))


def reversed_walk(choices: Choices) -> Walk:
    """Clusters and entries from the last to the first, the smallest of a cluster last."""
    return Walk(
        choices.low[::-1],
        np.ascontiguousarray(choices.counts[::-1]),
        np.ascontiguousarray(choices.starts[-1] - choices.starts[::-1]),
        np.ascontiguousarray(choices.least[::-1]),
        np.ascontiguousarray(choices.most[::-1]),
    )


def _expected_least(low: Floats, high: Floats, weights: Floats) -> float:
    widths = high - low
    if not widths.any():
        order = np.argsort(low, kind="stable")
        rows = np.cumsum(weights[order])
        return float(low[order[min(int(np.searchsorted(rows, _LN_2)), len(rows) - 1)]])
    steep = np.where(widths > 0, weights / np.where(widths > 0, widths, 1.0), 0.0)
    # walking up, rows come in evenly from a low end to a high one, or all at a single value
    ends = np.concatenate([low, high])
    order = np.argsort(ends, kind="stable")
    ends = ends[order]
    slopes = np.cumsum(np.concatenate([steep, -steep])[order])
    jumps = np.concatenate([np.where(widths > 0, 0.0, weights), np.zeros_like(steep)])
    before = np.append(0.0, np.cumsum(slopes[:-1] * np.diff(ends)))
    before[1:] += np.cumsum(jumps[order])[:-1]
    after = before + jumps[order]
    at = min(int(np.searchsorted(after, _LN_2)), len(ends) - 1)
    if at and before[at] > _LN_2 and slopes[at - 1] > 0:
        return float(ends[at - 1] + (_LN_2 - after[at - 1]) / slopes[at - 1])
    return float(ends[at])


def _plain(number: Any) -> Any:
    """Python's number: NumPy's would wrap around."""
    return number.item() if isinstance(number, np.generic) else number
