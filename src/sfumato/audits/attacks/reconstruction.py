"""Reconstruction: all tables that agree with a set of answers, by linear and integer programs.

Dinur, Nissim: "Revealing information while preserving privacy", PODS 2003; Garfinkel, Abowd,
Martindale: "Understanding database reconstruction attacks on public data", 2018. An answer from lo
to hi about people whom the attacker knows by their quasi-identifiers says

    lo <= sum of x[p, v] over these people and the wanted values <= hi,

where x[p, v] is 1 if person p has value v and 0 if not, and each person has one value. Two answers
whose people differ by one are a difference attack; a program that holds all answers at once finds
whatever follows from any number of them.

1. ``asked`` asks about boxes between people of one region, a question for each value;
2. ``reconstructed`` looks for tables that agree with all answers, each the best by a random
   objective (SciPy's HiGHS: in whole numbers, or in fractions where time is short);
3. the value that somebody has in most of these tables is guessed, and its share is how sure it is.

People who are alike are one variable, with as many rows. The database has to be asked, nothing else
of it is seen; answers that no table agrees with are refused, as such a database is wrong.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from sfumato.audits.attacks.frame import KnownPeople
from sfumato.audits.attacks.linkage import gower
from sfumato.core.answer import CountAnswers
from sfumato.core.arrays import Codes, Counts, Floats, Ints
from sfumato.core.attribute import Attribute
from sfumato.core.moments import python_values
from sfumato.core.predicates import Predicate, one_of
from sfumato.core.query import Query
from sfumato.errors import DataError


class Counting(Protocol):
    """Whatever answers many counting questions."""

    def counts(self, queries: Iterable[str | Query]) -> CountAnswers:
        """How many rows satisfy each query."""
        ...


class Told(NamedTuple):
    """So many, from ``lo`` to ``hi``, of these subjects' rows have the value."""

    subjects: tuple[int, ...]
    value: int
    lo: int
    hi: int


@dataclass(frozen=True, slots=True)
class Reconstruction:
    """Boxes between so many people of a region, and so many tables that agree with the answers."""

    people: int = 60
    boxes: int = 120
    tables: int = 8

    def attack(
        self,
        database: Counting,
        people: KnownPeople,
        sensitive: Attribute,
        seconds: float,
        seed: int,
    ) -> tuple[Counts, Codes, Floats]:
        """People of some regions, their likeliest values, and the shares of tables with these."""
        random, began = np.random.default_rng(seed), time.monotonic()
        found: list[tuple[Counts, Codes, Floats]] = []
        seen = np.zeros(people.n_rows, np.bool_)
        while not found or (time.monotonic() - began < seconds / 2 and not seen.all()):
            region = _region(people, self.people, random, np.flatnonzero(~seen))
            persons, subjects, told = asked(database, people, region, sensitive, self.boxes, random)
            left = max(1.0, seconds - (time.monotonic() - began)) / 2
            counts = np.bincount(subjects)
            shares = reconstructed(told, counts, sensitive.size, self.tables, left, random)
            new = ~seen[persons]
            best = shares.argmax(axis=1).astype(np.int32)
            found.append((persons[new], best[subjects[new]], shares.max(axis=1)[subjects[new]]))
            seen[persons] = True
        parts = zip(*found, strict=True)
        who, values, sure = (np.concatenate(part) for part in parts)
        return who, values, sure


