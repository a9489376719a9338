"""A query joined with the columns it is about: names found, values fitted, predicates made sets.

A list of values stays a list; everything else becomes sorted ranges that are apart from each other,
closed where the column holds whole numbers or days. ``canonical`` makes ranges of lists as well:
then queries of equal meaning have equal conditions, whatever their words.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from math import ceil, floor
from typing import Any, NamedTuple

from sfumato.core.aggregates import AGGREGATES
from sfumato.core.predicates import Both, Compare, Either, Missing, Not, OneOf, Predicate, Within
from sfumato.core.query import Aggregate, Query
from sfumato.errors import QueryRefused
from sfumato.queries.columns import Catalog, Column, position_of
from sfumato.queries.values import (
    EVERYTHING,
    Range,
    Values,
    complement,
    intersection,
    of_ranges,
    stepped,
)

NOT_MISSING = Values(ranges=(EVERYTHING,))


@dataclass(frozen=True, slots=True)
class BoundQuery:
    """Wanted values per attribute, aggregates, and grouping, all under the columns' own names."""

    where: Mapping[str, Values]
    select: tuple[Aggregate, ...]
    by: tuple[str, ...]

    def narrowed(self, name: str, values: Values) -> BoundQuery:
        """The query with one more condition."""
        known = self.where.get(name)
        both = values if known is None else intersection([known, values])
        return BoundQuery({**self.where, name: both}, self.select, self.by)


def bind(query: Query, catalog: Catalog) -> BoundQuery:
    """Find the columns of a query and the values it wants of them, or refuse."""
    where: dict[str, Values] = {}
    for name, predicate in query.where.items():
        column = catalog.find(name, position_of(query, name))
        wanted = wanted_values(predicate, column)
        known = where.get(column.name)
        where[column.name] = wanted if known is None else intersection([known, wanted])
    return BoundQuery(
        where,
        tuple(_bound_aggregate(aggregate, catalog) for aggregate in query.select),
        tuple(_bound_names(query, catalog)),
    )


def canonical(query: BoundQuery, catalog: Catalog) -> BoundQuery:
    """The query in the words that all queries of its meaning share."""
    where = {
        name: canonical_values(values.all_ranges(), catalog.columns[name], missing=values.missing)
        for name, values in sorted(query.where.items())
    }
    return BoundQuery(where, query.select, query.by)


def wanted_values(predicate: Predicate, column: Column) -> Values:
    """The values of a column that satisfy a predicate."""
    if isinstance(predicate, OneOf):
        return _listed(predicate, column)
    truth = _truth(predicate, column)
    return canonical_values(truth.ranges, column, missing=truth.missing is True)


class _Truth(NamedTuple):
    """Where a predicate is true, and what it is for a missing value (None: neither)."""

    ranges: tuple[Range, ...]
    missing: bool | None


def _truth(predicate: Predicate, column: Column) -> _Truth:
    if isinstance(predicate, Compare):
        return _Truth(_compared(predicate, column), None)
    if isinstance(predicate, OneOf):
        return _Truth(_listed(predicate, column).all_ranges(), None)
    if isinstance(predicate, Missing):
        return _Truth((), True)
    if isinstance(predicate, Not):
        part = _truth(predicate.part, column)
        opposite = None if part.missing is None else not part.missing
        return _Truth(tuple(complement(part.ranges)), opposite)
    if isinstance(predicate, Both | Either):
        return _combined(predicate, column)
    if isinstance(predicate, Within):
        raise QueryRefused(
            f"{column.name!r} is a column, and circles are about points, which a database may have",
            clause=column.name,
            position=predicate.at,
        )
    raise TypeError(f"not a predicate: {predicate!r}")


def _combined(predicate: Both | Either, column: Column) -> _Truth:
    """Long chains are walked without recursion: a list of thousands of ORs is a fair question."""
    kind, chain, parts = type(predicate), [predicate], list[Predicate]()
    while chain:
        link = chain.pop()
        for part in (link.second, link.first):
            if type(part) is kind:
                chain.append(part)
            else:
                parts.append(part)
    truths = [_truth(part, column) for part in parts]
    states = {truth.missing for truth in truths}
    if kind is Either:
        joined = of_ranges((part for truth in truths for part in truth.ranges), False)
        return _Truth(joined.all_ranges(), _first(states, True, None, False))
    common = intersection([Values(ranges=truth.ranges) for truth in truths])
    return _Truth(common.all_ranges(), _first(states, False, None, True))


def _first(states: Collection[bool | None], *preferred: bool | None) -> bool | None:
    return next(state for state in preferred if state in states)


def _compared(predicate: Compare, column: Column) -> tuple[Range, ...]:
    value = column.fitted(predicate.value, predicate.at)
    if predicate.operator in ("=", "<>"):
        point = (Range(value, value),)
        return point if predicate.operator == "=" else tuple(complement(point))
    if column.order is not None:
        return _by_declared_order(predicate, value, column)
    open_end = predicate.operator in ("<", ">")
    if predicate.operator.startswith("<"):
        return (Range(None, value, False, open_end),)
    return (Range(value, None, open_end, False),)


def _by_declared_order(predicate: Compare, value: Any, column: Column) -> tuple[Range, ...]:
    """Values before or after one in the order that the owner declared."""
    if value not in column.ranks:
        raise QueryRefused(
            f"{predicate.operator} on {column.name!r} follows its declared order, "
            f"in which {predicate.value!r} does not occur",
            clause=column.name,
            position=predicate.at,
        )
    assert column.order is not None
    rank, with_it = column.ranks[value], predicate.operator.endswith("=")
    if predicate.operator.startswith("<"):
        chosen = column.order[: rank + with_it]
    else:
        chosen = column.order[rank + 1 - with_it :]
    return of_ranges((Range(one, one) for one in chosen), False).all_ranges()


def _listed(predicate: OneOf, column: Column) -> Values:
    return Values(column.all_fitted(predicate.values, predicate.at))


def canonical_values(ranges: Sequence[Range], column: Column, *, missing: bool = False) -> Values:
    """Everything in some ranges: closed ones, where the column holds whole numbers or days."""
    if not column.steps:
        return of_ranges(ranges, missing)
    return of_ranges(stepped(ranges, _lowest, _highest, _following), missing)


def _lowest(end: Any, is_open: bool) -> Any:
    if isinstance(end, date):
        return _following(end) if is_open else end
    return floor(end) + 1 if is_open else ceil(end)


def _highest(end: Any, is_open: bool) -> Any:
    if isinstance(end, date):
        return end - timedelta(days=1) if is_open else end
    return ceil(end) - 1 if is_open else floor(end)


def _following(step: Any) -> Any:
    return step + timedelta(days=1) if isinstance(step, date) else step + 1


def _bound_names(query: Query, catalog: Catalog) -> list[str]:
    names = [catalog.find(name, position_of(query, name)).name for name in query.by]
    for name in names:
        if names.count(name) > 1:
            raise QueryRefused(
                f"GROUP BY names {name!r} twice",
                clause="GROUP BY",
                position=position_of(query, name),
            )
    return names


def _bound_aggregate(aggregate: Aggregate, catalog: Catalog) -> Aggregate:
    if aggregate.attribute is None:
        return aggregate
    column = catalog.find(aggregate.attribute, aggregate.at)
    function, word = AGGREGATES[aggregate.function], aggregate.function.upper()
    if not function.takes(column.type):
        raise QueryRefused(
            f"{word} needs {function.needs}, and {column.name!r} holds none",
            clause=word,
            position=aggregate.at,
        )
    return replace(aggregate, attribute=column.name)
