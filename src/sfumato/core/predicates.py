"""What is asked of one attribute: comparisons, lists, IS NULL, and their combinations.

A predicate says nothing yet about the attribute's type or order; queries.binding joins the two. As
in SQL a missing value satisfies neither a comparison nor its negation, only ``Missing``.

    at_most(30) | at_least(65)
    between(30, 50) & ~one_of([40]) | Missing()
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import isfinite, nan
from typing import Any, Literal, TypeAlias, get_args

from sfumato.errors import ParameterError

Operator: TypeAlias = Literal["=", "<>", "<", "<=", ">", ">="]
Position: TypeAlias = int | None  # the place in a query's text, counted from 1
_SHOWN = 3  # values of a list in its repr


class Predicate:
    """Combines with ``&``, ``|`` and ``~``."""

    __slots__ = ()

    def __and__(self, other: Predicate) -> Predicate:
        return Both(self, other)

    def __or__(self, other: Predicate) -> Predicate:
        return Either(self, other)

    def __invert__(self) -> Predicate:
        return Not(self)


@dataclass(frozen=True, slots=True)
class Compare(Predicate):
    """The value stands so to another one.

    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> patients.count(sf.Query({"age": sf.Compare(">=", 18)})).lo
    964
    """

    operator: Operator
    value: Any
    at: Position = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse operators that do not exist, and comparisons with nothing."""
        if self.operator not in get_args(Operator):
            known = ", ".join(get_args(Operator))
            raise ParameterError(
                f"operator must be one of {known}, not {self.operator!r}", parameter="operator"
            )
        if self.value is None:
            raise ParameterError("nothing compares with None; use Missing()", parameter="value")


@dataclass(frozen=True, slots=True, init=False)
class OneOf(Predicate):
    """The value is in a list."""

    values: frozenset[Any]
    at: Position = field(default=None, compare=False, repr=False)

    def __init__(self, values: Iterable[Any], at: Position = None) -> None:
        wanted = frozenset(values)
        if None in wanted:
            raise ParameterError("nothing compares with None; use Missing()", parameter="values")
        object.__setattr__(self, "values", wanted)
        object.__setattr__(self, "at", at)

    def __repr__(self) -> str:
        """The values, as long as they can be taken in at a glance."""
        some = sorted(map(repr, self.values))
        if len(some) > _SHOWN:
            some[_SHOWN:] = [f"... ({len(self.values):,} values)"]
        return f"OneOf({', '.join(some)})"


@dataclass(frozen=True, slots=True)
class Missing(Predicate):
    """There is no value.

    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> patients.count(sf.Query({"age": ~sf.Missing()})).lo
    1000
    """


@dataclass(frozen=True, slots=True)
class Not(Predicate):
    """The other is false; where it is neither true nor false, so is this."""

    part: Predicate


@dataclass(frozen=True, slots=True)
class Both(Predicate):
    """Two predicates are true."""

    first: Predicate
    second: Predicate


@dataclass(frozen=True, slots=True)
class Either(Predicate):
    """At least one of two predicates is true."""

    first: Predicate
    second: Predicate


@dataclass(frozen=True, slots=True)
class Within(Predicate):
    """The point lies in a circle: at most ``radius`` away from (``x``, ``y``), in a plane.

    >>> sf.Within(3, 4, 2.5) == sf.within(3, 4, 2.5)
    True
    """

    x: float
    y: float
    radius: float
    at: Position = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse circles that are nowhere, or less than a point."""
        for name in ("x", "y", "radius"):
            try:
                number = float(getattr(self, name))
            except (TypeError, ValueError, OverflowError):
                number = nan
            if not isfinite(number) or (name == "radius" and number < 0):
                raise ParameterError(
                    f"the {name} of a circle is a number{' from 0 on' * (name == 'radius')}",
                    parameter=name,
                )
            object.__setattr__(self, name, number)


def one_of(values: Iterable[Any]) -> Predicate:
    """The value is in a list; None in the list stands for a missing value.

    >>> sf.one_of(["flu", "asthma"])
    OneOf('asthma', 'flu')
    """
    wanted = frozenset(values)
    if None not in wanted:
        return OneOf(wanted)
    known = wanted - {None}
    return Either(OneOf(known), Missing()) if known else Missing()


def between(low: Any, high: Any) -> Predicate:
    """The value lies between two others, or is one of them.

    >>> sf.between(30, 50)
    Both(first=Compare(operator='>=', value=30), second=Compare(operator='<=', value=50))
    """
    return Both(Compare(">=", low), Compare("<=", high))


def within(x: Any, y: Any, radius: Any) -> Predicate:
    """The point lies at most ``radius`` away from (``x``, ``y``).

    >>> sf.within(3, 4, 2.5)
    Within(x=3.0, y=4.0, radius=2.5)
    """
    return Within(x, y, radius)


def at_least(value: Any) -> Predicate:
    """The value is this or more.

    >>> sf.at_least(18)
    Compare(operator='>=', value=18)
    """
    return Compare(">=", value)


def at_most(value: Any) -> Predicate:
    """The value is this or less.

    >>> sf.at_most(30)
    Compare(operator='<=', value=30)
    """
    return Compare("<=", value)
