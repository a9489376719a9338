"""Answers from groups of neighbours: one version for all questions.

In a group of N places q rows satisfy the conditions on quasi-identifiers, and w places have a
wanted value; nobody knows which rows have them. So at least max(0, q - (N - w)) and at most
min(q, w) rows satisfy both (Lemma 3 of Xiao, Tao: "Dynamic anonymization", SIGMOD 2008, for groups
in which values may repeat), and q w / N are to be expected. Any number between the ends is possible
in every group for itself, so the sum of the ends is the interval of the version: none is shorter
that contains the count in every table which the version allows.

A counterfeit is a place without a row: it is in N, and in w if its value is wanted, never in q. The
q rows still have q of the N values, so the same formulas hold.

**Boxes.** In the framework "generalization" a group shows the least box around its rows, and not
which of them satisfy a condition. All n rows do if the box lies inside the conditions, and any
number of them if it lies partly inside; so a group that lies inside adds max(0, n - (N - w)) and
min(n, w), and one that lies partly inside 0 and min(n, w) (Lemma 2). What to expect is n w / N
times the part of the box that lies in the conditions. Where rows are regrouped, any rows of a
cohort may have to share a box, and it is large; that of neighbours is small from the start.

SUM, AVG, MIN and MAX of the sensitive attribute are those of answers.value_bounds, a cluster per
group: of its w wanted values between the two ends above are chosen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from sfumato.answers.group_bounds import Counted, Scope
from sfumato.answers.value_bounds import Choices
from sfumato.core.arrays import Codes, Counts, Flags
from sfumato.core.exact import Numbers
from sfumato.statdb.count.boxes import GroupBoxes
from sfumato.statdb.count.conditions import Runs
from sfumato.statdb.count.near_kernel import codes_by_part, near_count, near_tally, wanted_places
from sfumato.statdb.count.search import Searcher
from sfumato.statdb.layout.neighbourhoods import Neighbourhoods


def near_count_plain(base: Counts, satisfies: Flags, wanted: Flags) -> tuple[float, int, int]:
    """Expected, fewest and most rows: what the kernel is compared with.

    ``satisfies`` says of every place whether it has a row that satisfies the conditions on
    quasi-identifiers, ``wanted`` whether it has a wanted value.
    """
    expected, lo, hi = 0.0, 0, 0
    for begin, end in pairwise(base.tolist()):
        n, q, w = end - begin, int(satisfies[begin:end].sum()), int(wanted[begin:end].sum())
        expected += q * w / n
        lo += max(0, q - (n - w))
        hi += min(q, w)
    return expected, lo, hi


@dataclass(frozen=True, eq=False)
class NearAnswers:
    """Neighbourhoods, and how conditions are looked up in their two indexes.

    With ``boxed`` the quasi-identifiers of a group are not shown, only its box.
    """

    stored: Neighbourhoods
    searcher: Searcher
    n_values: int
    boxed: bool

    def counted(self, quasi: Mapping[int, Runs], wanted: Runs) -> Counted:
        """How many rows satisfy conditions and have a wanted value."""
        if not self.boxed:
            return Counted(*near_count(*self._asked(quasi, quasi, wanted)))
        _, values, scope = self._tally(quasi, wanted)
        lo, hi = int(scope.fewest(values).sum()), int(scope.most(values).sum())
        return Counted(min(max(float(scope.share @ values), lo), hi), lo, hi)

    def choices(self, quasi: Mapping[int, Runs], wanted: Runs, numbers: Numbers) -> Choices:
        """The values that rows which satisfy conditions may have."""
        stored = self.stored
        groups, values, scope = self._tally(quasi, wanted)
        search = self._signatures.search({0: wanted})
        places = wanted_places(
            groups, values, stored.groups.base, stored.signatures.bitmaps, *search
        )
        codes, counts, clusters = codes_by_part(stored.values_at(places), values)
        return Choices.of_groups(numbers[codes], counts, clusters, scope)

    def version(self, _: Mapping[int, Runs]) -> Codes:
        """The group of every place: the same for all conditions."""
        return self.stored.group_of()

    def _tally(self, quasi: Mapping[int, Runs], wanted: Runs) -> Tally:
        """Groups in reach, their wanted places, and how far conditions reach into them."""
        boxed, base = self.boxed, self.stored.groups.base
        groups, rows, values = near_tally(*self._asked(quasi, {} if boxed else quasi, wanted))
        sizes = base[groups + 1] - base[groups]
        share, lack = rows / sizes, sizes - rows
        if boxed:
            part = self._boxes.shares(groups, quasi)
            lack, share = np.where(part == 1.0, lack, sizes), share * part
            # a corner of a rectangle may be no part of a circle: nobody of the group is inside
            touched = part > 0
            groups, values = groups[touched], values[touched]
            share, lack, rows = share[touched], lack[touched], rows[touched]
        return Tally(groups, values, Scope(share, lack, rows))

    def _asked(
        self, reached: Mapping[int, Runs], quasi: Mapping[int, Runs], wanted: Runs
    ) -> tuple[Any, ...]:
        """What kernels look at: groups in reach, rows that satisfy conditions, wanted places."""
        groups = self._boxes.in_reach(reached)
        rows, more = self.searcher.ways(quasi)
        values, value_more = self._signatures.ways({0: wanted})
        return (
            self.stored.index.bitmaps,
            more,
            self.stored.signatures.bitmaps,
            value_more,
            self._boxes.bitmaps,
            self.stored.groups.base,
            np.array(groups + rows + values, np.int64),
            len(groups),
            len(groups) + len(rows),
        )

    @cached_property
    def _boxes(self) -> GroupBoxes:
        return GroupBoxes.of(self.stored, self.searcher.sizes, self.searcher.pairs)

    @cached_property
    def _signatures(self) -> Searcher:
        *_, codes = self.stored.codes.values()
        return Searcher.of(self.stored.signatures, [self.n_values], [codes])


class Tally(NamedTuple):
    """Groups, the number of their places with a wanted value, and of rows that may have them."""

    groups: Codes
    values: Counts
    scope: Scope
