"""The groups of a GROUP BY: every combination of values that some row can have.

A pass over a release counts all values of one attribute at once. With several attributes the one
with the most values is counted so, for every combination of the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from sfumato.answers.answerer import Answerer
from sfumato.answers.group_bounds import Counted
from sfumato.answers.packing import Where
from sfumato.answers.rows import KeyCounts
from sfumato.answers.sides import MAX_KEYS
from sfumato.errors import QueryRefused
from sfumato.queries.binding import BoundQuery
from sfumato.queries.values import Values

MAX_COMPUTED = 1_000  # answers that take a pass of their own


class Group(NamedTuple):
    """Its key, the conditions that single it out, and its COUNT where it is known already."""

    key: tuple[Any, ...]
    where: Where
    counted: Counted | None


def groups_of(asked: Answerer, query: BoundQuery) -> Sequence[Group]:
    """All groups that can have a row, in the order of their keys; one if nothing is grouped by."""
    if not query.by:
        return [Group((), query.where, None)]
    counts = {name: asked.counts_by(query.where, name) for name in query.by}
    names = sorted(query.by, key=lambda name: np.count_nonzero(counts[name].hi))
    computed = sum(one.attribute is not None for one in query.select)
    most = MAX_COMPUTED // computed if computed else MAX_KEYS
    found = list(islice(_groups(asked, query.where, names, counts[names[0]]), most + 1))
    if len(found) > most:
        raise QueryRefused(_too_many(query, most), clause=query.by[-1])
    places = [names.index(name) for name in query.by]
    ranks = [{key: rank for rank, key in enumerate(counts[name].keys)} for name in query.by]
    ordered = [Group(tuple(one.key[at] for at in places), *one[1:]) for one in found]
    return sorted(
        ordered, key=lambda one: [rank[key] for rank, key in zip(ranks, one.key, strict=True)]
    )


def _groups(
    asked: Answerer, where: Where, names: Sequence[str], found: KeyCounts
) -> Iterator[Group]:
    """Value by value of the first attribute, then those of the rest."""
    name, rest = names[0], names[1:]
    for place in np.flatnonzero(found.hi).tolist():
        key = found.keys[place]
        wanted = Values(missing=True) if key is None else Values(frozenset([key]))
        inside = {**where, name: wanted}
        if rest:
            below = _groups(asked, inside, rest, asked.counts_by(inside, rest[0]))
            yield from (Group((key, *one.key), *one[1:]) for one in below)
        else:
            lo, hi = int(found.lo[place]), int(found.hi[place])
            estimate = min(max(float(found.estimate[place]), lo), hi)
            yield Group((key,), inside, Counted(float(estimate), lo, hi))


def _too_many(query: BoundQuery, most: int) -> str:
    said = f"GROUP BY {', '.join(query.by)} has more than {most:,} groups"
    return said if most == MAX_KEYS else f"{said}, the most for anything but COUNT(*)"
