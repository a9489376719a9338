"""Values that a question names and no row of a release can have.

Such a question is answered, with 0 or with everything; but it may be a typing error, and its answer
looks like any other. This is for telling the asker. Only what is published is looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from sfumato.answers.answerer import Answerer
from sfumato.asking.ask import answerer
from sfumato.core.askable import Askable
from sfumato.core.predicates import Both, Compare, Either, Not, OneOf, Predicate
from sfumato.core.query import Query
from sfumato.errors import QueryRefused, shortened
from sfumato.io.hints import did_you_mean
from sfumato.queries.asked import question_of
from sfumato.queries.binding import wanted_values
from sfumato.queries.columns import Column, position_of
from sfumato.queries.values import Values

_MOST_VALUES = 50  # of one condition: who lists more has not typed them
_FEW = 8


def unseen(source: Askable, query: str | Query) -> tuple[str, ...]:
    """A sentence for every value, or range, of the conditions that no row can have.

    Values may be of any length; a sentence is as short as a message of an error.
    """
    asked = answerer(source)
    question = question_of(query)
    found: list[str] = []
    for name, predicate in question.where.items():
        column = asked.catalog.find(name, position_of(question, name))
        strange = list(islice(_strange(asked, column, predicate), _MOST_VALUES))
        found += [_sentence(asked, column, value) for value in strange]
        wanted = wanted_values(predicate, column)
        if strange or wanted.empty or wanted.missing:
            continue  # that no value is missing is an answer like another
        if not _possible(asked, column, wanted):
            found.append(f"no row can satisfy the condition on {column.name!r}")
    return tuple(map(shortened, found))


def _strange(asked: Answerer, column: Column, predicate: Predicate) -> Iterator[Any]:
    """Values that are named by = or <> or in a list, and that no row can have."""
    for value in islice(dict.fromkeys(_named(predicate)), _MOST_VALUES):
        fitted = column.fitted(value)
        if not _possible(asked, column, Values(frozenset({fitted}))):
            yield fitted


def _named(predicate: Predicate) -> Iterator[Any]:
    if isinstance(predicate, Compare) and predicate.operator in ("=", "<>"):
        yield predicate.value
    elif isinstance(predicate, OneOf):
        yield from sorted(predicate.values, key=str)
    elif isinstance(predicate, Not):
        yield from _named(predicate.part)
    elif isinstance(predicate, Both | Either):
        yield from _chained(predicate)


def _chained(predicate: Both | Either) -> Iterator[Any]:
    """Long chains are walked without recursion, as in queries.binding."""
    left: list[Predicate] = [predicate]
    while left:
        part = left.pop()
        if isinstance(part, Both | Either):
            left += (part.second, part.first)
        else:
            yield from _named(part)


def _possible(asked: Answerer, column: Column, wanted: Values) -> bool:
    found = asked.find({column.name: wanted})
    return bool(found.scope.most(found.rows).any())


def _sentence(asked: Answerer, column: Column, value: Any) -> str:
    if not isinstance(value, str):
        return f"no row can have {column.name} = {column.shown(value)}"
    said = f"no row can have {column.name} = {value!r}"
    known = _known(asked, column)
    hint = did_you_mean(value, known)
    if not hint and 0 < len(known) <= _FEW:
        hint = f"there are {', '.join(known)}"
    return f"{said}; {hint}" if hint else said


def _known(asked: Answerer, column: Column) -> list[str]:
    if column.order is not None:
        return [str(value) for value in column.order]
    try:
        keys = asked.counts_by({}, column.name).keys
    except QueryRefused:
        return []
    return [key for key in keys if isinstance(key, str)]
