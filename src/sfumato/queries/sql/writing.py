"""A query as SQL text: the way back from queries.sql, for people who read reports.

    SELECT sex, COUNT(*) FROM t WHERE age BETWEEN 30 AND 50 AND disease IN ('cold', 'flu') GROUP BY sex

Reading the text again gives a query of the same meaning. NOT is pushed inwards to single
conditions, so that "false" and "neither true nor false", which differ under a NOT, need not be told
apart. SQL here has no way to write a duration or a control character; both are shown all the same.
"""  # noqa: E501

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date, datetime, time, timedelta
from typing import Any

import numpy as np
from sqlglot import Parser, Tokenizer

from sfumato.core.moments import nanoseconds_of
from sfumato.core.predicates import (
    Both,
    Compare,
    Either,
    Missing,
    Not,
    OneOf,
    Operator,
    Predicate,
    Within,
)
from sfumato.core.query import Aggregate, Query
from sfumato.queries.sql.words import FOREIGN_WORDS, NO_ALIASES, UNUSED_WORDS


def sql_of(query: Query) -> str:
    """The text of a query over the table ``t``."""
    selected = (*map(_name, query.by), *map(_aggregate, query.select))
    text = f"SELECT {', '.join(selected)} FROM t"
    if query.where:
        text += f" WHERE {condition_of(query)}"
    return f"{text} GROUP BY {', '.join(map(_name, query.by))}" if query.by else text


def condition_of(query: Query) -> str:
    """What stands behind WHERE."""
    return " AND ".join(
        _condition(predicate, _name(name), negated=False, inside="AND")
        for name, predicate in query.where.items()
    )


def _aggregate(aggregate: Aggregate) -> str:
    of = "*" if aggregate.attribute is None else _name(aggregate.attribute)
    text = f"{aggregate.function.upper()}({of})"
    plain = aggregate == Aggregate(aggregate.function, aggregate.attribute)
    return text if plain else f"{text} AS {_name(aggregate.name)}"


def _condition(predicate: Predicate, name: str, *, negated: bool, inside: str) -> str:
    """A predicate, or its opposite, about a column; in parentheses if its surroundings ask."""
    if isinstance(predicate, Not):
        return _condition(predicate.part, name, negated=not negated, inside=inside)
    if (limits := _between(predicate)) is not None:
        return f"{name}{' NOT' if negated else ''} BETWEEN {limits}"
    if isinstance(predicate, Both | Either):
        word = "AND" if isinstance(predicate, Both) is not negated else "OR"
        parts = [
            _condition(part, name, negated=negated, inside=word) for part in _members(predicate)
        ]
        return _joined(parts, word, inside)
    if isinstance(predicate, OneOf):
        return _listed(predicate, name, negated, inside)
    if isinstance(predicate, Within):
        x, y, radius = map(_value, (predicate.x, predicate.y, predicate.radius))
        return f"{'NOT ' * negated}ST_DWithin({name}, ST_Point({x}, {y}), {radius})"
    if isinstance(predicate, Compare):
        return _compared(predicate, name, negated)
    assert isinstance(predicate, Missing)
    return f"{name} IS NOT NULL" if negated else f"{name} IS NULL"


def _between(predicate: Predicate) -> str | None:
    match predicate:
        case Both(Compare(">=", low), Compare("<=", high)):
            return f"{_value(low)} AND {_value(high)}"
    return None


def _members(predicate: Both | Either) -> list[Predicate]:
    """The parts of a chain of one kind, from left to right, however long it is."""
    kind, found, waiting = type(predicate), list[Predicate](), [*_pair(predicate)]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Both | Either) and type(part) is kind and _between(part) is None:
            waiting += _pair(part)
        else:
            found.append(part)
    return found


def _pair(predicate: Both | Either) -> tuple[Predicate, Predicate]:
    return predicate.second, predicate.first


def _joined(parts: list[str], word: str, inside: str) -> str:
    text = f" {word} ".join(parts)
    return text if word == inside else f"({text})"


def _listed(predicate: OneOf, name: str, negated: bool, inside: str) -> str:
    if not predicate.values:
        # SQL has no empty list: no value is in it, and every one outside
        known = f"{name} IS NOT NULL"
        return known if negated else _joined([f"{name} IS NULL", known], "AND", inside)
    values = _sorted(predicate.values)
    if len(values) == 1:
        return f"{name} {'<>' if negated else '='} {values[0]}"
    return f"{name}{' NOT' if negated else ''} IN ({', '.join(values)})"


_OPPOSITE: dict[Operator, Operator] = {"=": "<>", "<>": "="}


def _compared(predicate: Compare, name: str, negated: bool) -> str:
    operator, value = predicate.operator, _value(predicate.value)
    if negated and operator in _OPPOSITE:
        return f"{name} {_OPPOSITE[operator]} {value}"
    # not < is not >= where a declared order lacks some values
    return f"{'NOT ' if negated else ''}{name} {operator} {value}"


def _sorted(values: Iterable[Any]) -> list[str]:
    """Numbers by size, the rest as text."""
    plain = [_item(value) for value in values]
    try:
        return [_value(value) for value in sorted(plain)]
    except TypeError:
        return sorted(map(_value, plain))


def _item(value: Any) -> Any:
    """What NumPy has as Python has it; nanoseconds Python does not have."""
    fine = nanoseconds_of(value)
    if fine is not None:
        return fine
    return value.item() if isinstance(value, np.generic) else value


def _value(value: Any) -> str:
    if isinstance(fine := nanoseconds_of(value), np.datetime64):
        # NumPy's times are in UTC, or have no zone
        zone = "+00:00" if getattr(value, "tzinfo", None) is not None else ""
        return f"TIMESTAMP {_quoted(str(fine).replace('T', ' ') + zone)}"
    if isinstance(fine, np.timedelta64):
        return f"INTERVAL {_quoted(str(fine))}"
    value = _item(value)
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, date | time | timedelta):
        word = next(word for kind, word in _TYPED if isinstance(value, kind))
        return f"{word} {_quoted(_iso(value))}"
    return _quoted(value) if isinstance(value, str) else str(value)


# A datetime is a date, too.
_TYPED: tuple[tuple[type, str], ...] = (
    (datetime, "TIMESTAMP"),
    (date, "DATE"),
    (time, "TIME"),
    (timedelta, "INTERVAL"),
)


def _iso(value: date | time | timedelta) -> str:
    if isinstance(value, datetime):
        return value.isoformat(" ")
    return str(value) if isinstance(value, timedelta) else value.isoformat()


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


_PLAIN_NAME = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_WORDS = {
    word
    for words in (
        *Tokenizer.KEYWORDS,
        *Parser.NO_PAREN_FUNCTION_PARSERS,
        *FOREIGN_WORDS,
        *UNUSED_WORDS,
        *NO_ALIASES,
    )
    for word in words.split()
}


def _name(name: str) -> str:
    """A name, in quotes if it could be taken for something else."""
    if _PLAIN_NAME.fullmatch(name) and name.upper() not in _WORDS:
        return name
    return '"' + name.replace('"', '""') + '"'
