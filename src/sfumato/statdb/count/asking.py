"""Questions to a statistical database: from text or objects to runs of codes, and back.

The query model is that of releases. Two things differ. GROUP BY shows every value of the public
domain, with an empty group where no row is: a missing key would tell something. And what is refused
depends on the query and the public schema alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from math import prod
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from sfumato.answers.aggregates import aggregated, result_type
from sfumato.answers.group_bounds import Counted
from sfumato.answers.groups import MAX_COMPUTED
from sfumato.answers.sides import MAX_KEYS
from sfumato.answers.value_bounds import Choices
from sfumato.core.answer import Answer, CountAnswers, Result
from sfumato.core.query import COUNT, Aggregate, Query
from sfumato.errors import QueryRefused
from sfumato.queries.asked import condition_of, question_of, questions_of
from sfumato.queries.binding import NOT_MISSING, BoundQuery, wanted_values
from sfumato.queries.binding import bind as bind_names
from sfumato.queries.columns import Catalog, position_of
from sfumato.statdb.count.conditions import Axis, Conditions, Runs, common
from sfumato.statdb.count.plain_text import read_plain
from sfumato.statdb.count.points import PointAxis, found_point


class Counting(Protocol):
    """Whatever counts rows under conditions that are runs of codes."""

    @property
    def catalog(self) -> Catalog:
        """The columns that can be asked about."""
        ...

    @property
    def axes(self) -> Mapping[str, Axis]:
        """Their public domains."""
        ...

    @property
    def points(self) -> Mapping[str, PointAxis]:
        """Pairs of them that circles are asked about."""
        ...

    def counted(self, conditions: Conditions) -> Counted:
        """How many rows satisfy all conditions."""
        ...

    def choices(self, conditions: Conditions, name: str, function: str) -> Choices:
        """The values of an attribute that rows which satisfy all conditions may have."""
        ...


def count(source: Counting, where: str | Query) -> Answer:
    """How many rows satisfy a condition."""
    if isinstance(where, str):
        plain = read_plain(where)
        if plain is not None:
            try:
                return Answer(*source.counted(conditions_of(source, plain)))
            except QueryRefused:
                pass  # the long way knows the place in the text
    return Answer(*source.counted(count_conditions(source, condition_of(where))))


def counts(source: Counting, queries: Iterable[str | Query]) -> CountAnswers:
    """The counts of many queries."""
    found = [source.counted(count_conditions(source, query)) for query in questions_of(queries)]
    estimate, lo, hi = np.array(found, np.float64).reshape(-1, 3).T
    return CountAnswers(estimate, lo.astype(np.int64), hi.astype(np.int64))


def answer(source: Counting, query: str | Query) -> Result:
    """Answer a whole query."""
    question = question_of(query)
    asked = Query({}, question.select, question.by, places=question.places)
    bound = bind_names(asked, source.catalog)
    conditions = conditions_of(source, question)
    keys = [_keys(source.axes[name], conditions.get(name)) for name in bound.by]
    _require_few(question, bound, prod(map(len, keys)))
    answers, shown = [], []
    for key in product(*keys):
        inside = {**conditions, **{n: ((c, c),) for n, (c, _) in zip(bound.by, key, strict=True)}}
        shown.append(tuple(value for _, value in key))
        answers.append(tuple(_answered(source, inside, one) for one in bound.select))
    return Result(
        by=bound.by,
        names=tuple(aggregate.name for aggregate in bound.select),
        keys=tuple(shown),
        answers=tuple(answers),
        types=_types(source.catalog, bound),
    )


def count_conditions(source: Counting, query: Query) -> Conditions:
    """The conditions of a query that counts rows, and nothing else."""
    if query.by or query.select != (COUNT,):
        raise QueryRefused("count answers how many rows; use query for the rest", clause="SELECT")
    return conditions_of(source, query)


def conditions_of(source: Counting, query: Query) -> Conditions:
    """The codes that a query wants of every attribute that it names, or a refusal."""
    found: dict[str, Runs] = {}
    for name, predicate in query.where.items():
        point = found_point(source.points, name, source.catalog) if source.points else None
        if point is not None:
            found[point.name] = point.runs(predicate)
            continue
        axis = source.axes.get(name)
        runs = None if axis is None else axis.quick_runs(predicate)
        if runs is None:
            column = source.catalog.find(name, position_of(query, name))
            name, axis = column.name, source.axes[column.name]
            runs = axis.runs(wanted_values(predicate, column))
        found[name] = common(found[name], runs) if name in found else runs
    return found


def _require_few(question: Query, bound: BoundQuery, n_groups: int) -> None:
    computed = sum(one.function != "count" for one in bound.select)
    most = MAX_COMPUTED // computed if computed else MAX_KEYS
    if bound.by and n_groups > most:
        why = ", the most for anything but COUNT" if computed else ""
        raise QueryRefused(
            f"GROUP BY {', '.join(bound.by)} has more than {most:,} groups{why}",
            clause=bound.by[-1],
            position=position_of(question, bound.by[-1]),
        )


def _answered(source: Counting, conditions: Conditions, aggregate: Aggregate) -> Answer:
    name, function = aggregate.attribute, aggregate.function
    if name is None:
        return Answer(*source.counted(conditions))
    runs = source.axes[name].runs(NOT_MISSING)
    known = conditions.get(name)
    inside = {**conditions, name: runs if known is None else common(known, runs)}
    if function == "count":
        return Answer(*source.counted(inside))
    try:
        choices = source.choices(inside, name, function)
    except QueryRefused as refusal:
        position = aggregate.at if refusal.position is None else refusal.position
        raise QueryRefused(refusal.reason, clause=refusal.clause, position=position) from None
    return aggregated(function, choices, source.catalog.columns[name].type)


def _types(catalog: Catalog, bound: BoundQuery) -> tuple[pa.DataType, ...]:
    """By the schema alone."""
    grouped = (catalog.columns[name].type for name in bound.by)
    return (*grouped, *(result_type(one, catalog) for one in bound.select))


def _keys(axis: Axis, runs: Runs | None) -> list[tuple[int, Any]]:
    """Codes and values that a condition leaves of a domain, all if there is none."""

    def codes() -> Iterator[int]:
        for first, last in ((0, axis.size - 1),) if runs is None else runs:
            yield from range(first, last + 1)

    values = axis.keys
    return [(code, values[code]) for code in codes()]
