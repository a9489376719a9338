"""Points between cuts that are certain, possible, or ruled out: what the search looks at.

The domain of an attribute with m values has m + 1 boundaries; a cut is one that lies between two
values. A grid under construction marks every boundary as IN, OPEN or OUT, attribute after attribute
in one array; the ends of a domain are always IN.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfumato.algorithms.deadline import NEVER, Deadline
from sfumato.algorithms.intervals.kernel import Strip
from sfumato.core._kernels import number_rows
from sfumato.core.arrays import Codes, Counts, Flags

OUT, OPEN, IN = np.int8(0), np.int8(1), np.int8(2)
Marks: TypeAlias = NDArray[np.int8]


@dataclass(frozen=True, slots=True, eq=False)
class Crowd:
    """Different rows with how often they occur: codes from 0 without gaps, sensitive values.

    ``slices`` are where the marks of each attribute lie, ``n_values`` is the number of sensitive
    values. Rows are only told apart where a cut is ``possible``, laid out like marks. The clock is
    looked at before each pass over the points.
    """

    codes: Codes
    sensitive: Codes
    weights: Counts
    slices: tuple[slice, ...]
    n_values: int
    possible: Flags
    deadline: Deadline = NEVER

    @classmethod
    def of(cls, codes: Codes, sensitive: Codes, n_values: int) -> Crowd:
        """Every row once, all cuts possible."""
        lengths = codes.max(axis=0) + 2
        ends = np.cumsum(lengths)
        slices = tuple(map(slice, (ends - lengths).tolist(), ends.tolist()))
        ones = np.ones(len(codes), np.int64)
        return cls(codes, sensitive, ones, slices, n_values, np.ones(ends[-1], np.bool_))

    def marks(self, inside: np.int8) -> Marks:
        """Marks that are the same for every possible cut."""
        marks = np.where(self.possible, inside, OUT)
        for part in self.slices:
            marks[[part.start, part.stop - 1]] = IN
        return marks

    def between(self, marks: Marks, least: np.int8) -> Codes:
        """The interval of each point on each attribute, between cuts marked this or more."""
        columns = [
            (np.cumsum(marks[part][:-1] >= least) - 1).astype(np.int32)[self.codes[:, j]]
            for j, part in enumerate(self.slices)
        ]
        return np.stack(columns, axis=1)

    def every(self, parts: int) -> Marks:
        """Marks at cuts between which about equally many rows lie, so many parts per attribute."""
        marks = self.marks(OUT)
        for j, part in enumerate(self.slices):
            rows = np.bincount(self.codes[:, j], weights=self.weights)
            nth = (np.cumsum(rows) * parts / rows.sum()).astype(np.int64)
            marks[part][1:-1][np.diff(nth, prepend=0)[:-1] > 0] = OPEN
        return np.where(self.possible, marks, OUT)

    def merged(self, marks: Marks) -> Crowd:
        """The same crowd, rows taken together that no possible cut can separate."""
        keys = np.concatenate([self.between(marks, OPEN), self.sensitive], axis=1)
        number, first = number_cells(keys)
        weights = np.bincount(number, weights=self.weights).astype(np.int64)
        return replace(
            self,
            codes=self.codes[first],
            sensitive=self.sensitive[first],
            weights=weights,
            possible=marks > OUT,
        )


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """A crowd seen through marks: the interval of every point, fine and coarse."""

    crowd: Crowd
    marks: Marks
    fine: Codes
    coarse: Codes

    @classmethod
    def through(cls, crowd: Crowd, marks: Marks) -> View:
        """What can still be told apart, and what certainly is."""
        crowd.deadline.check()
        crowd = crowd.merged(marks)
        return cls(crowd, marks, crowd.between(marks, OPEN), crowd.between(marks, IN))

    def strip(self, axis: int) -> Strip:
        """The points along one attribute, in slabs between cuts that are possible."""
        self.crowd.deadline.check()
        part = self.marks[self.crowd.slices[axis]]
        slabs = self.fine[:, axis]
        return Strip(
            order=np.argsort(slabs, kind="stable").astype(np.int32),
            begins=np.append(0, np.cumsum(np.bincount(slabs))),
            fixed=(part[part > OUT] == IN)[1:],
            coarse=_elsewhere(self.coarse, axis),
            fine=_elsewhere(self.fine, axis),
            weights=self.crowd.weights,
            sensitive=self.crowd.sensitive,
        )


def number_cells(keys: Codes) -> tuple[Codes, Codes]:
    """Numbers for different rows of keys, and where each occurs first."""
    bounds = keys.max(axis=0, initial=0).astype(np.int64) + 1
    number, first, _ = number_rows(np.ascontiguousarray(keys), bounds)
    return number, first


def _elsewhere(intervals: Codes, axis: int) -> Codes:
    """Numbers for the cells on all other attributes."""
    return number_cells(np.delete(intervals, axis, axis=1))[0]
