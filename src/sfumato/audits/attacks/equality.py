"""Equality: who shares a value with whom, found out by asking a statistical database.

An answer comes from the version that is best for its question, and which one is best depends on the
values (docs/statdb-guarantee.md). Of any set of people of one bucket, COUNT of one of their values
has the upper end

    sum over cohorts of the largest number of them who share a value,

since in a cohort rows are regrouped at will and a group has every value once. So, of two people, 1
says that they are of one cohort and have different values; 2, that they share one or cannot meet.
Everybody is placed by a few questions about many people at once:

1. the list of values that a person can have: one question for each value;
2. the cohort: the person and one known member of each cohort, then of half of them, and so on. The
   person is in one of these cohorts, with another value than its member, if the end does not grow.
   As it may be the member's own value, the same again with a second member of another value;
3. the class in it: the person and one of each class, then of half of them. The end is 2 if the
   person's class is among them.

As long as only one class of a cohort has been met, its people cannot be told from those of another
cohort. They wait, each alone, until somebody comes who differs from them. About ten questions for a
person beside the list, whatever the number of people.

What is left open is which class has which value: a cohort is a group whose members are classes, and
any attacker of this package goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np

from sfumato.audits.attacks.frame import Candidates, KnownPeople, Lists
from sfumato.core.answer import Answer
from sfumato.core.attribute import Attribute
from sfumato.core.histograms import Histograms
from sfumato.core.microdata import Microdata
from sfumato.core.moments import python_values
from sfumato.core.predicates import one_of
from sfumato.core.query import Query

Upper = Callable[[Sequence[int], int], int]
"""The upper end of COUNT over some people, given by their places, and one value, by its code."""


class Database(Protocol):
    """Whatever answers counting questions."""

    def count(self, where: Query) -> Answer:
        """How many rows satisfy a condition."""
        ...


class Cohort(NamedTuple):
    """People who are regrouped among each other: their values, and classes that share one each."""

    values: tuple[int, ...]
    classes: list[list[int]]


def upper_ends(database: Database, people: KnownPeople, column: str, sensitive: Attribute) -> Upper:
    """Ask a database about people whom a quasi-identifier of theirs, ``column``, tells apart."""
    names = python_values(people.attributes[column].decode(people.codes[column]))
    values = python_values(sensitive.decode(np.arange(sensitive.size)))

    def upper(persons: Sequence[int], value: int) -> int:
        wanted = {column: one_of([names[p] for p in persons])}
        return int(database.count(Query({**wanted, sensitive.name: one_of([values[value]])})).hi)

    return upper


def closed(upper: Upper, n_people: int, n_values: int) -> list[Cohort]:
    """Everybody who can have some value, in cohorts and classes, from upper ends alone."""
    buckets: dict[tuple[int, ...], list[int]] = {}
    for person in range(n_people):
        values = tuple(value for value in range(n_values) if upper([person], value))
        if values:
            buckets.setdefault(values, []).append(person)
    return [
        cohort for values, persons in buckets.items() for cohort in _cohorts(upper, values, persons)
    ]


def candidates_of_cohorts(
    cohorts: Sequence[Cohort], people: Microdata, sensitive: Attribute
) -> Candidates:
    """What cohorts and classes leave open: every class has one of its cohort's values."""
    classes = [one for cohort in cohorts for one in cohort.classes]
    sizes = np.array([len(one) for one in classes])
    persons = np.array([person for one in classes for person in one], np.int32)
    numbers = np.arange(len(classes), dtype=np.int32)
    # the subject after the last is nobody's, and has no claim
    subjects = np.full(people.n_rows, len(classes), np.int32)
    subjects[persons] = np.repeat(numbers, sizes)
    keys = [g * sensitive.size + v for g, one in enumerate(cohorts) for v in one.values]
    groups = np.repeat(np.arange(len(cohorts)), [len(one.classes) for one in cohorts])
    return Candidates(
        quasi=people.quasi,
        points=people.quasi_codes(),
        members=Lists(np.append(0, np.cumsum(sizes)), persons),
        totals=np.ones(len(classes), np.int64),
        groups=Lists.single(groups.astype(np.int32)),
        values=Histograms.of_keys(
            sensitive, np.array(keys), np.ones(len(keys), np.int64), len(cohorts)
        ),
        claims=Lists.of_owners(numbers, len(classes) + 1),
        subjects=subjects,
        person_points=np.arange(people.n_rows, dtype=np.int32),
    )


def _cohorts(upper: Upper, values: tuple[int, ...], persons: list[int]) -> Iterator[Cohort]:
    """The cohorts of one bucket."""
    bucket = _Bucket(lambda some: upper(some, values[0]))
    for person in persons:
        bucket.add(person)
    yield from (Cohort(values, classes) for classes in bucket.cohorts)
    yield from (Cohort(values, [[person]]) for person in bucket.waiting)


@dataclass(slots=True)
class _Bucket:
    """What is known so far: cohorts of two classes and more, and people who wait for others.

    Those who wait differ from nobody they can meet: they are of other cohorts, or share a value.
    """

    end: Callable[[Sequence[int]], int]
    cohorts: list[list[list[int]]] = field(default_factory=list)
    waiting: list[int] = field(default_factory=list)

    def add(self, person: int) -> None:
        for member in (0, 1):
            known = [classes[member][0] for classes in self.cohorts]
            if (place := self._differing(person, known)) is not None:
                self._classify(person, self.cohorts[place])
                return
        equal = []
        while (place := self._differing(person, self.waiting)) is not None:
            equal.append(self.waiting.pop(place))
        if equal:
            self.cohorts.append([equal, [person]])
        else:
            self.waiting.append(person)

    def _differing(self, person: int, others: Sequence[int]) -> int | None:
        """The place of one who is of the person's cohort, with another value."""
        if not others or self.end([person, *others]) > len(others):
            return None
        low, high = 0, len(others)
        while high - low > 1:
            middle = (low + high) // 2
            if self.end([person, *others[low:middle]]) > middle - low:
                low = middle
            else:
                high = middle
        return low

    def _classify(self, person: int, classes: list[list[int]]) -> None:
        known = [one[0] for one in classes]
        if self.end([person, *known]) == 1:
            classes.append([person])
            return
        low, high = 0, len(known)
        while high - low > 1:
            middle = (low + high) // 2
            if self.end([person, *known[low:middle]]) > 1:
                high = middle
            else:
                low = middle
        classes[low].append(person)
