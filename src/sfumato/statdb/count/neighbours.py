"""Answers from groups of neighbours: one version for all questions.

In a group of N places q rows satisfy the conditions on quasi-identifiers, and w places have a
wanted value; nobody knows which rows have them. So at least max(0, q - (N - w)) and at most
min(q, w) rows satisfy both (Lemma 3 of Xiao, Tao: "Dynamic anonymization", SIGMOD 2008, for groups
in which values may repeat), and q w / N are to be expected. Any number between the ends is possible
in every group for itself, so the sum of the ends is the interval of the version: none is shorter
that contains the count in every table which the version allows.

A counterfeit is a place without a row: it is in N, and in w if its value is wanted, never in q. The
q rows still have q of the N values, so the same formulas hold.

SUM, AVG, MIN and MAX of the sensitive attribute are those of answers.value_bounds, a cluster per
group: of its w wanted values between the two ends above are chosen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.answers.group_bounds import Counted, Scope
from sfumato.answers.value_bounds import Choices
from sfumato.core.arrays import Codes, Counts, Flags
from sfumato.core.exact import Numbers
from sfumato.statdb.count.boxes import GroupBoxes
from sfumato.statdb.count.conditions import Runs
from sfumato.statdb.count.near_kernel import near_count, near_places, sort_parts
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
    """Neighbourhoods, and how conditions are looked up in their two indexes."""

    stored: Neighbourhoods
    searcher: Searcher
    n_values: int

    def counted(self, quasi: Mapping[int, Runs], wanted: Runs) -> Counted:
        """How many rows satisfy conditions and have a wanted value."""
        return Counted(*near_count(*self._asked(quasi, wanted)))

    def choices(self, quasi: Mapping[int, Runs], wanted: Runs, numbers: Numbers) -> Choices:
        """The values that rows which satisfy conditions may have."""
        groups, rows, starts, places = near_places(*self._asked(quasi, wanted))
        codes, base = self.stored.values_at(places), self.stored.groups.base
        sort_parts(codes, starts)
        sizes = base[groups + 1] - base[groups]
        scope = Scope(rows / sizes, sizes - rows, rows)
        clusters = np.repeat(np.arange(len(groups)), np.diff(starts))
        return Choices.of_groups(numbers[codes], np.ones_like(places), clusters, scope)

    def version(self, _: Mapping[int, Runs]) -> Codes:
        """The group of every place: the same for all conditions."""
        return self.stored.group_of()

    def _asked(self, quasi: Mapping[int, Runs], wanted: Runs) -> tuple[NDArray[Any], ...]:
        """What kernels look at."""
        return (
            self._boxes.bitmaps,
            *self._boxes.in_reach(quasi),
            self.stored.groups.base,
            self.stored.index.bitmaps,
            *self.searcher.search(quasi),
            self.stored.signatures.bitmaps,
            *self._values.search({0: wanted}),
        )

    @cached_property
    def _boxes(self) -> GroupBoxes:
        return GroupBoxes.of(self.stored, self.searcher.sizes)

    @cached_property
    def _values(self) -> Searcher:
        *_, codes = self.stored.codes.values()
        return Searcher.of(self.stored.signatures, [self.n_values], [codes])
