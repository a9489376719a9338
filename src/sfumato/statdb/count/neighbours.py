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

import numpy as np

from sfumato.answers.group_bounds import Counted, Scope
from sfumato.answers.value_bounds import Choices
from sfumato.core.arrays import Codes, Counts, Flags
from sfumato.core.exact import Numbers
from sfumato.statdb.count.conditions import Runs
from sfumato.statdb.count.near_kernel import near_count, near_tally
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
        stored = self.stored
        hulls = [(axis, runs[0][0], runs[-1][1]) for axis, runs in quasi.items()]
        return Counted(
            *near_count(
                stored.index.bitmaps,
                *self.searcher.search(quasi),
                np.array(hulls, np.int64).reshape(-1, 3),
                stored.signatures.bitmaps,
                *self._values.search({0: wanted}),
                stored.groups,
            )
        )

    def choices(self, quasi: Mapping[int, Runs], wanted: Runs, numbers: Numbers) -> Choices:
        """The values that rows which satisfy conditions may have."""
        stored, (groups, codes, counts) = self.stored, self._entries
        sizes = stored.groups.sizes
        found = near_tally(stored.index.bitmaps, *self.searcher.search(quasi), stored.groups)
        marks = np.zeros(self.n_values, np.bool_)
        for first, last in wanted:
            marks[first : last + 1] = True
        kept = marks[codes] & (found[groups] > 0)
        scope = Scope(found / sizes, sizes - found, found)
        return Choices.of_groups(numbers[codes[kept]], counts[kept], groups[kept], scope)

    def version(self, _: Mapping[int, Runs]) -> Codes:
        """The group of every place: the same for all conditions."""
        return self.stored.group_of()

    @cached_property
    def _values(self) -> Searcher:
        *_, codes = self.stored.codes.values()
        return Searcher.of(self.stored.signatures, [self.n_values], [codes])

    @cached_property
    def _entries(self) -> tuple[Counts, Codes, Counts]:
        """All signatures: group, value and how often it has it."""
        keys = self.stored.group_of() * np.int64(self.n_values) + self.stored.values
        found, counts = np.unique(keys, return_counts=True)
        groups, codes = np.divmod(found, self.n_values)
        return groups, codes.astype(np.int32), counts
