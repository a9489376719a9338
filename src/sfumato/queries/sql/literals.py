"""Values written in a query: 30, -2.5, 'flu', TRUE, DATE '2020-12-31'."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal, DecimalException
from typing import Any

from sqlglot import exp

from sfumato.queries.sql.nodes import foreign, only, position, unwrapped
from sfumato.queries.sql.text import refused, shown
from sfumato.queries.sql.words import A_VALUE


def is_literal(node: exp.Expr) -> bool:
    """Whether a node is meant as a value, be it a good one or not."""
    return isinstance(unwrapped(node), exp.Literal | exp.Boolean | exp.Cast | exp.Neg | exp.Null)


def literal(node: exp.Expr) -> Any:
    """The Python value of a literal, or a refusal."""
    node = unwrapped(node)
    if isinstance(node, exp.Neg):
        number = _positive(node)
        # not by arithmetic, which rounds decimals to 28 digits
        return number.copy_negate() if isinstance(number, Decimal) else -number
    if isinstance(node, exp.Boolean):
        return node.this
    if isinstance(node, exp.Null):
        message = "nothing compares with NULL; use IS NULL or IS NOT NULL"
        raise refused(message, "NULL", position(node))
    if isinstance(node, exp.Cast):
        return _typed(node)
    if not isinstance(node, exp.Literal):
        raise foreign(node, "WHERE", A_VALUE)
    return node.this if node.is_string else _number(node)


def kind_of(value: Any) -> str:
    """What sort of value this is, in a word for messages."""
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int | Decimal):
        return "a number"
    return _KINDS[type(value)]


_KINDS = {str: "a text", date: "a date", datetime: "a timestamp", time: "a time"}
_PARSERS: dict[exp.DType, tuple[str, Callable[[str], Any]]] = {
    exp.DType.DATE: ("DATE '2020-12-31'", date.fromisoformat),
    exp.DType.TIME: ("TIME '23:59:59'", time.fromisoformat),
    exp.DType.TIMESTAMP: ("TIMESTAMP '2020-12-31 23:59:59'", lambda text: _timestamp(text)),
}
_FINER = re.compile(r"[.,]\d{7}")
_NUMBER = re.compile(r"[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?")


def _timestamp(text: str) -> datetime | str:
    """Python would cut off what is finer than microseconds; a column reads it from the text."""
    found = datetime.fromisoformat(text)
    return text if _FINER.search(text) else found


def _positive(node: exp.Neg) -> int | Decimal:
    only(node, "-", "this")
    number = unwrapped(node.this)
    if not isinstance(number, exp.Literal) or number.is_string:
        raise foreign(node, "WHERE", A_VALUE)
    return _number(number)


def _number(node: exp.Literal) -> int | Decimal:
    """Whole numbers as int, all others exactly as they are written."""
    only(node, "number", "this", "is_string")
    text = str(node.this)
    try:
        if (match := _NUMBER.fullmatch(text)) is None:
            raise ValueError
        return Decimal(text) if match[1] or match[2] else int(text)
    except (ValueError, DecimalException) as error:
        message = f"{shown(text)} is not a number that can be read"
        raise refused(message, "WHERE", position(node)) from error


def _typed(node: exp.Cast) -> Any:
    """DATE '...' and its like, which sqlglot takes for casts; the word CAST was refused before."""
    only(node, "cast", "this", "to")
    kind, text = node.to, node.this
    only(kind, "type", "this")
    if kind.this not in _PARSERS or not (isinstance(text, exp.Literal) and text.is_string):
        raise foreign(node, "WHERE", A_VALUE)
    example, parser = _PARSERS[kind.this]
    try:
        return parser(text.this)
    except ValueError as error:
        message = f"{shown(text.this)} is not understood; write {example}"
        raise refused(message, "WHERE", position(text)) from error
