"""The boxes of groups of neighbours, and an index over groups that finds those in reach.

A group is *in reach* of conditions if its box has something in common with each; no row of another
group satisfies them. A box has two ends on every quasi-identifier, and "the low end is at most the
last code wanted, the high end at least the first" are conditions like any other: groups are looked
up in bitmaps as rows are (layout/index.py), some hundreds of words for a million rows.

Boxes are those of the rows that are there, found when a database is first asked and not stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.core.arrays import Codes, Flags, Floats, Words
from sfumato.statdb.count.conditions import Runs
from sfumato.statdb.count.point_kernel import codes_inside
from sfumato.statdb.count.points import Pair
from sfumato.statdb.count.search import Known, Searcher, remembered
from sfumato.statdb.layout.bucketization import WORD
from sfumato.statdb.layout.index import choose_bases, index_in
from sfumato.statdb.layout.neighbourhoods import Neighbourhoods, marked_words

_MOST_BITMAPS = 1024  # two bytes for each row where groups have 64


@dataclass(frozen=True, slots=True, eq=False)
class GroupBoxes:
    """The ends of every group's box, a line per quasi-identifier, and how they are looked up."""

    low: Codes
    high: Codes
    searcher: Searcher
    known: Known
    pairs: tuple[Pair, ...] = ()

    @classmethod
    def of(
        cls, stored: Neighbourhoods, sizes: Sequence[int], pairs: tuple[Pair, ...] = ()
    ) -> GroupBoxes:
        """The boxes of stored groups; ``sizes`` are those of the domains, ``pairs`` points."""
        occupied, groups = stored.occupied(), stored.groups
        # a group without a row is dropped when its last one leaves, so none is empty
        starts = np.searchsorted(occupied, groups.base[:-1])
        *columns, _ = stored.codes.values()
        rows = [column[occupied] for column in columns]
        low = np.array([np.minimum.reduceat(one, starts) for one in rows], np.int32)
        high = np.array([np.maximum.reduceat(one, starts) for one in rows], np.int32)
        n_words = -(-groups.n_groups // WORD)
        ends = np.stack([low, high], axis=1).reshape(-1, groups.n_groups)
        ends = np.pad(ends, ((0, 0), (0, n_words * WORD - groups.n_groups)))
        twice = np.repeat(np.array(sizes), 2).tolist()
        everybody = marked_words(np.ones(groups.n_groups, np.bool_), n_words)
        index = index_in(choose_bases(twice, _MOST_BITMAPS), list(ends), everybody)
        return cls(low, high, Searcher.of(index, twice, list(ends)), {}, pairs)

    @property
    def bitmaps(self) -> Words:
        """The bitmaps over groups."""
        return self.searcher.bitmaps

    def in_reach(self, quasi: Mapping[int, Runs]) -> list[int]:
        """The steps to the groups in reach of conditions, by their places in the schema."""
        steps: list[int] = []
        for condition in quasi.items():
            if condition[0] >= len(self.low):
                continue  # a point: x and y say where
            steps += self.known.get(condition) or self._way(*condition)
        return steps

    def inside(self, groups: Codes, quasi: Mapping[int, Runs]) -> Flags:
        """Whether the boxes of groups lie inside conditions, which are single runs."""
        found: Flags = self.shares(groups, quasi) == 1.0
        return found

    def shares(self, groups: Codes, quasi: Mapping[int, Runs]) -> Floats:
        """The part of every box that lies in conditions, all codes in it being equally likely."""
        share = np.ones(len(groups))
        done: set[int] = set()
        for place in range(len(self.low), len(self.low) + len(self.pairs)):
            if place in quasi:
                pair = self.pairs[place - len(self.low)]
                share *= self._part(groups, pair, quasi[place])
                done |= {place, pair.x, pair.y}
        for axis in quasi.keys() - done:
            ((first, last),) = quasi[axis]
            low, high = self.low[axis, groups], self.high[axis, groups]
            share *= (np.minimum(high, last) - np.maximum(low, first) + 1) / (high - low + 1)
        return share

    def _part(self, groups: Codes, pair: Pair, runs: Runs) -> Floats:
        """The part of every box that lies in a region, which is inside of x and y."""
        region = pair.region(runs)
        x_low, x_high, y_low, y_high = (
            side[axis] for axis in (pair.x, pair.y) for side in (self.low, self.high)
        )
        found = codes_inside(groups, x_low, x_high, y_low, y_high, region.low, region.high)
        sizes = (x_high - x_low + 1).astype(np.int64) * (y_high - y_low + 1)
        part: Floats = found / sizes[groups]
        return part

    def _way(self, axis: int, runs: Runs) -> tuple[int, ...]:
        """The steps of one condition, as two: one for each end of a box."""
        low, high = 2 * axis, 2 * axis + 1
        last = self.searcher.sizes[high] - 1
        steps, _ = self.searcher.ways({low: ((0, runs[-1][1]),), high: ((runs[0][0], last),)})
        return remembered(self.known, (axis, runs), steps)
