"""Exact values of rows, kept group by group: QIT, ST, the exact columns beside boxes, microdata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from sfumato.answers.arrays import Marks
from sfumato.answers.bits import count_bits, group_bits
from sfumato.answers.group_bounds import Scope
from sfumato.answers.kernels import mark_cells, tally, tally_by, tally_single
from sfumato.answers.packing import Domain, Pack, Where, marks_of, packed, place_of
from sfumato.answers.value_bounds import Choices
from sfumato.core._kernels import rows_by_group
from sfumato.core.arrays import Codes, Counts, Flags, Floats, HalfWords, Ints, Words
from sfumato.core.attribute import Attribute
from sfumato.core.histograms import Histograms


class KeyCounts(NamedTuple):
    """Counts per value of one attribute, in the order of its domain."""

    keys: Sequence[object]
    estimate: Floats
    lo: Counts
    hi: Counts

    def with_left_out(self, rows: int) -> KeyCounts:
        """The same where so many rows may have any of these values."""
        return self._replace(hi=np.where(self.hi > 0, self.hi + rows, 0))


class _Wanted(NamedTuple):
    """Which packed columns have marks, the marks in one array, and where those of each begin."""

    active: Counts
    marks: Marks
    places: Counts


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Cells of equal group one after the other; each stands for one row, or for ``counts``."""

    packs: tuple[Pack, ...]
    columns: HalfWords
    starts: Words
    counts: HalfWords
    bits: Words | None = None  # see bits.py
    _keys: dict[str, HalfWords] = field(default_factory=dict, repr=False)
    _pack_of: dict[str, int] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls,
        columns: Sequence[tuple[Attribute, Ints]],
        groups: Codes,
        n_groups: int,
        counts: Ints | None = None,
    ) -> Rows:
        """Cells given by their codes and groups."""
        if counts is not None and (counts == 1).all():
            counts = None
        if (groups[1:] >= groups[:-1]).all():
            starts = np.append(0, np.cumsum(np.bincount(groups, minlength=n_groups)))
        else:
            rows, starts = rows_by_group(groups, n_groups)
            columns = [(attribute, codes[rows]) for attribute, codes in columns]
            counts = None if counts is None else counts[rows]
        kept = np.empty(0, np.uint32) if counts is None else counts.astype(np.uint32)
        bits = group_bits(columns[0], starts) if len(columns) == 1 and counts is None else None
        return cls(*packed(columns, len(groups)), starts.astype(np.uint64), kept, bits)

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes that conditions can be about."""
        return tuple(domain.name for pack in self.packs for domain in pack)

    def asked(self, where: Where) -> bool:
        """Whether some condition is about these attributes."""
        known = self._index()
        return any(name in known for name in where)

    def sizes(self) -> Counts:
        """How many rows each group has."""
        if not self.counts.size:
            return np.diff(self.starts).astype(np.int64)
        ends = np.append(0, np.cumsum(self.counts, dtype=np.int64))
        return np.diff(ends[self.starts])

    def codes(self, name: str) -> HalfWords:
        """The codes of one attribute, unpacked when they are first needed."""
        if name not in self._keys:
            pack, stride, domain = place_of(self.packs, name)
            codes = self.columns[pack]
            if len(self.packs[pack]) > 1:
                codes = codes // np.uint32(stride) % np.uint32(max(1, domain.size))
            self._keys[name] = codes
        return self._keys[name]

    def attribute(self, name: str) -> Attribute:
        """The attribute of a name."""
        return place_of(self.packs, name).domain.attribute

    def groups(self) -> Codes:
        """The group of every cell."""
        lengths = np.diff(self.starts).astype(np.int64)
        return np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)

    def histograms(self, name: str) -> Histograms:
        """How often each value of an attribute occurs in each group."""
        counts = self.counts.astype(np.int64) if self.counts.size else None
        codes = self.codes(name).astype(np.int32)
        n_groups = len(self.starts) - 1
        return Histograms.of_groups(self.attribute(name), codes, self.groups(), n_groups, counts)

    def tally(self, where: Where, scope: Scope) -> Counts:
        """How many rows of each group satisfy the conditions; groups out of scope may say 0."""
        wanted = self._wanted(where)
        if not wanted.active.size:
            return self.sizes()
        if self.bits is not None:
            return count_bits(self.bits, wanted.marks)
        return tally(self.starts, self.columns, *wanted, self.counts, scope.reached)

    def tally_by(self, where: Where, name: str, scope: Scope) -> KeyCounts:
        """Counts for every value of an attribute at once."""
        domain = place_of(self.packs, name).domain
        if self.bits is not None:
            return self._tally_single(where, domain, scope)
        found = tally_by(
            self.starts,
            self.columns,
            *self._wanted(where),
            self.counts,
            self.codes(name),
            max(1, domain.size),
            scope.share,
            scope.lack,
            scope.cap,
        )
        return KeyCounts(domain.values, *found)

    def _tally_single(self, where: Where, domain: Domain, scope: Scope) -> KeyCounts:
        """The one column is the key, so a condition can only be about the key itself."""
        found = tally_single(
            self.starts, self.columns[0], domain.size, scope.share, scope.lack, scope.cap
        )
        if domain.name in where:
            kept = domain.marks(where[domain.name])
            found = (found[0] * kept, found[1] * kept, found[2] * kept)
        return KeyCounts(domain.values, *found)

    def choices(self, where: Where, name: str, scope: Scope) -> Choices:
        """The rows that may be chosen, with their values of an attribute, missing ones left out."""
        domain = place_of(self.packs, name).domain
        cells = self._cells(where, scope.reached)
        codes = self.codes(name)[cells]
        known = codes < domain.attribute.missing_code
        cells, numbers = cells[known], domain.numbers[codes[known]]
        groups = np.searchsorted(self.starts, cells, "right") - 1
        counts = self.counts[cells].astype(np.int64) if self.counts.size else np.ones_like(cells)
        return Choices.of_groups(numbers, counts, groups, scope)

    def matching(self, where: Where) -> Counts:
        """The cells that satisfy the conditions."""
        return self._cells(where, np.ones(len(self.starts) - 1, np.bool_))

    def _cells(self, where: Where, among: Flags) -> Counts:
        return np.flatnonzero(mark_cells(self.starts, self.columns, *self._wanted(where), among))

    def _index(self) -> Mapping[str, int]:
        """The pack of each attribute: a question must not look at all columns of a wide table."""
        if not self._pack_of:
            self._pack_of.update({one.name: j for j, pack in enumerate(self.packs) for one in pack})
        return self._pack_of

    def _wanted(self, where: Where) -> _Wanted:
        known = self._index()
        asked = sorted({known[name] for name in where if name in known})
        found = [(j, marks_of(self.packs[j], where)) for j in asked]
        marks = {j: one for j, one in found if one is not None}
        places = np.zeros(len(self.packs), np.int64)
        lengths = np.array([len(one) for one in marks.values()], np.int64)
        places[list(marks)] = np.cumsum(lengths) - lengths
        joined = np.concatenate([np.empty(0, np.uint8), *marks.values()])
        return _Wanted(np.array(list(marks), np.int64), joined, places)
