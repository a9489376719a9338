"""Weighing under a deadline: some lines of intervals at a time, with looks at the clock.

All phases of single-dimensional partitioning spend their time here, so a limit that holds here
holds everywhere. One look may take minutes by itself, where an attribute has thousands of values;
the kernel is therefore given as much work at a time as it does in a fraction of a second.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from sfumato.algorithms.deadline import NEVER, Deadline
from sfumato.algorithms.intervals.kernel import (
    Limits,
    Strip,
    Workspace,
    ways_from_the_start,
    ways_to_the_end,
    weigh_intervals,
)
from sfumato.core._kernels import number_rows
from sfumato.core.arrays import Codes, Counts
from sfumato.core.compiled import announce

_PORTION = 2**21  # glances at sensitive values between two looks at the clock
_SPREAD = 2**22  # counts for which there is room


class Intervals(Protocol):
    """What the intervals of an attribute cost; FORBIDDEN where they may not be."""

    @property
    def n_slabs(self) -> int:
        """How many slabs the attribute has."""
        ...

    def lines(self, first: int, last: int) -> Counts:
        """For slabs a from ``first`` to ``last`` - 1, the cost of a to b - 1, by a and b."""
        ...


Weigh: TypeAlias = Callable[[Strip, int], Intervals]  # those that cost more are not asked for


@dataclass(frozen=True, slots=True, eq=False)
class Weighed:
    """Intervals under rules that are compiled."""

    strip: Strip
    most: int
    limits: Limits
    workspace: Workspace
    deadline: Deadline

    @classmethod
    def of(
        cls, strip: Strip, most: int, *, limits: Limits, n_values: int, deadline: Deadline
    ) -> Weighed:
        """The intervals of a strip; those that cost more than ``most`` may seem forbidden."""
        deadline.check()
        return cls(strip, most, limits, new_workspace(strip, n_values), deadline)

    @property
    def n_slabs(self) -> int:
        """How many slabs the attribute has."""
        return len(self.strip.begins) - 1

    def lines(self, first: int, last: int) -> Counts:
        """Weigh some intervals; the kernel says what they cost."""
        costs = np.empty((last - first, self.n_slabs + 1), np.int64)
        at = np.array([first, first, 0, 0, 0], np.int64)
        while at[0] < last:
            self.deadline.check()
            weigh_intervals(
                self.strip, self.limits, self.workspace, self.most, costs, first, at, _PORTION
            )
        return costs


def new_workspace(strip: Strip, n_values: int) -> Workspace:
    """A workspace for the cells of a strip."""
    n_coarse, n_fine = int(strip.coarse.max()) + 1, int(strip.fine.max()) + 1
    spread = n_coarse * n_values <= _SPREAD
    pairs, starts, values = _wide(strip, n_values) if spread else _narrow(strip, n_coarse)
    return Workspace(
        fine_rows=np.zeros(n_fine, np.int64),
        rows=np.zeros(n_coarse, np.int64),
        penalties=np.zeros(n_coarse, np.int64),
        bounds=np.zeros(n_coarse, np.int64),
        fails=np.zeros(n_coarse, np.bool_),
        seen=np.full(n_coarse, -1, np.int64),
        pairs=pairs,
        counts=np.zeros(n_coarse * n_values if spread else len(values), np.int64),
        spread=spread,
        starts=starts,
        values=values,
        histogram=np.zeros(n_values, np.int64),
        scratch=np.zeros(n_values + 1, np.int64),
    )


def compile_first() -> None:
    """Run the kernels on one point, so that the compiler's time is nobody's search time."""
    announce(weigh_intervals)
    one = np.zeros(1, np.int32)
    strip = Strip(
        order=one,
        begins=np.array([0, 1]),
        fixed=np.ones(1, np.bool_),
        coarse=one,
        fine=one,
        weights=np.ones(1, np.int64),
        sensitive=np.zeros((1, 0), np.int32),
    )
    costs = Weighed.of(strip, 1, limits=ANYTHING, n_values=0, deadline=NEVER).lines(0, 1)
    ways_to_the_end(costs, 0, *np.zeros((2, 2), np.int64))
    ways_from_the_start(costs, 0, *np.zeros((3, 2), np.int64))


ANYTHING = Limits(np.zeros((0, 5)), np.zeros(0), 1)  # every group is good enough


def _wide(strip: Strip, n_values: int) -> tuple[Counts, Counts, Codes]:
    """Every cell has a place for every value."""
    pairs = strip.coarse[:, None].astype(np.int64) * n_values + strip.sensitive
    return pairs, np.zeros(1, np.int64), np.zeros(0, np.int32)


def _narrow(strip: Strip, n_coarse: int) -> tuple[Counts, Counts, Codes]:
    """Every cell has places for the values that occur in it, whichever slab they are in."""
    cells = np.repeat(strip.coarse, strip.sensitive.shape[1])
    values = strip.sensitive.ravel()
    bounds = np.array([n_coarse, int(values.max()) + 1], np.int64)
    number, first, _ = number_rows(np.stack([cells, values], axis=1), bounds)
    order = np.argsort(cells[first], kind="stable")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    starts = np.append(0, np.cumsum(np.bincount(cells[first], minlength=n_coarse)))
    return place[number].reshape(strip.sensitive.shape), starts, values[first[order]]
