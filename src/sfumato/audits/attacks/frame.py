"""What an attacker starts from: for every person the values that the public can tell are possible.

Three words. A *subject* is one person, or several whom nobody can tell apart. A *claim* says that
some of a subject's rows are in one of certain groups, and take so many of these groups' values. The
*members* of a claim are the quasi-identifiers of all who are known to share the value it takes:
one vector, unless an attacker has found out more.

Everything here is public, or is what the attacker knows of people from outside. Sensitive values
occur as counts of whole groups only; the order of published rows is not used. Attackers who look at
more than that are given ``KnownPeople``, a table in which nobody has a sensitive value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, NewType

import numpy as np

from sfumato.core._kernels import rows_by_group
from sfumato.core.arrays import Codes, Counts
from sfumato.core.attribute import Attribute
from sfumato.core.histograms import Histograms
from sfumato.core.microdata import Microdata
from sfumato.core.schema import Schema

_NOBODY = np.zeros(0, np.int32)
KnownPeople = NewType("KnownPeople", Microdata)
"""What everybody knows of people: their quasi-identifiers, in the order of the owner's table."""


def known_people(people: Microdata) -> KnownPeople:
    """A table without all other columns, so that no attack can look where it must not."""
    quasi = people.schema.quasi
    return KnownPeople(
        Microdata(
            Schema(quasi=quasi),
            people.n_rows,
            {name: people.attributes[name] for name in quasi},
            {name: people.codes[name] for name in quasi},
            people.insensitive.select([]),
        )
    )


class Lists(NamedTuple):
    """List i is ``items[starts[i]:starts[i + 1]]``."""

    starts: Counts
    items: Codes

    @classmethod
    def single(cls, items: Codes) -> Lists:
        """Lists of one item each."""
        return cls(np.arange(len(items) + 1), items)

    @classmethod
    def of_owners(cls, owners: Codes, n_lists: int) -> Lists:
        """The places at which each owner stands."""
        places, starts = rows_by_group(owners, n_lists)
        return cls(starts, places)

    @property
    def owners(self) -> Codes:
        """The list of every item."""
        return np.repeat(np.arange(len(self.starts) - 1, dtype=np.int32), np.diff(self.starts))


class Cells(NamedTuple):
    """All that claims may take: cell i is entry ``slots[i]`` of the groups' values."""

    starts: Counts
    slots: Codes


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Who may have what. ``points`` are codes of quasi-identifiers, one line for each vector.

    Claim c has the points ``members``, takes ``totals[c]`` values, and takes them from ``groups``,
    whose published counts are ``values``. ``claims`` are those of each subject; ``subjects`` and
    ``person_points`` are the subject and the point of each person attacked.
    """

    quasi: tuple[Attribute, ...]
    points: Codes
    members: Lists
    totals: Counts
    groups: Lists
    values: Histograms
    claims: Lists
    subjects: Codes
    person_points: Codes

    @classmethod
    def of_groups(
        cls, people: Microdata, groups: Codes, values: Histograms, nobody: Codes = _NOBODY
    ) -> Candidates:
        """Everybody's group is known: whoever knows enough of a person finds the published row.

        Somebody without a group (-1) is not published, and claims nothing. ``nobody`` are groups
        that have a value more than they have people, once for each such value.
        """
        everybody = np.arange(people.n_rows, dtype=np.int32)
        shown = everybody[groups >= 0]
        # what nobody has is claimed by a subject after the last, of whom nothing is known
        subjects = np.append(shown, np.full(len(nobody), people.n_rows, np.int32))
        return cls(
            quasi=people.quasi,
            points=people.quasi_codes(),
            members=Lists(np.minimum(np.arange(len(subjects) + 1), len(shown)), shown),
            totals=np.ones(len(subjects), np.int64),
            groups=Lists.single(np.append(groups[shown], nobody).astype(np.int32)),
            values=values,
            claims=Lists.of_owners(subjects, people.n_rows + 1),
            subjects=everybody,
            person_points=everybody,
        )

    @property
    def n_claims(self) -> int:
        """How many claims there are."""
        return len(self.totals)

    @property
    def n_values(self) -> int:
        """How many values the sensitive column can have."""
        return len(self.values.whole)

    @property
    def apart(self) -> bool:
        """Whether every claim has a group to itself, so that groups can be solved one by one."""
        return len(self.groups.items) == self.n_claims

    def cells(self) -> Cells:
        """What each claim may take."""
        lengths = np.diff(self.values.starts)[self.groups.items]
        ends = np.append(0, np.cumsum(lengths))
        within = np.arange(ends[-1]) - np.repeat(ends[:-1], lengths)
        slots = np.repeat(self.values.starts[self.groups.items], lengths) + within
        return Cells(ends[self.groups.starts], slots.astype(np.int32))

    def weights(self) -> Counts:
        """How many persons each point stands for."""
        return np.bincount(self.person_points, minlength=len(self.points))

    def __repr__(self) -> str:
        """Sizes only."""
        return (
            f"Candidates({len(self.subjects):,} persons, {self.n_claims:,} claims, "
            f"{self.values.n_groups:,} groups)"
        )
