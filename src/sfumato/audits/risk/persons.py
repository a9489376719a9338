"""Several rows per person: what groups of rows promise of people."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sfumato.audits.risk.classes import (
    SMALL,
    Alike,
    chances_of,
    guessed,
    people_of,
)
from sfumato.audits.risk.results import AttributeRisk, Risk
from sfumato.audits.risk.wording import people
from sfumato.core.arrays import Codes
from sfumato.core.histograms import Histograms
from sfumato.core.microdata import Microdata
from sfumato.engines.rows import together
from sfumato.forms.registry import FORMS
from sfumato.io.tables import Source, read_table
from sfumato.verbs.publishing import OwnGroups


@dataclass(frozen=True, slots=True)
class RowsPerPerson:
    """How many rows people have, by a column that names them; ``who`` numbers those of the rows."""

    name: str
    people: int
    rows: int
    most: int
    who: Codes = field(repr=False, compare=False)

    @classmethod
    def of(cls, source: Source, name: str, **reading: Any) -> RowsPerPerson:
        """Count the rows of everybody; ``reading`` is that of ``sf.read``."""
        who = people_of(
            read_table(together(source), columns=[name], trim=True, **reading).column(name)
        )
        times = np.bincount(who)
        return cls(name, len(times), len(who), int(times.max()), who)

    def people_among(self, rows: int) -> int:
        """The fewest people whom so many rows can be about."""
        return -(-rows // self.most)

    def warning(self, k: int | None) -> str | None:
        """What a group of k rows promises of people, where that is less; None if it is the same."""
        if self.most == 1:
            return None
        if k is None:
            return (
                f"{self._said}; keep one row per person, or promise a k of {self.most:,} times as "
                "much"
            )
        return (
            f"{self._said}: a group of {k:,} rows may be {people(self.people_among(k))}; "
            f"--k {k * self.most} promises {k:,} people"
        )

    def warning_of(self, found: PeopleInGroups, k: int | None) -> str | None:
        """The same once the groups are known: how many people they have."""
        least = int(found.alike.people.min())
        wanted = int(found.alike.rows.min()) if k is None else k
        if self.most == 1 or least >= wanted:
            return None
        few, groups = int((found.alike.people < wanted).sum()), len(found.alike.people)
        return (
            f"{self._said}: {few:,} of {groups:,} groups have fewer than {people(wanted)}, the "
            f"smallest {people(least)}; --k {wanted * self.most} promises {wanted:,} people, and "
            "less may do"
        )

    @property
    def _said(self) -> str:
        return (
            f"{self.rows:,} rows are of {self.people:,} people by {self.name!r}, up to "
            f"{self.most:,} of one person, and k counts rows"
        )


@dataclass(frozen=True, slots=True, eq=False)
class PeopleInGroups:
    """The groups of a release, of each its rows and its people."""

    table: Microdata
    alike: Alike

    @classmethod
    def of(cls, own: OwnGroups, who: Codes) -> PeopleInGroups:
        """``who`` are the people of all rows of the table, published or not."""
        _, numbers = np.unique(who[own.rows], return_inverse=True)
        return cls(own.table, Alike.of_groups(own.groups, numbers.astype(np.int32)))

    def risk(self, kind: str) -> Risk:
        """What is left of it in a release of this kind, counted in people.

        Beside exact quasi-identifiers people are found as in the table, and values hide in groups.
        """
        table, hidden = self.table, self.alike
        found = hidden if FORMS[kind].boxes else Alike.of(table, hidden.who)
        each = found.worst(1 / found.people)
        return Risk(
            quasi=table.schema.quasi,
            rows=table.n_rows,
            people=found.n_people,
            classes=len(found.rows),
            unique_rows=int(np.count_nonzero(each == 1)),
            rows_in_small_classes=int(np.count_nonzero(each > (1 / SMALL) * (1 + 1e-9))),
            smallest_class=int(found.people.min()),
            largest_k=found.n_people,
            prosecutor=chances_of(each),
            marketer=float(each.mean()),
            attributes=tuple(self._learned(name) for name in table.schema.sensitive),
            exact=False,
        )

    def _learned(self, name: str) -> AttributeRisk:
        attribute, codes = self.table.attributes[name], self.table.codes[name]
        values = Histograms.of_groups(attribute, codes, self.alike.number, len(self.alike.rows))
        best = self.alike.worst(self.alike.guesses(values))
        return guessed(name, best, float(values.whole.max() / values.whole.sum()))
