"""The way of a condition through the index: which bitmaps are combined, and how."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np

from sfumato.core.arrays import Counts, Ints, Words
from sfumato.statdb.count.conditions import Runs
from sfumato.statdb.count.match_kernel import mark_codes
from sfumato.statdb.count.point_kernel import mark_points
from sfumato.statdb.count.points import Pair
from sfumato.statdb.layout.index import EVERYBODY, NOBODY, Index

_MOST_STEPS = 256  # looking at every row takes about as long as so many bitmaps
_MOST_KNOWN = 4096  # conditions whose way is remembered: many questions share some
Known: TypeAlias = dict[tuple[int, Runs], tuple[int, ...]]


class Search(NamedTuple):
    """Conditions as match_kernel.py reads them, and bitmaps made for this search only."""

    steps: Counts
    more: Words


@dataclass(frozen=True, slots=True, eq=False)
class Searcher:
    """The index as plain lists, which Python reads faster than arrays, and the codes at places."""

    bitmaps: Words
    digits: tuple[tuple[tuple[int, int], ...], ...]  # per attribute: base and first bitmap
    sizes: tuple[int, ...]
    codes: tuple[Ints, ...]
    nothing_more: Words
    known: Known
    pairs: tuple[Pair, ...] = ()

    @classmethod
    def of(
        cls,
        index: Index,
        sizes: Sequence[int],
        codes: Sequence[Ints],
        pairs: Sequence[Pair] = (),
    ) -> Searcher:
        """Prepare an index; ``sizes`` are the numbers of codes, ``pairs`` are points, whose places
        come after those of attributes.
        """
        starting = list(zip(index.bases.tolist(), index.first.tolist(), strict=True))
        starts = index.digit_starts.tolist()
        digits = tuple(tuple(starting[a:b]) for a, b in pairwise(starts))
        none = np.empty((0, index.bitmaps.shape[1]), np.uint64)
        return cls(index.bitmaps, digits, tuple(sizes), tuple(codes), none, {}, tuple(pairs))

    def search(self, conditions: Mapping[int, Runs]) -> Search:
        """What to combine for conditions on quasi-identifiers, by their places in the schema."""
        steps, more = self.ways(conditions)
        return Search(np.array(steps, np.int64), more)

    def ways(self, conditions: Mapping[int, Runs]) -> tuple[list[int], Words]:
        """The same with steps that are still to be joined with others."""
        steps: list[int] = []
        more: list[Words] = []
        for condition in conditions.items():
            quasi, runs = condition
            if quasi >= len(self.digits):
                more.append(self._points(quasi, runs, conditions))
                continue
            known = self.known.get(condition)
            if known is not None:
                steps += known
            elif 4 * len(runs) * len(self.digits[quasi]) > _MOST_STEPS:
                more.append(self._marked(quasi, runs))
            else:
                steps += self._way(quasi, runs)
        return steps, np.stack(more) if more else self.nothing_more

    def _way(self, quasi: int, runs: Runs) -> tuple[int, ...]:
        """The steps of one condition, which are remembered."""
        steps = [len(runs), len(self.digits[quasi])]
        for first, last in runs:
            self._add_end(steps, quasi, last)
            self._add_end(steps, quasi, first - 1)
        return remembered(self.known, (quasi, runs), steps)

    def _add_end(self, steps: list[int], quasi: int, last: int) -> None:
        """The steps of "code <= last"."""
        digits = self.digits[quasi]
        if last < 0 or last >= self.sizes[quasi] - 1:
            whole = NOBODY if last < 0 else EVERYBODY
            steps += (whole, NOBODY) * len(digits)
            return
        if len(digits) == 1:
            steps += (digits[0][1] + last, NOBODY)
            return
        for base, first in digits:
            last, digit = divmod(last, base)
            up_to = EVERYBODY if digit == base - 1 else first + digit
            # the least significant digit has no smaller number below it
            if (base, first) == digits[0]:
                steps += (up_to, NOBODY)
            else:
                steps += (NOBODY if digit == 0 else first + digit - 1, up_to)

    def _points(self, place: int, runs: Runs, conditions: Mapping[int, Runs]) -> Words:
        """Those of a region, among the places in the rectangle around it."""
        pair = self.pairs[place - len(self.digits)]
        around = {axis: conditions[axis] for axis in (pair.x, pair.y) if axis in conditions}
        steps, more = self.ways(around)
        xs, ys = (self.codes[axis].astype(np.int32) for axis in (pair.x, pair.y))
        return mark_points(
            self.bitmaps, np.array(steps, np.int64), more, xs, ys, *pair.region(runs)
        )

    def _marked(self, quasi: int, runs: Runs) -> Words:
        marks = np.zeros(self.sizes[quasi], np.int64)
        for first, last in runs:
            marks[first : last + 1] = 1
        return mark_codes(self.codes[quasi].astype(np.int32), marks, self.bitmaps[EVERYBODY])


def remembered(known: Known, condition: tuple[int, Runs], steps: list[int]) -> tuple[int, ...]:
    """The steps of a condition, for the next time, too."""
    if len(known) >= _MOST_KNOWN:
        known.clear()
    known[condition] = found = tuple(steps)
    return found
