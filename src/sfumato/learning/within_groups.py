"""Who has which value inside groups, as far as all groups together tell.

The usual estimate takes every member of a group to have each of its values with the value's share.
But a release has thousands of groups: a value that goes with old people is in the groups that have
old people more often. Expectation maximization, as in Kifer: "Attacks on privacy and deFinetti's
theorem", SIGMOD 2009, where it is an attack, learns that from the published tables alone:

1. every member has each value of its group with the value's share;
2. naive Bayes is learnt from everybody, each value weighted by its chance; what step 1 counts stays
   in the counts, as a prior, and somebody in a group of n tells as much as 1/n of somebody whose
   value is known;
3. inside each group values are handed out as likely as naive Bayes says, and as often as they are
   published;
4. again from 2, for a number of ``ROUNDS``.

The estimate of COUNT is then the sum of the chances of the rows that satisfy the conditions. Bounds
are those of the tables, as before. Naive Bayes is not what the world is like, so nobody vouches
for estimates; docs/asking.md says how far they were off.

With less of the prior, estimates get nearer to the truth where values hang together with what is
known, and farther from it where they do not (docs/asking.md has figures of both). A round takes
time linear in rows x values of a group x quasi-identifiers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from sfumato.answers.axes import exact_axis
from sfumato.answers.group_bounds import Found
from sfumato.answers.grouped import GroupedTables
from sfumato.answers.packing import Domain, Where
from sfumato.answers.rows import KeyCounts, Rows
from sfumato.core.arrays import Codes, Counts, Flags, Floats
from sfumato.core.compiled import announce
from sfumato.core.histograms import Histograms
from sfumato.learning.naive_bayes import WEIGHT, log_chances
from sfumato.learning.within_kernel import chances_of, hand_out
from sfumato.queries.columns import Catalog

ROUNDS = 8
_SWEEPS, _TOLERANCE = 50, 1e-3  # until groups give what they have


@dataclass(frozen=True, slots=True, eq=False)
class WithinGroups:
    """The chance of each value of its group for every row: ``lines[i]`` are the lines of the
    ``tables`` that row i has, ``scale`` what is added to entries of the groups' ``values``.
    """

    lines: Codes
    groups: Codes
    values: Histograms
    tables: Floats
    scale: Floats

    @classmethod
    def learn(
        cls, lines: Codes, ends: Sequence[int], groups: Codes, values: Histograms
    ) -> WithinGroups:
        """From groups and their values; axis j of people has the lines up to ``ends[j]``."""
        announce(hand_out)
        heads = np.append(0, np.cumsum(np.bincount(groups, minlength=values.n_groups)))
        counts, scale = values.counts, np.log(values.counts)

        def handed_out(tables: Floats) -> tuple[Floats, float]:
            sums = np.zeros_like(tables)
            over = hand_out(tables, lines, heads, values.starts, values.values, counts, scale, sums)
            return sums, over

        weight = WEIGHT * len(lines) / values.n_groups
        tables = np.zeros((ends[-1], len(values.whole)))
        first, _ = handed_out(tables)
        sums = first
        for _ in range(ROUNDS):
            tables = _learnt(first + sums, ends, weight)
            sums, _ = handed_out(tables)
        for _ in range(_SWEEPS):
            if handed_out(tables)[1] <= _TOLERANCE * len(lines):
                break
        return cls(lines, groups, values, tables, scale)

    def expected(self, rows: Counts, wanted: Flags) -> tuple[Floats, Floats]:
        """The chance of these rows to have a wanted value, and how many have each of those."""
        by_value = np.zeros(len(wanted))
        values = self.values
        chances = chances_of(
            self.tables, self.lines, rows, self.groups,
            values.starts, values.values, self.scale, wanted, by_value,
        )  # fmt: skip
        return chances, by_value


def _learnt(sums: Floats, ends: Sequence[int], weight: float) -> Floats:
    parts = [log_chances(sums[low:high], weight) for low, high in pairwise([0, *ends])]
    return np.concatenate(parts)


@dataclass(frozen=True, slots=True, eq=False)
class LearntTables(GroupedTables):
    """Tables that share their groups, with estimates from what was learnt ``within`` them.

    Questions about the first table and one other are estimated so; what names more tables, and
    anything but COUNT, as usual.
    """

    within: Mapping[str, WithinGroups] | None = None

    def find(self, where: Where) -> Found:
        """As usual, with another share of each group."""
        found = GroupedTables.find(self, where)
        target = self._target(where)
        if target is None:
            return found
        rows, chances, _ = self._chances(where, target)
        groups = self._learnt[target].groups[rows]
        expected = np.bincount(groups, chances, len(self.sizes))
        return found._replace(
            scope=replace(found.scope, share=expected / np.maximum(found.rows, 1))
        )

    def counts_by(self, where: Where, name: str) -> KeyCounts:
        """As usual, with other estimates."""
        found = GroupedTables.counts_by(self, where, name)
        target = self._target([*where, name])
        if target is None:
            return found
        rows, chances, by_value = self._chances(where, target)
        if name == target:
            return found._replace(estimate=by_value)
        codes = self.tables[0].codes(name)[rows]
        expected: Floats = np.bincount(codes, chances, len(found.keys)).astype(np.float64)
        return found._replace(estimate=expected)

    @property
    def _learnt(self) -> Mapping[str, WithinGroups]:
        return self.within or {}

    def _target(self, names: Where | Sequence[str]) -> str | None:
        """The sensitive column that a question is about, beside columns of the first table."""
        asked = set(names)
        others = asked.difference(self.tables[0].names)
        target = next(iter(others), None)
        return target if len(others) == 1 < len(asked) and target in self._learnt else None

    def _chances(self, where: Where, target: str) -> tuple[Counts, Floats, Floats]:
        """Rows that satisfy the conditions on themselves, and what is expected of them."""
        domain = Domain(self.holder(target).attribute(target))
        wanted = np.ones(domain.size, np.bool_)
        if target in where:
            wanted = domain.marks(where[target]).view(np.bool_)
        rows = self.tables[0].matching(where)
        return rows, *self._learnt[target].expected(rows, wanted)


def learnt(tables: GroupedTables, quasi: Sequence[str]) -> LearntTables:
    """Learn, by these columns, what the groups of tables tell of every other column."""
    first = tables.tables[0]
    lines, ends = _lines(first, tables.catalog, quasi)
    groups = first.groups()
    within = {
        name: WithinGroups.learn(lines, ends, groups, table.histograms(name))
        for table in tables.tables[1:]
        for name in table.names
    }
    return LearntTables(tables.catalog, tables.sizes, tables.tables, tables.left_out, within)


def _lines(rows: Rows, catalog: Catalog, names: Sequence[str]) -> tuple[Codes, list[int]]:
    """The bin of every row on every axis, numbered one axis after the other."""
    columns, ends = [], [0]
    for name in names:
        attribute, codes = rows.attribute(name), rows.codes(name)
        counts = np.bincount(codes, minlength=attribute.size)
        axis = exact_axis(catalog.columns[name], attribute, counts)
        columns.append(axis.of_codes(attribute)[codes] + ends[-1])
        ends.append(ends[-1] + len(axis.bins))
    return np.stack(columns, axis=1).astype(np.int32), ends[1:]
