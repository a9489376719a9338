"""A query as one line of JSON, and back.

    {"where": {"age": {"between": [30, 50]}, "disease": ["flu", null]}, "by": ["sex"]}

A list holds wanted values, null standing for missing. Other predicates are objects with one key:
{"<=": 30}, {"between": [30, 50]}, {"not": p}, {"either": [p, q, ...]}, {"both": [p, q, ...]},
{"missing": true}, and of a point {"within": [3, 4, 2]}, at most 2 away from (3, 4). Values that
JSON lacks are objects as well, {"date": "2020-02-29"}. Equal queries have equal lines: names and
lists are sorted, and 30, 30.0 and Decimal("30") are all written as 30.
Times finer than microseconds are nanoseconds since 1970, {"datetime64": "1577836800000000001"}.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import reduce
from typing import Any, get_args

import numpy as np

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
    between,
    one_of,
)
from sfumato.core.query import COUNT, Aggregate, Query
from sfumato.errors import DataError

_PARTS = ("where", "select", "by")
_CHAINS: dict[str, type[Both] | type[Either]] = {"both": Both, "either": Either}
_DAMAGES = (ValueError, TypeError, KeyError, AttributeError, ArithmeticError, RecursionError)
_DIGITS = 400  # longer numbers stay in the exponent form that they have


def to_line(query: Query) -> str:
    """One line of JSON; what has its default is left out."""
    stated: dict[str, Any] = {
        "where": {name: _to_plain(part) for name, part in sorted(query.where.items())}
    }
    if query.select != (COUNT,):
        stated["select"] = [_aggregate_to_plain(aggregate) for aggregate in query.select]
    if query.by:
        stated["by"] = list(query.by)
    return json.dumps(stated, ensure_ascii=False)


def from_line(line: str) -> Query:
    """The query of a line of JSON."""
    try:
        stated = json.loads(line)
        if unknown := [part for part in stated if part not in _PARTS]:
            raise ValueError(f"unknown part {unknown[0]!r}")
        where = {name: _from_plain(part) for name, part in stated.get("where", {}).items()}
        select = map(_aggregate_from_plain, stated.get("select", [{"function": "count"}]))
        return Query(where, tuple(select), _names(stated.get("by", [])))
    except _DAMAGES as error:
        raise DataError(
            f'not a query: {error!r}; a line looks like {{"where": {{"age": [30, 31, null]}}}}'
        ) from error


def _to_plain(predicate: Predicate) -> Any:
    if isinstance(predicate, OneOf):
        return _sorted(predicate.values)
    if isinstance(predicate, Compare):
        return {predicate.operator: _value_to_plain(predicate.value)}
    if isinstance(predicate, Missing):
        return {"missing": True}
    if isinstance(predicate, Within):
        circle = (predicate.x, predicate.y, predicate.radius)
        return {"within": [_value_to_plain(one) for one in circle]}
    if isinstance(predicate, Not):
        return {"not": _to_plain(predicate.part)}
    assert isinstance(predicate, Both | Either)
    return _usual(predicate) or _chain_to_plain(predicate)


def _usual(predicate: Both | Either) -> Any:
    """The short form of BETWEEN, and of a list that holds null."""
    match predicate:
        case Both(Compare(">=", low), Compare("<=", high)):
            return {"between": [_value_to_plain(low), _value_to_plain(high)]}
        case Either(OneOf(values), Missing()) if values:
            return [*_sorted(values), None]
    return None


def _chain_to_plain(predicate: Both | Either) -> Any:
    """``a | b | c`` is one list, however long: JSON cannot be nested very deeply."""
    kind, parts = type(predicate), list[Predicate]()
    rest: Predicate = predicate
    while isinstance(rest, Both | Either) and type(rest) is kind:
        parts.append(rest.second)
        rest = rest.first
    name = next(name for name, known in _CHAINS.items() if known is kind)
    return {name: [_to_plain(part) for part in (rest, *reversed(parts))]}


def _from_plain(stated: Any) -> Predicate:
    if isinstance(stated, list):
        return one_of(map(_value_from_plain, stated))
    ((name, content),) = stated.items()
    if name in get_args(Operator):
        return Compare(name, _value_from_plain(content))
    if name == "between":
        low, high = map(_value_from_plain, content)
        return between(low, high)
    if name == "within":
        x, y, radius = content
        return Within(x, y, radius)
    if name == "not":
        return Not(_from_plain(content))
    if name == "missing" and content is True:
        return Missing()
    return _chain_from_plain(_CHAINS[name], content)


def _chain_from_plain(kind: type[Both] | type[Either], content: Any) -> Predicate:
    first, second, *others = map(_from_plain, content)
    return reduce(kind, others, kind(first, second))


def _aggregate_to_plain(aggregate: Aggregate) -> dict[str, str]:
    stated = {"function": str(aggregate.function)}
    if aggregate.attribute is not None:
        stated["of"] = aggregate.attribute
    if aggregate != Aggregate(aggregate.function, aggregate.attribute):
        stated["as"] = aggregate.name
    return stated


def _aggregate_from_plain(stated: Mapping[str, Any]) -> Aggregate:
    if not stated.keys() <= {"function", "of", "as"}:
        raise ValueError("an aggregate has a function, perhaps of an attribute and as a name")
    of, name = _names([stated.get("of", ""), stated.get("as", "")])
    return Aggregate(stated["function"], of or None, name)


def _names(stated: Any) -> list[str]:
    if not isinstance(stated, list) or not all(isinstance(name, str) for name in stated):
        raise ValueError(f"these are no names: {stated!r}")
    return stated


# Values that JSON lacks are written as an object with one key, the name of their type.
_WRITERS: tuple[tuple[type, str, Callable[[Any], str]], ...] = (
    (datetime, "datetime", datetime.isoformat),  # before date, which it extends
    (date, "date", date.isoformat),
    (time, "time", time.isoformat),
    (timedelta, "microseconds", lambda span: str(span // timedelta(microseconds=1))),
    (Decimal, "decimal", lambda number: _decimal_text(number)),
)
_READERS: dict[str, Callable[[str], Any]] = {
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "time": time.fromisoformat,
    "microseconds": lambda text: timedelta(microseconds=int(text)),
    "decimal": Decimal,
    "datetime64": lambda text: np.datetime64(int(text), "ns"),
    "timedelta64": lambda text: np.timedelta64(int(text), "ns"),
}


def _value_to_plain(value: Any) -> Any:
    fine = nanoseconds_of(value)
    if fine is not None:
        return {type(fine).__name__: str(fine.astype(np.int64))}
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float | Decimal) and math.isfinite(value):
        value = _shortest(value)
    for kind, name, write in _WRITERS:
        if isinstance(value, kind):
            return {name: write(value)}
    return value


def _shortest(number: float | Decimal) -> int | float | Decimal:
    """The plainest of the numbers that are equal."""
    if _is_long(number):
        return number
    if number == int(number):
        return int(number)
    return float(number) if float(number) == number else number


def _decimal_text(number: Decimal) -> str:
    # not normalize: it rounds
    short = number.is_finite() and not _is_long(number)
    return f"{number:f}".rstrip("0") if short else str(number)


def _is_long(number: float | Decimal) -> bool:
    return isinstance(number, Decimal) and abs(number.adjusted()) > _DIGITS


def _value_from_plain(value: Any) -> Any:
    if isinstance(value, dict):
        ((name, text),) = value.items()
        return _READERS[name](text)
    return value


def _sorted(values: frozenset[Any]) -> list[Any]:
    return sorted(map(_value_to_plain, values), key=_sort_key)


def _sort_key(value: Any) -> tuple[str, Any]:
    """Numbers by size, anything else as text."""
    if isinstance(value, int | float):
        return ("a", value)
    return ("b", json.dumps(value))
