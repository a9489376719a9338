"""Two worlds: databases that no answer may tell apart, and questions that try.

Somebody who has all answers must not know which of two people of a group has which of two values.
So a second world is made, in which values are exchanged where nobody may notice: inside a group of
neighbours; among the values of a cohort, all rows of one value against all rows of another. Every
answer has to be the same in both, to the last digit, whatever is asked: counts, sums, averages and
extremes, with and without groups. One that differs tells the worlds apart, and proves the database
unsound.

As a control, values are exchanged where it may be noticed: across groups or cohorts. The questions
are worth something if they tell such worlds apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from sfumato.core.aggregates import AGGREGATES
from sfumato.core.arrays import Ints
from sfumato.core.attribute import Attribute
from sfumato.core.moments import python_values
from sfumato.core.predicates import Predicate, one_of
from sfumato.core.query import Aggregate, Query
from sfumato.errors import QueryRefused
from sfumato.statdb.layout.layout import Layout, with_index
from sfumato.statdb.layout.neighbourhoods import Neighbourhoods, assembled, marked_words
from sfumato.statdb.responder import Responder


@dataclass(frozen=True, slots=True)
class Told:
    """How many questions were asked, and how many of the answers differ."""

    questions: int
    differ: int


def compared(here: Responder, there: Responder, questions: int, seed: int) -> Told:
    """Ask both worlds the same."""
    random = np.random.default_rng(seed)
    n = differ = 0
    for query in _questions(here, questions, random):
        n += 1
        differ += _answered(here, query) != _answered(there, query)
    return Told(n, differ)


def exchanged(responder: Responder, random: np.random.Generator) -> Responder:
    """The other world: everywhere values are exchanged where no answer may tell it."""
    stored = responder.stored
    if isinstance(stored, Neighbourhoods):
        base = stored.groups.base.tolist()
        order = np.concatenate(
            [low + random.permutation(high - low) for low, high in pairwise(base)]
        )
        return replace(responder, stored=_near(responder, stored, stored.values[order]))
    return replace(responder, stored=_far(responder, stored, _inside(stored, random)))


def crossed(responder: Responder, random: np.random.Generator) -> Responder:
    """The control: two people of different groups or cohorts exchange their values."""
    stored = responder.stored
    if isinstance(stored, Neighbourhoods):
        values, groups = stored.values.copy(), stored.group_of()
        one, other = _pair(stored.occupied(), groups[stored.occupied()], values, random)
        values[[one, other]] = values[[other, one]]
        return replace(responder, stored=_near(responder, stored, values))
    places, values = stored.occupied(), np.zeros(len(stored.flags(stored.everybody)), np.int32)
    values[places] = stored.values_at(places)
    one, other = _pair(places, stored.homes()[1], values, random)
    moved = np.arange(len(values))
    moved[[one, other]] = [other, one]
    return replace(responder, stored=_far(responder, stored, moved))


def _pair(places: Ints, homes: Ints, values: Ints, random: np.random.Generator) -> tuple[int, int]:
    """Places of two with different values and homes, if such are found soon."""
    one, other = 0, 0
    for _ in range(1_000):
        one, other = random.integers(0, len(places), 2).tolist()
        if homes[one] != homes[other] and values[places[one]] != values[places[other]]:
            break
    return int(places[one]), int(places[other])


def _inside(stored: Layout, random: np.random.Generator) -> Ints:
    """From which place every place gets its row: the values of a cohort change places."""
    buckets = stored.buckets
    moved = np.arange(len(stored.flags(stored.everybody)))
    for b in range(buckets.n_buckets):
        base, stride, room = (int(a[b]) for a in (buckets.base, buckets.stride, buckets.room))
        n_values = len(buckets.signature(b))
        for cohort in range(int(buckets.cohorts[b])):
            block = base + np.arange(n_values)[:, None] * stride + cohort * room + np.arange(room)
            moved[block] = block[random.permutation(n_values)]
    return moved


def _near(responder: Responder, stored: Neighbourhoods, values: Ints) -> Neighbourhoods:
    n = len(values)
    *quasi, sensitive = stored.codes
    codes = {name: stored.codes[name][:n] for name in quasi}
    codes[sensitive] = values.astype(stored.codes[sensitive].dtype)
    sizes = [responder.attributes[name].size for name in codes]
    return assembled(stored.groups.base, codes, stored.flags(stored.everybody)[:n], sizes)


def _far(responder: Responder, stored: Layout, moved: Ints) -> Layout:
    flags = stored.flags(stored.everybody)[moved]
    codes = {name: column[moved] for name, column in stored.codes.items()}
    sizes = [responder.attributes[name].size for name in codes]
    n_values = responder.attributes[responder.sensitive].size
    everybody = marked_words(flags, len(stored.everybody))
    return with_index(stored.buckets, codes, sizes, n_values, everybody)


def _questions(responder: Responder, n: int, random: np.random.Generator) -> Iterator[Query]:
    """Conditions on some attributes, with a share of each domain, and any aggregate."""
    attributes = [responder.attributes[q] for q in responder.schema.quasi]
    sensitive = responder.attributes[responder.sensitive]
    functions = [
        Aggregate(name, one.name)
        for name, kind in AGGREGATES.items()
        for one in (*attributes, sensitive)
        if kind.takes(one.values.type) or name == "count"
    ]
    for _ in range(n):
        chosen = [one for one in attributes if random.random() < _ASKED]
        where = {one.name: _range(one, random) for one in chosen}
        if random.random() < _ASKED:
            where[sensitive.name] = _some(sensitive, random)
        select = [Aggregate("count"), functions[int(random.integers(0, len(functions)))]]
        by = [sensitive.name] if random.random() < _GROUPED else []
        yield Query(where, select, by)


_ASKED, _GROUPED, _SHORTEST = 0.6, 0.1, 0.05


def _range(attribute: Attribute, random: np.random.Generator) -> Predicate:
    width = max(1, int(random.uniform(_SHORTEST, 1) * attribute.size))
    low = int(random.integers(0, attribute.size - width + 1))
    return one_of(python_values(attribute.decode(np.arange(low, low + width))))


def _some(attribute: Attribute, random: np.random.Generator) -> Predicate:
    n = int(random.integers(1, max(2, attribute.size // 2)))
    chosen = np.sort(random.choice(attribute.size, n, replace=False))
    return one_of(python_values(attribute.decode(chosen)))


def _answered(responder: Responder, query: Query) -> Any:
    """Everything that is said, or that nothing is."""
    try:
        found = responder.query(query)
    except QueryRefused as refused:
        return str(refused)
    return [[(one.estimate, one.lo, one.hi) for one in line] for line in found.answers]
