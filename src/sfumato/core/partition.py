"""A partition: every row in one group at most. Everything published is a view of one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sfumato.core._kernels import rows_and_words, shuffle_groups
from sfumato.core.arrays import Codes, Counts, HalfWords, Words
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.core.boxes import Boxes

LEFT_OUT = -1


class Part(NamedTuple):
    """The groups that rows are in by some of the attributes alone."""

    names: tuple[str, ...]
    partition: Partition


@dataclass(frozen=True, slots=True, eq=False)
class Partition:
    """``groups[i]`` is the group of row i; groups are numbered from 0 and none is empty.

    A row whose group is LEFT_OUT is suppressed: it is not published. An algorithm that recodes
    values gives the ``boxes`` in which groups are to be shown; without any they are drawn as
    tightly as possible. ``notes`` are facts about how the groups were found, for the owner only.
    Where attributes were divided apart from each other, ``parts`` are the groups by each of them:
    a group is what they have in common, and is shown along each attribute as in its part.

    >>> import numpy as np
    >>> sf.Partition.of(np.array([0, 0, 1, 1, 1]))
    Partition(5 rows, 2 groups)
    """

    groups: Codes
    sizes: Counts
    boxes: Boxes | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)
    parts: tuple[Part, ...] = ()

    @classmethod
    def of(
        cls, groups: Codes, boxes: Boxes | None = None, *, notes: Mapping[str, Any] | None = None
    ) -> Partition:
        """Wrap an array of group numbers, checking that no group is empty."""
        if groups.size == 0:
            raise ParameterError("a partition has at least one row", parameter="groups")
        least = groups.min()
        if least < LEFT_OUT:
            raise ParameterError("groups are numbered from 0", parameter="groups")
        kept = groups if least >= 0 else groups[groups >= 0]
        sizes = np.bincount(kept).astype(np.int64, copy=False)
        if not len(sizes):
            raise ParameterError("every row is left out", parameter="groups")
        if not sizes.all():
            empty = int(np.argmin(sizes))
            raise ParameterError(f"group {empty} has no rows", parameter="groups")
        return cls(np.ascontiguousarray(groups, np.int32), sizes, boxes, notes or {})

    @property
    def n_groups(self) -> int:
        """How many groups there are."""
        return len(self.sizes)

    @property
    def n_rows(self) -> int:
        """How many rows there are, left out or not."""
        return len(self.groups)

    @property
    def n_left_out(self) -> int:
        """How many rows are left out."""
        return self.n_rows - int(self.sizes.sum())

    @property
    def first_rows(self) -> Counts:
        """The first row of every group."""
        first = np.empty(self.n_groups, np.int64)
        first[self.groups[::-1]] = np.arange(self.n_rows - 1, -1, -1)  # what is put last stays
        return first

    def loads(self, weights: Counts | None) -> Counts:
        """The sizes of the groups when each row stands for as many as its weight says."""
        if weights is None:
            return self.sizes
        kept = self.groups >= 0
        loads = np.bincount(self.groups[kept], weights[kept], minlength=self.n_groups)
        return loads.astype(np.int64)

    def kept(self) -> tuple[Counts, Partition]:
        """The rows that are not left out, and their partition."""
        rows = np.flatnonzero(self.groups >= 0)
        return rows, replace(self, groups=self.groups[rows])

    def ordered_by(self, words: Words) -> Partition:
        """The same groups, numbered by secret words: an algorithm's own numbers may tell how it
        went.
        """
        order = np.argsort(words, kind="stable")
        number = np.empty(self.n_groups, np.int32)
        number[order] = np.arange(self.n_groups, dtype=np.int32)
        boxes = None if self.boxes is None else self.boxes.taken(order)
        return Partition(number[self.groups], self.sizes[order], boxes, self.notes)

    def published_order(self, words: HalfWords) -> Counts:
        """Rows by the number of their group, in random order inside a group: a word for each.

        As wide as an index is, so that columns can be taken by it without a copy each.
        """
        starts = np.append(0, np.cumsum(self.sizes))
        rows, moved = rows_and_words(self.groups, starts, words)
        if len(rows) != self.n_rows:
            raise ParameterError("sizes are not those of the groups", parameter="sizes")
        shuffle_groups(rows, starts, moved)
        return rows.astype(np.int64)

    def published_groups(self) -> Codes:
        """The group of each row in the published order."""
        return np.repeat(np.arange(self.n_groups, dtype=np.int32), self.sizes)

    def __repr__(self) -> str:
        """Sizes only."""
        words = [f"{len(self.groups):,} rows", f"{len(self.sizes):,} groups"]
        words += ["boxes of their own"] * (self.boxes is not None)
        return f"Partition({', '.join([*words, *map(str, self.notes)])})"
