"""The condition of a query: a tree of AND, OR and NOT becomes one predicate per attribute.

NOT is pushed inwards (De Morgan holds in the three-valued logic of SQL, too). What is left must be
a conjunction in which every OR stays within one attribute: no release tells how many rows satisfy
one of two attributes' conditions without knowing how many satisfy both.

Chains of AND and OR are unfolded in a loop and joined to balanced trees, so that ten thousand
conditions need no deeper stack than ten.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from operator import and_, or_
from typing import NamedTuple

from sqlglot import exp

from sfumato.core.predicates import Compare, Missing, OneOf, Operator, Predicate, Within
from sfumato.errors import ParameterError, QueryRefused
from sfumato.queries.sql.literals import is_literal, kind_of, literal
from sfumato.queries.sql.nodes import column_name, foreign, only, position, unwrapped
from sfumato.queries.sql.text import refused
from sfumato.queries.sql.words import A_CONDITION

CIRCLE = "ST_DWITHIN"


class Condition(NamedTuple):
    """What is asked of one attribute, and where its name stands."""

    name: str
    predicate: Predicate
    at: int


def conditions(
    node: exp.Expr, tables: frozenset[str], negated: bool = False
) -> tuple[Condition, ...]:
    """Conditions that must all hold, one per attribute, in the order of the text."""
    by_name: dict[str, list[Condition]] = {}
    for part, inverted in _chain(node, negated, exp.And):
        condition = _condition(part, inverted, tables)
        by_name.setdefault(condition.name, []).append(condition)
    return tuple(
        Condition(name, joined([one.predicate for one in found], and_), found[0].at)
        for name, found in by_name.items()
    )


def joined(
    parts: Sequence[Predicate], join: Callable[[Predicate, Predicate], Predicate]
) -> Predicate:
    """One predicate of many, as a balanced tree."""
    while len(parts) > 1:
        pairs = [join(*parts[i : i + 2]) for i in range(0, len(parts) - 1, 2)]
        parts = pairs + list(parts[len(pairs) * 2 :])
    return parts[0]


def _chain(node: exp.Expr, negated: bool, link: type[exp.Connector]) -> list[tuple[exp.Expr, bool]]:
    """Members of a chain of ANDs, or of ORs, each with whether it is negated."""
    found, waiting = [], [(node, negated)]
    while waiting:
        node, negated = waiting.pop()
        node = unwrapped(node)
        if type(node) is exp.Not:
            only(node, "NOT", "this")
            waiting.append((node.this, not negated))
        elif type(node) is (_OPPOSITE[link] if negated else link):
            only(node, node.key.upper(), "this", "expression")
            waiting += [(node.expression, negated), (node.this, negated)]
        else:
            found.append((node, negated))
    return found


_OPPOSITE: dict[type[exp.Connector], type[exp.Connector]] = {exp.And: exp.Or, exp.Or: exp.And}


def _condition(node: exp.Expr, negated: bool, tables: frozenset[str]) -> Condition:
    if type(node) in _OPPOSITE:
        return _alternatives(node, negated, tables)
    simple = _simple(node, tables)
    return simple._replace(predicate=~simple.predicate) if negated else simple


def _alternatives(node: exp.Expr, negated: bool, tables: frozenset[str]) -> Condition:
    """An OR, or a negated AND, all of whose members are about one attribute."""
    members = [
        conditions(part, tables, inverted) for part, inverted in _chain(node, negated, exp.Or)
    ]
    first = members[0][0]
    for other in (condition for member in members for condition in member):
        if other.name != first.name:
            raise _two_attributes(first, other, "NOT (... AND ...)" if negated else "OR")
    predicate = joined([condition.predicate for (condition,) in members], or_)
    return Condition(first.name, predicate, first.at)


def _two_attributes(first: Condition, other: Condition, word: str) -> QueryRefused:
    if first.name.lower() == other.name.lower():
        hint = "if they are the same, write them alike"
    else:
        hint = "only conditions on one attribute can be alternatives"
    message = f"{word} joins conditions on {first.name!r} and {other.name!r}; {hint}"
    return refused(message, "OR", other.at)


def _simple(node: exp.Expr, tables: frozenset[str]) -> Condition:
    """A condition without AND, OR and NOT."""
    if type(node) in _OPERATORS:
        return _comparison(node, tables)
    if type(node) is exp.Anonymous and str(node.this).upper() == CIRCLE:
        return _circle(node, tables)
    reader = _READERS.get(type(node))
    if reader is None:
        raise _no_condition(node, tables)
    subject = node.this
    name = column_name(subject, "WHERE", tables)
    return Condition(name, reader(node), position(subject))


_OPERATORS: dict[type[exp.Expr], Operator] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_MIRRORED: dict[Operator, Operator] = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _comparison(node: exp.Expr, tables: frozenset[str]) -> Condition:
    operator = _OPERATORS[type(node)]
    only(node, operator, "this", "expression")
    column, value = unwrapped(node.this), unwrapped(node.expression)
    if is_literal(column):
        column, value = value, column
        operator = _MIRRORED.get(operator, operator)
    if is_literal(column):
        message = f"two values are compared; {A_CONDITION}"
        raise refused(message, "WHERE", position(node))
    name = column_name(column, "WHERE", tables)
    if type(value) is exp.Column:
        raise _two_columns(name, value, tables)
    return Condition(name, Compare(operator, literal(value), position(value)), position(column))


def _circle(node: exp.Expr, tables: frozenset[str]) -> Condition:
    """ST_DWithin(home, ST_Point(3, 4), 2): a point, and a circle that it lies in."""
    only(node, CIRCLE, "this", "expressions")
    parts = node.expressions
    if len(parts) != 3 or type(parts[1]) is not exp.StPoint:
        message = f"write {CIRCLE}(home, ST_Point(3, 4), 2): a point, a middle, and how far away"
        raise refused(message, CIRCLE, position(node))
    only(parts[1], "ST_Point", "this", "expression")
    subject, middle, radius = parts
    numbers = [literal(one) for one in (middle.this, middle.expression, radius)]
    if any(isinstance(one, bool) or not isinstance(one, int | Decimal) for one in numbers):
        raise refused("a circle is made of three numbers", CIRCLE, position(middle))
    name = column_name(subject, CIRCLE, tables)
    try:
        x, y, far = numbers
        circle = Within(x, y, far, position(middle))
    except ParameterError as error:
        raise refused(str(error), CIRCLE, position(middle)) from error
    return Condition(name, circle, position(subject))


def _between(node: exp.Expr) -> Predicate:
    only(node, "BETWEEN", "this", "low", "high")
    low, high = node.args["low"], node.args["high"]
    at_least = Compare(">=", literal(low), position(low))
    return at_least & Compare("<=", literal(high), position(high))


def _one_of(node: exp.Expr) -> Predicate:
    if not node.expressions:
        message = "IN needs a list of values: IN (1, 2)"
        raise refused(message, "IN", position(node))
    only(node, "IN", "this", "expressions")
    values = [literal(member) for member in node.expressions]
    kind = kind_of(values[0])
    for value, member in zip(values, node.expressions, strict=True):
        # Python holds 1 and TRUE for the same; a set would lose one of them.
        if kind_of(value) != kind:
            message = f"IN lists {kind} and {kind_of(value)}; all must be of one kind"
            raise refused(message, "IN", position(member))
    return OneOf(values, position(node.expressions[0]))


def _missing(node: exp.Expr) -> Predicate:
    only(node, "IS", "this", "expression")
    if type(node.expression) is not exp.Null:
        message = "IS works with NULL only; compare with = instead, such as smoker = TRUE"
        raise refused(message, "IS", position(node))
    return Missing()


_READERS: dict[type[exp.Expr], Callable[[exp.Expr], Predicate]] = {
    exp.Between: _between,
    exp.In: _one_of,
    exp.Is: _missing,
}


def _two_columns(name: str, other: exp.Expr, tables: frozenset[str]) -> QueryRefused:
    second = column_name(other, "WHERE", tables)
    quoted = bool(other.this.args.get("quoted"))
    hint = "texts stand in single quotes" if quoted else A_CONDITION
    message = f"the columns {name!r} and {second!r} are compared; {hint}"
    return refused(message, "WHERE", position(other))


def _no_condition(node: exp.Expr, tables: frozenset[str]) -> QueryRefused:
    if type(node) is exp.Column:
        name = column_name(node, "WHERE", tables)
        message = f"{name!r} alone is no condition; write {name} = TRUE"
        return refused(message, "WHERE", position(node))
    return foreign(node, "WHERE", A_CONDITION)
