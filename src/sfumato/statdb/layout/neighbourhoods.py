"""The layout of neighbours: groups that are made once and never regrouped.

Beyond Xiao, Tao: "Dynamic anonymization", SIGMOD 2008, which regroups rows for every question. Here
there is one version, of groups of neighbours (algorithms/frontier) in which no value has more than
1/m of the rows, and every answer is that of this version. As people of one group are alike, its
intervals are shorter than those of random groups that are regrouped; and as nobody is regrouped,
no answers of several versions can be compared.

**What is promised.** A group has N places, and its *signature* is the N values with their counts.
Both stay for ever: who joins comes in groups of his own, and the place of who leaves becomes a
*counterfeit*, whose value stays in the signature. In every generation an answer is computed from
nothing but, group by group, the quasi-identifiers of the rows that are there, and the signature.

Theorem. Let P be the N owners that the places of a group ever have (owners of counterfeits from the
start being nobody), and let all ways to hand out the signature to them be equally likely. Whoever
knows everybody's quasi-identifiers, all groups, all signatures and all answers of all generations
guesses a value right with a chance of at most 1/m.

Proof. Exchange the values of any two owners in a group. Neither the quasi-identifiers of the rows
at any time nor the signature change, so all answers of all generations stay the same. So they tell
no two ways apart, all ways are still equally likely afterwards, and somebody has a value with the
chance (its count) / N, which is at most 1/m: in a first version and in a batch of newcomers because
the groups are l-diverse for l = m (frontier/__init__.py has the proof), in a group of somebody
alone because the m values of his list differ. QED. Why those lists are equally likely is argued in
updates/counterfeits.py; that a batch comes in whole, or waits whole, in updates/__init__.py. The
theorem begins with the groups: what cuts that were not made tell somebody who knows the algorithm
is no part of it, see docs/neighbours.md for an example in which it is one person's value.

**Places.** Group g has the places ``base[g]`` to ``base[g + 1]``, bits of bitmaps, its rows in
random order; so N is a difference, and a counterfeit a place without a row. Of the sensitive
attribute there is an index of its own, over all places, counterfeits' included: how many places of
a group have a wanted value is counted like how many rows satisfy conditions. Nobody ever looks at
both bits of one place: that would be the truth.

What no row of a group can satisfy is skipped by the group's box, which is found from its rows
(count/boxes.py) and not kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.algorithms.anatomize import Anatomize
from sfumato.core._kernels import rows_by_group, shuffle_groups
from sfumato.core.arrays import Codes, Counts, Flags, Floats, Ints, Words
from sfumato.core.microdata import Microdata
from sfumato.core.randomness import Randomness
from sfumato.models.diversity import LDiversity
from sfumato.models.requirements import Requirement
from sfumato.statdb.layout.bucketization import WORD
from sfumato.statdb.layout.index import Index, allowed_bitmaps, choose_bases, index_in
from sfumato.statdb.layout.places import Places, by_part, sensitive_of, with_names
from sfumato.statdb.layout.signatures import require_m_unique


class Groups(NamedTuple):
    """Where groups begin, and the last one ends."""

    base: Counts

    @property
    def n_groups(self) -> int:
        """How many groups there are."""
        return len(self.base) - 1

    @property
    def sizes(self) -> Counts:
        """How many places each has, counterfeits' included."""
        return np.diff(self.base)

    def __repr__(self) -> str:
        """Sizes only: where rows stand is secret."""
        return f"Groups({self.n_groups:,} groups)"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Neighbourhoods(Places):
    """Rows in groups of neighbours; ``signatures`` index the values of all places of groups."""

    groups: Groups
    signatures: Index

    @property
    def kinds(self) -> tuple[str, int]:
        """Groups."""
        return "groups", self.groups.n_groups

    @property
    def values(self) -> Ints:
        """The sensitive codes of all places of groups, counterfeits' included."""
        *_, codes = self.codes.values()
        return codes[: self.groups.base[-1]]

    def values_at(self, places: Counts) -> Codes:
        """The sensitive codes at places."""
        return self.values[places].astype(np.int32)

    def group_of(self) -> Codes:
        """The group of every place that is in one."""
        groups = self.groups
        return np.repeat(np.arange(groups.n_groups, dtype=np.int32), groups.sizes)

    def best_guesses(self) -> Floats:
        """The share of the most frequent value in the signature of every row's group."""
        group, span = self.group_of(), np.int64(self.values.max()) + 1
        keys, counts = np.unique(group * span + self.values, return_counts=True)
        first = np.searchsorted(keys, np.arange(self.groups.n_groups) * span)
        shares: Floats = np.maximum.reduceat(counts, first) / self.groups.sizes
        return shares[group[self.occupied()]]

    def named(self) -> dict[str, NDArray[Any]]:
        """Every array under a name of its own, such as "groups.base" or "codes.age"."""
        return with_names(
            groups=self.groups._asdict(),
            signatures=self.signatures._asdict(),
            index=self.index._asdict(),
            codes=self.codes,
        )

    @classmethod
    def of_named(cls, arrays: Mapping[str, NDArray[Any]]) -> Neighbourhoods:
        """The same from such arrays."""
        parts = by_part(arrays)
        return cls(
            Index(**parts["index"]),
            parts["codes"],
            Groups(parts["groups"]["base"]),
            Index(**parts["signatures"]),
        )


