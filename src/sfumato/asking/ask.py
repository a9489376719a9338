"""Questions in, answers out: the way from text to a Result, for every source."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa

from sfumato.answers.aggregates import aggregated, result_type
from sfumato.answers.answerer import Answerer
from sfumato.answers.group_bounds import Counted
from sfumato.answers.grouped import GroupedTables
from sfumato.answers.groups import groups_of
from sfumato.answers.packing import Where
from sfumato.asking.folded import FoldedRelease
from sfumato.asking.parted import asked_about
from sfumato.core.answer import Answer, CountAnswers, Result
from sfumato.core.askable import Askable
from sfumato.core.expected import given
from sfumato.core.microdata import Microdata
from sfumato.core.query import COUNT, Aggregate, Query
from sfumato.engines.parts import TableParts
from sfumato.errors import ParameterError, QueryRefused
from sfumato.forms.registry import form_of
from sfumato.queries.asked import condition_of, question_of, questions_of
from sfumato.queries.binding import NOT_MISSING, BoundQuery, bind
from sfumato.queries.columns import Catalog

_prepared: WeakKeyDictionary[Askable, Answerer] = WeakKeyDictionary()


def answerer(source: Askable) -> Answerer:
    """A release, or, for its owner, a table, prepared for questions when the first one comes."""
    if isinstance(source, TableParts):
        assert source.engine is None
        return answerer(source.domain)
    if isinstance(source, FoldedRelease):
        raise ParameterError(
            "this is about single groups, and a release that is asked piece by piece only counts; "
            "load it into memory",
            parameter="release",
        )
    if not isinstance(source, Askable):
        raise ParameterError(
            f"{given(source)} cannot be asked; ask a release, or a table that was read: "
            "sf.read(table, schema)",
            parameter="release",
        )
    if source not in _prepared:
        _prepared[source] = _answerer(source)
    return _prepared[source]


def prepare(source: Askable, asked: Answerer) -> None:
    """Let questions to a source be answered so."""
    _prepared[source] = asked


def unaskable(release: Askable) -> dict[str, str]:
    """Columns about which a release answers no question, and why."""
    columns = answerer(release).catalog.columns.values()
    return {column.name: column.refusal for column in columns if column.refusal is not None}


def _answerer(source: Askable) -> Answerer:
    if isinstance(source, Microdata):
        return GroupedTables.of_microdata(source)
    return form_of(source).answerer(source)


def answerer_about(source: Askable, names: Collection[str]) -> Answerer:
    """The same for questions about these columns, which a table beyond memory has to know."""
    if isinstance(source, TableParts) and source.engine is not None:
        return asked_about(source, names)
    if isinstance(source, FoldedRelease):
        return source.about(names)
    return answerer(source)


def catalog_of(source: Askable) -> Catalog:
    """The columns that a source can be asked about."""
    if isinstance(source, TableParts) and source.engine is not None:
        return Catalog.of_table(source.domain)
    if isinstance(source, FoldedRelease):
        return source.catalog
    return answerer(source).catalog


def columns_of(query: BoundQuery) -> set[str]:
    """The columns that a query names."""
    computed = (one.attribute for one in query.select if one.attribute is not None)
    return {*query.where, *query.by, *computed}


def count(source: Askable, where: str | Query) -> Answer:
    """How many rows satisfy a condition."""
    query = condition_of(where)
    if query.by or query.select != (COUNT,):
        raise QueryRefused("count answers how many rows; use query for the rest", clause="SELECT")
    asked = answerer_about(source, columns_of(bind(query, catalog_of(source))))
    return _counted(asked, bind(query, asked.catalog).where)


def counts(source: Askable, queries: Iterable[str | Query]) -> CountAnswers:
    """The counts of many queries."""
    if isinstance(source, FoldedRelease):
        return counts_of(source.about(source.catalog.columns), queries)
    if not isinstance(source, TableParts):
        return counts_of(answerer(source), queries)
    questions = list(questions_of(queries))
    return source.folded(_counts_of_part, CountAnswers.__add__, questions)


def _counts_of_part(part: Microdata, questions: Sequence[Query]) -> CountAnswers:
    return counts_of(answerer(part), questions)


def counts_of(asked: Answerer, queries: Iterable[str | Query]) -> CountAnswers:
    """The counts of many queries, by what is prepared for them."""
    found = [asked.find(bound.where).counted() for bound in bound_all(asked, queries)]
    estimate, lo, hi = np.array(found, np.float64).reshape(-1, 3).T
    return CountAnswers(estimate, lo.astype(np.int64), hi.astype(np.int64))


def bound_all(asked: Answerer, queries: Iterable[str | Query]) -> Iterator[BoundQuery]:
    """Queries, as texts or objects, joined with the columns they are about."""
    for query in questions_of(queries):
        yield bind(query, asked.catalog)


def answer(source: Askable, query: str | Query) -> Result:
    """Answer a whole query."""
    question = question_of(query)
    asked = answerer_about(source, columns_of(bind(question, catalog_of(source))))
    bound = bind(question, asked.catalog)
    with _placing(question):
        groups = groups_of(asked, bound)
        answers = tuple(
            tuple(
                _answer(asked, group.where, aggregate, group.counted) for aggregate in bound.select
            )
            for group in groups
        )
    return Result(
        by=bound.by,
        names=tuple(aggregate.name for aggregate in bound.select),
        keys=tuple(_shown_key(asked, bound.by, group.key) for group in groups),
        answers=answers,
        types=_types(asked, bound, answers),
    )


def _shown_key(asked: Answerer, by: Sequence[str], key: Sequence[Any]) -> tuple[Any, ...]:
    columns = asked.catalog.columns
    return tuple(columns[name].shown(value) for name, value in zip(by, key, strict=True))


@contextmanager
def _placing(query: Query) -> Iterator[None]:
    """Refusals that come while answering do not know where in its text a query names a column."""
    try:
        yield
    except QueryRefused as refusal:
        places = {name.lower(): position for name, position in query.places.items()}
        if refusal.position is not None or not places:
            raise
        position = places.get(refusal.clause.lower(), max(places.values()))
        raise QueryRefused(refusal.reason, clause=refusal.clause, position=position) from None


def _answer(asked: Answerer, where: Where, aggregate: Aggregate, counted: Counted | None) -> Answer:
    if aggregate.attribute is None:
        return _counted(asked, where, counted)
    name = aggregate.attribute
    known = BoundQuery(where, (), ()).narrowed(name, NOT_MISSING).where
    if aggregate.function == "count":
        return _counted(asked, known)
    choices = asked.choices(known, name, aggregate.function)
    return aggregated(aggregate.function, choices, asked.catalog.columns[name].type)


def _counted(asked: Answerer, where: Where, known: Counted | None = None) -> Answer:
    """The answer of a count, which may be known already."""
    found = known or asked.find(where).counted()
    return Answer(*found, likely=asked.likely(where) if found.lo < found.hi else None)


def _types(
    asked: Answerer, query: BoundQuery, answers: Sequence[Sequence[Answer]]
) -> tuple[pa.DataType, ...]:
    kinds = [asked.catalog.columns[name].type for name in query.by]
    for place, aggregate in enumerate(query.select):
        ends = [end for line in answers for end in (line[place].lo, line[place].hi)]
        if all(end is None or isinstance(end, int) for end in ends):
            kinds.append(pa.int64())
        else:
            kinds.append(result_type(aggregate, asked.catalog))
    return tuple(kinds)
