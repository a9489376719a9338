"""Places: learnt from some people, what the place of a line in its group tells of its value.

``positions`` looks for two orders, that of the owner's table and that of the values. Files may be
in another one: that in which an algorithm put rows into groups, the commonest value first; that of
an index; or only the first line of every group stands out. Whoever knows the values of half of the
people need not know which. How often each place, counted from the front, from the back and in
tenths of the group, goes with each value is counted among them, and the others are guessed by it:
a naive Bayes learner that looks at nothing but places.

As a control, everybody is given a place in the group at random.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sfumato.audits.attacks.frame import Candidates
from sfumato.audits.attacks.matching import Guesses
from sfumato.audits.attacks.outside import Outside
from sfumato.audits.attacks.positions import Positions, ranks
from sfumato.core.arrays import Codes, Floats, Ints
from sfumato.learning.naive_bayes import WEIGHT, log_chances

_ENDS, _TENTHS = 16, 10  # places that are told apart


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """The places of everybody's line, in codes of their own for each way to count them."""

    places: Codes

    @classmethod
    def of(cls, seen: Positions) -> Places:
        """As the lines stand in the file."""
        assert seen.groups is not None
        rank, size = ranks(seen.groups, seen.order), np.diff(seen.starts)[seen.groups]
        back = np.maximum(size - 1 - rank, 0)
        tenth = np.minimum(rank * _TENTHS // np.maximum(size, 1), _TENTHS - 1)
        columns = [np.minimum(rank, _ENDS - 1), np.minimum(back, _ENDS - 1), tenth]
        return cls(np.stack(columns, axis=1, dtype=np.int32))

    def guess(self, candidates: Candidates, known: Ints | None = None) -> Guesses:
        """What ``known`` values (-1: not known) teach of places: the others are guessed by it."""
        assert known is not None
        told = np.flatnonzero(known >= 0)
        tables = [
            log_chances(_counted(column[told], known[told], candidates.n_values), WEIGHT)
            for column in self.places.T
        ]
        return Outside(_Learnt(tuple(tables))).guess(replace(candidates, points=self.places))


@dataclass(frozen=True, slots=True, eq=False)
class _Learnt:
    """Logarithms of the chance of each place given a value."""

    tables: tuple[Floats, ...]

    def log_chances(self, points: Codes) -> Floats:
        """The logarithm of the chance of every value, up to a constant."""
        found = np.zeros((len(points), self.tables[0].shape[1]))
        for table, column in zip(self.tables, points.T, strict=True):
            found += table[column]
        return found


def _counted(places: Codes, values: Ints, n_values: int) -> Floats:
    width = int(max(_ENDS, _TENTHS))
    sums = np.bincount(places * n_values + values, minlength=width * n_values)
    return sums.reshape(width, n_values).astype(np.float64)
