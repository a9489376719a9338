"""How far the rest of a query reaches into each group.

A published table shows, group by group, how many rows satisfy the conditions on its columns. The
conditions on everything else (another table of the release, or the sides of a box) say less: how
many rows of the group satisfy them, but not which. Of m rows that one table finds in a group of n,

    expected   m * share          share: the part of the group that satisfies the rest
    at least   max(0, m - lack)   lack: how many rows of the group surely or possibly fail the rest
    at most    min(m, cap)        cap: how many rows can satisfy the rest

satisfy the whole query. With two tables these are the functions h- and h+ of Lemma 3 (Xiao, Tao:
"Dynamic anonymization", SIGMOD 2008), n - lack and cap being the count in the other table; with a
box, lack is 0 or n and cap n or 0, which makes the sets F- and F+ of Lemma 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sfumato.answers.kernels import add_up
from sfumato.core.arrays import Counts, Flags, Floats
from sfumato.errors import QueryRefused


class Counted(NamedTuple):
    """A count: what to expect, and between what it surely lies."""

    estimate: float
    lo: int
    hi: int


@dataclass(frozen=True, slots=True, eq=False)
class Scope:
    """Share, lack and cap of every group."""

    share: Floats
    lack: Counts
    cap: Counts

    @classmethod
    def whole(cls, sizes: Counts) -> Scope:
        """Nothing else is asked: every row of the groups of these sizes satisfies it."""
        return cls(np.ones(len(sizes)), np.zeros(len(sizes), np.int64), sizes)

    @property
    def reached(self) -> Flags:
        """Groups in which some row can satisfy the rest."""
        return self.cap > 0

    def within(self, found: Counts, sizes: Counts) -> Scope:
        """The scope with one more table, that finds so many rows in the groups of these sizes."""
        return Scope(
            self.share * (found / sizes), self.lack + (sizes - found), np.minimum(self.cap, found)
        )

    def fewest(self, found: Counts) -> Counts:
        """Of the rows found in each group, how many surely satisfy the rest."""
        fewest: Counts = np.maximum(found - self.lack, 0)
        return fewest

    def most(self, found: Counts) -> Counts:
        """Of the rows found in each group, how many can satisfy the rest."""
        most: Counts = np.minimum(found, self.cap)
        return most


class Found(NamedTuple):
    """How many rows of each group one table finds, and the scope of the rest.

    Rows that were ``left_out`` of a release are in no group, and may satisfy anything.
    """

    rows: Counts
    scope: Scope
    left_out: int = 0

    def counted(self) -> Counted:
        """The count over all groups."""
        scope = self.scope
        estimate, lo, hi = add_up(self.rows, scope.share, scope.lack, scope.cap)
        # a sum of shares may be rounded, and that of a correction be anywhere
        hi += self.left_out
        return Counted(float(min(max(estimate, lo), hi)), lo, hi)


def require_all_there(left_out: int, function: str) -> None:
    """Raise where rows were left out: nothing is known of their values."""
    if left_out:
        raise QueryRefused(
            f"{left_out:,} rows were left out of this release, and nothing is known of their "
            f"values; only COUNT can be bounded, not {function.upper()}",
            clause=function.upper(),
        )