def asked(
    database: Counting,
    people: KnownPeople,
    region: Counts,
    sensitive: Attribute,
    boxes: int,
    random: np.random.Generator,
) -> tuple[Counts, Codes, list[Told]]:
    """The people whom questions about a region are about, their subjects, and the answers."""
    points = people.quasi_codes()
    drawn, inside, most = list[tuple[Codes, Codes]](), list[Counts](), 4 * len(region)
    everybody = set(region.tolist())
    for _ in range(boxes):
        low, high = _box(points[region], random)
        matched = np.flatnonzero(((points >= low) & (points <= high)).all(axis=1))
        if len(everybody.union(matched.tolist())) <= most:
            everybody.update(matched.tolist())
            drawn.append((low, high))
            inside.append(matched)
    persons = np.array(sorted(everybody))
    _, numbers = np.unique(points[persons], axis=0, return_inverse=True)
    subjects: Codes = numbers.ravel().astype(np.int32)
    values = python_values(sensitive.decode(np.arange(sensitive.size)))
    queries = [
        Query({**where, sensitive.name: one_of([value])})
        for where in (_where(people.quasi, *box) for box in drawn)
        for value in values
    ]
    found = database.counts(queries)
    place = {person: int(subject) for person, subject in zip(persons, subjects, strict=True)}
    told = [
        Told(tuple(sorted({place[one] for one in matched.tolist()})), value, *ends)
        for (matched, value), ends in zip(
            ((matched, value) for matched in inside for value in range(sensitive.size)),
            zip(found.lo.tolist(), found.hi.tolist(), strict=True),
            strict=True,
        )
    ]
    return persons, subjects, told


def reconstructed(
    told: Sequence[Told],
    counts: Counts,
    n_values: int,
    tables: int,
    seconds: float,
    random: np.random.Generator,
) -> Floats:
    """The share of each value in every subject's rows, over tables that agree with all answers."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    rows = [one.subjects for one in told]
    where = [np.array(own) * n_values + one.value for own, one in zip(rows, told, strict=True)]
    starts = np.append(0, np.cumsum([len(one) for one in where]))
    places = np.concatenate(where) if where else np.zeros(0, np.int64)
    size = len(counts) * n_values
    answers = csr_array((np.ones(len(places)), places, starts), shape=(len(told), size))
    each = csr_array(
        (np.ones(size), np.arange(size), np.arange(len(counts) + 1) * n_values),
        shape=(len(counts), size),
    )
    limits = [
        LinearConstraint(each, counts, counts),
        LinearConstraint(answers, [one.lo for one in told], [one.hi for one in told]),
    ]
    sums, bounds = np.zeros(size), Bounds(0, np.repeat(counts, n_values))
    made = 0
    for _ in range(tables):
        objective = random.standard_normal(size)
        for whole in (1, 0):
            solved = milp(
                objective, integrality=whole, bounds=bounds, constraints=limits,
                options={"time_limit": seconds / tables},
            )  # fmt: skip
            if solved.status == _INFEASIBLE:
                raise DataError("no table agrees with all answers of the database")
            if solved.x is not None:
                sums += solved.x
                made += 1
                break
    shares: Floats = sums.reshape(-1, n_values) / np.maximum(1, counts * made)[:, None]
    return shares


_INFEASIBLE = 2  # of SciPy's status


def _region(people: KnownPeople, n: int, random: np.random.Generator, left: Counts) -> Counts:
    """Somebody who is left, and those who are nearest."""
    points = people.quasi_codes()
    centre = points[random.choice(left)][None, :]
    apart = gower(people.quasi, centre, points)[0]
    n = min(n, len(apart))
    found: Counts = np.argpartition(apart, n - 1)[:n]
    return found


def _box(points: Codes, random: np.random.Generator) -> tuple[Codes, Codes]:
    """The box around one or two people, a side of which may be left open."""
    some = points[random.integers(0, len(points), int(random.integers(1, 3)))]
    low, high = some.min(axis=0), some.max(axis=0)
    if random.random() < _OPEN:
        side = int(random.integers(0, points.shape[1]))
        low[side], high[side] = points[:, side].min(), points[:, side].max()
    return low, high


_OPEN = 0.3


def _where(quasi: Sequence[Attribute], low: Ints, high: Ints) -> dict[str, Predicate]:
    """A box in words."""
    return {
        one.name: one_of(python_values(one.decode(np.arange(a, b + 1))))
        for one, a, b in zip(quasi, low.tolist(), high.tolist(), strict=True)
    }
