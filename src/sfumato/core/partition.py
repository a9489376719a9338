"""A partition: every row in exactly one group. Everything published is a view of one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.core._kernels import rows_by_group, shuffle_groups
from sfumato.core.arrays import Codes, Counts
from sfumato.core.randomness import Randomness
from sfumato.errors import ParameterError


@dataclass(frozen=True, slots=True, eq=False)
class Partition:
    """``groups[i]`` is the group of row i; groups are numbered from 0 and none is empty."""

    groups: Codes
    sizes: Counts

    @classmethod
    def of(cls, groups: Codes) -> Partition:
        """Wrap an array of group numbers, checking that no group is empty."""
        if groups.size == 0:
            raise ParameterError("a partition has at least one row", parameter="groups")
        if groups.min() < 0:
            raise ParameterError("groups are numbered from 0", parameter="groups")
        sizes = np.bincount(groups).astype(np.int64)
        if not sizes.all():
            empty = int(np.argmin(sizes))
            raise ParameterError(f"group {empty} has no rows", parameter="groups")
        return cls(groups=np.ascontiguousarray(groups, np.int32), sizes=sizes)

    @property
    def n_groups(self) -> int:
        """How many groups there are."""
        return len(self.sizes)

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self.groups)

    def relabelled(self, randomness: Randomness) -> Partition:
        """The same groups under random numbers: an algorithm's own may tell how it went."""
        number = np.empty(self.n_groups, np.int32)
        number[randomness.permutation(self.n_groups)] = np.arange(self.n_groups, dtype=np.int32)
        sizes = np.empty_like(self.sizes)
        sizes[number] = self.sizes
        return Partition(groups=number[self.groups], sizes=sizes)

    def published_order(self, randomness: Randomness) -> Codes:
        """Rows by the number of their group, in random order inside a group."""
        rows, starts = rows_by_group(self.groups, self.n_groups)
        shuffle_groups(rows, starts, randomness.half_words(self.n_rows))
        return rows

    def published_groups(self) -> Codes:
        """The group of each row in the published order."""
        return np.repeat(np.arange(self.n_groups, dtype=np.int32), self.sizes)