def settle(table: Microdata, m: int, size: int, randomness: Randomness) -> Neighbourhoods:
    """Groups of neighbours for all rows of a table."""
    sensitive = sensitive_of(table)
    counts = np.bincount(table.codes[sensitive.name], minlength=sensitive.size)
    require_m_unique(sensitive, counts, m)
    rows, base = grouped(table, m, size, randomness)
    return assembled(
        base,
        {name: table.codes[name][rows] for name in (*table.schema.quasi, sensitive.name)},
        rows >= 0,
        [table.attributes[name].size for name in (*table.schema.quasi, sensitive.name)],
    )


def grouped(table: Microdata, m: int, size: int, randomness: Randomness) -> tuple[Codes, Counts]:
    """Rows by group, in random order inside each, and where each group begins."""
    need = Requirement(LDiversity(m), sensitive_of(table).name)
    # too few rows for a group of the size are one group
    found = Anatomize(size=min(size, table.n_rows)).partition(table, (need,), randomness)
    rows, base = rows_by_group(found.groups, found.n_groups)
    shuffle_groups(rows, base, randomness.half_words(len(rows)))
    return rows, base


def assembled(
    base: Counts, codes: Mapping[str, Ints], is_row: Flags, sizes: Sequence[int]
) -> Neighbourhoods:
    """The layout of groups whose places have these codes, the sensitive ones last.

    ``is_row`` says which places have a row; ``sizes`` are those of the domains.
    """
    n_words = -(-int(base[-1]) // WORD)
    placed = {name: _filled(column, n_words * WORD) for name, column in codes.items()}
    *quasi, values = placed.values()
    row_bytes = sum(column.itemsize for column in placed.values())
    allowed = allowed_bitmaps(row_bytes, int(is_row.sum()), n_words * WORD)
    *bases, base_of_values = choose_bases(sizes, allowed)
    return Neighbourhoods(
        index_in(bases, quasi, marked_words(is_row, n_words)),
        placed,
        Groups(base),
        index_in([base_of_values], [values], marked_words(np.ones_like(is_row), n_words)),
    )


def _filled(codes: Ints, n_places: int) -> Ints:
    return np.append(codes, np.zeros(n_places - len(codes), codes.dtype))


def marked_words(marks: Flags, n_words: int) -> Words:
    """Flags as a bitmap of so many words."""
    packed = np.zeros(n_words * WORD // 8, np.uint8)
    found = np.packbits(marks, bitorder="little")
    packed[: len(found)] = found
    return packed.view(np.uint64)
