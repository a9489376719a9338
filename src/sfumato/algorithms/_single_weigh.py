"""Weighing under a deadline: portion by portion, with a look at the clock before each.

All phases of single-dimensional partitioning spend their time here, so a limit that holds here
holds everywhere. One look may take minutes by itself, where an attribute has thousands of values;
the kernel is therefore given as many first slabs at a time as it weighs in a fraction of a second.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from time import monotonic

import numpy as np

from sfumato.algorithms._single_kernel import (
    FORBIDDEN,
    Limits,
    Strip,
    best_ways,
    new_tray,
    weigh_intervals,
)
from sfumato.core.arrays import Counts
from sfumato.core.compiled import announce

_PORTION = 2**24  # visits to points, each of them with a glance at its cell's sensitive values
_VISIT = 8  # what a visit costs, in sensitive values glanced at


class OutOfTime(Exception):
    """The limit has passed; the search goes home with what it has."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment of the monotonic clock after which no work is begun."""

    until: float

    @classmethod
    def after(cls, seconds: float | None) -> Deadline:
        """So many seconds from now; None for no end."""
        return cls(math.inf if seconds is None else monotonic() + seconds)

    def check(self) -> None:
        """Raise OutOfTime after the deadline."""
        if monotonic() >= self.until:
            raise OutOfTime


def weighed(strip: Strip, limits: Limits, n_values: int, deadline: Deadline) -> Counts:
    """What weigh_intervals finds for all intervals of a strip."""
    n_slabs = len(strip.begins) - 1
    tray = new_tray(strip, n_values)
    # filled row by row as it is weighed: a large one takes seconds by that alone
    costs = np.empty((n_slabs + 1, n_slabs + 1), np.int64)
    costs[n_slabs] = FORBIDDEN
    step = max(1, _PORTION // (len(strip.order) * (_VISIT + n_values)))
    for first in range(0, n_slabs, step):
        deadline.check()
        weigh_intervals(strip, limits, tray, costs, first, min(first + step, n_slabs))
    return costs


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
    best_ways(weighed(strip, ANYTHING, 0, Deadline(math.inf)))


ANYTHING = Limits(np.zeros((0, 5)), np.zeros(0), 1)  # every group is good enough
