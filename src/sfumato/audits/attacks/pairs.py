"""Pairs: who shares a value with whom, asked of every two people by their quasi-identifiers.

``equality`` asks about many people at once, whom one column tells apart. Most tables have no such
column: a question names values of every quasi-identifier, and is about all who have any mixture of
them. So every two people are asked about by themselves, with a value that nobody can have who is
meant as well, and

1. the list of values that each can have is one question for each value;
2. of two with the same list, an end of 1 says that they are of one cohort and have different
   values; 2, that they share one or cannot meet;
3. whoever is joined by a chain of ones is of one cohort; two of a cohort whose end is 2 share a
   value.

People whom nobody is like in all quasi-identifiers are asked about. The questions are as many as
there are pairs, so this is for some hundred people, at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from sfumato.audits.attacks.equality import Cohort
from sfumato.audits.attacks.frame import KnownPeople
from sfumato.audits.attacks.linkage import gower
from sfumato.audits.attacks.reconstruction import Counting
from sfumato.core.arrays import Codes, Counts, Flags, Ints
from sfumato.core.attribute import Attribute
from sfumato.core.moments import python_values
from sfumato.core.predicates import one_of
from sfumato.core.query import Query

_APART, _EQUAL = 1, 2  # where intervals end
_MOST = 8  # others who are mixtures of two
_BITS = 31


class Pairs(NamedTuple):
    """The list of everybody asked, and for every two where the interval ends, 0 if not asked."""

    lists: Flags
    ends: Ints


def asked_pairs(
    database: Counting, people: KnownPeople, some: Counts, sensitive: Attribute
) -> Pairs:
    """Ask a database about some people of the table that everybody knows."""
    named = _Named(people, people.quasi_codes(), sensitive)
    own = named.lists(database, some)
    mixed = dict(_mixtures(named.points, some, own))
    extras = np.unique(np.concatenate([some[:0], *mixed.values()]))
    lists = named.lists(database, extras)
    wanted = list[tuple[int, int, int]]()
    for (one, other), meant in mixed.items():
        free = own[one] & ~lists[np.searchsorted(extras, meant)].any(axis=0)
        if free.any():
            wanted.append((one, other, int(free.argmax())))
    ends = np.zeros((len(some), len(some)), np.int64)
    told = database.counts(named.query(some[[p, q]], value) for p, q, value in wanted)
    for (one, other, _), end in zip(wanted, told.hi.tolist(), strict=True):
        ends[one, other] = ends[other, one] = end
    return Pairs(own, ends)


def cohorts_of(pairs: Pairs, some: Counts) -> list[Cohort]:
    """Cohorts and classes of the people who were asked about, by their numbers in the table."""
    found = []
    for cohort in _joined(pairs.ends == _APART):
        own = some[cohort]
        equal = _joined(pairs.ends[np.ix_(cohort, cohort)] == _EQUAL)
        if values := tuple(np.flatnonzero(pairs.lists[cohort[0]]).tolist()):
            found.append(Cohort(values, [own[one].tolist() for one in equal]))
    return found


def around(people: KnownPeople, n: int, random: np.random.Generator) -> Counts:
    """Somebody, and so many of those nearest whom nobody is like in all quasi-identifiers."""
    points = people.quasi_codes()
    _, first, times = np.unique(points, axis=0, return_index=True, return_counts=True)
    alone: Counts = first[times == 1]
    if not len(alone):
        return alone
    apart = gower(people.quasi, points[random.choice(alone)][None, :], points[alone])[0]
    found: Counts = np.sort(alone[np.argsort(apart, kind="stable")[:n]])
    return found


class _Named(NamedTuple):
    """How people are named in questions."""

    people: KnownPeople
    points: Codes
    sensitive: Attribute

    def lists(self, database: Counting, persons: Counts) -> Flags:
        """Which values everybody can have."""
        values = range(self.sensitive.size)
        told = database.counts(
            self.query(persons[p : p + 1], v) for p in range(len(persons)) for v in values
        )
        found: Flags = told.hi.reshape(len(persons), self.sensitive.size) > 0
        return found

    def query(self, persons: Counts, value: int) -> Query:
        """How many of these people, and of all mixtures of them, have a value."""
        codes = self.points[persons]
        where = {
            one.name: one_of(python_values(one.decode(np.unique(codes[:, j]))))
            for j, one in enumerate(self.people.quasi)
        }
        values = python_values(self.sensitive.decode(np.array([value])))
        return Query({**where, self.sensitive.name: one_of(values)})


def _mixtures(
    points: Codes, some: Counts, lists: Flags
) -> Iterator[tuple[tuple[int, int], Counts]]:
    """Every two with the same list, and who else is a mixture of them: nobody, or a few."""
    kind = np.int32 if points.shape[1] < _BITS else np.int64
    like = np.zeros((len(some), len(points)), kind)  # a bit for each column
    for j, column in enumerate(points.T):
        like |= (column[some][:, None] == column[None, :]).astype(kind) << kind(j)
    number = np.unique(lists, axis=0, return_inverse=True)[1].ravel()
    for one in np.flatnonzero(lists.any(axis=1)).tolist():
        for other in np.flatnonzero(number[:one] == number[one]).tolist():
            meant = np.flatnonzero((like[one] | like[other]) == like[one, some[one]])
            if len(meant) <= _MOST + 2:
                yield (one, other), np.setdiff1d(meant, some[[one, other]])


def _joined(linked: Flags) -> list[list[int]]:
    """Those whom a chain joins."""
    left, found = set(range(len(linked))), []
    while left:
        chain, seen = [left.pop()], []
        while chain:
            seen.append(one := chain.pop())
            near = left.intersection(np.flatnonzero(linked[one]).tolist())
            left -= near
            chain.extend(near)
        found.append(sorted(seen))
    return found
