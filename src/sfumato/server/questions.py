"""Questions: read from SQL or JSON, brought into canonical form, checked without reading rows.

The canonical form is made of the codes that a condition leaves of each public domain, in the order
of the schema: questions of equal meaning have one. It is written back as SQL, with values of the
domains for ends, for people and for the ledger; reading that text gives the same codes.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from math import prod
from operator import and_, attrgetter
from typing import Any

from sfumato.answers.group_bounds import Counted
from sfumato.answers.value_bounds import Choices
from sfumato.core.attribute import Kind
from sfumato.core.predicates import Either, Missing, OneOf, Predicate, between
from sfumato.core.query import Query
from sfumato.errors import DataError, ParameterError, QueryRefused
from sfumato.queries.binding import bind
from sfumato.queries.columns import Catalog, position_of
from sfumato.queries.json import from_line
from sfumato.queries.sql import parse
from sfumato.queries.sql.writing import sql_of
from sfumato.server.errors import invalid
from sfumato.server.unknown_values import notes_on
from sfumato.statdb.count.asking import conditions_of
from sfumato.statdb.count.conditions import Axis, Conditions, Runs, is_all
from sfumato.statdb.count.plain_text import read_plain_question
from sfumato.statdb.count.points import PointAxis, found_point
from sfumato.statdb.responder import Responder

_FEW = 20  # so many values are listed rather than told by their ends


class QueryTimeout(Exception):
    """A question took longer than it may."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as it came: SQL, or the line of JSON that queries.query_json reads."""

    text: str
    is_sql: bool

    def read(self) -> Query:
        """The query, or a refusal."""
        if self.is_sql:
            return read_plain_question(self.text) or parse(self.text)
        try:
            return from_line(self.text)
        except DataError as error:
            raise invalid(
                f"the query object is none{_mistake(self.text, error)}",
                '{"where": {"age": {"between": [30, 50]}, "disease": ["flu", null]}, "by": ["sex"]}'
                " is one; SQL goes into sql",
            ) from None

    def read_placed(self) -> Query | None:
        """The same query with the places of all names, where the text is SQL."""
        return parse(self.text) if self.is_sql else None


@dataclass(frozen=True, slots=True)
class Question:
    """A query in canonical form, with its ``key`` for programs and its ``sql`` for people.

    ``notes`` are on what it named and nobody has.
    """

    query: Query
    key: tuple[Any, ...]
    sql: str
    groups: int
    notes: tuple[str, ...] = ()

    @property
    def uses(self) -> list[str]:
        """The columns that the answer depends on."""
        of = [one.attribute for one in self.query.select if one.attribute is not None]
        return list(dict.fromkeys((*self.query.where, *self.query.by, *of)))


def asked_of(body: Any) -> Asked:
    """The question in ``{"sql": ...}`` or ``{"query": ...}``."""
    if isinstance(body, dict) and body.keys() == {"sql"} and isinstance(body["sql"], str):
        return Asked(body["sql"], is_sql=True)
    if isinstance(body, dict) and body.keys() == {"query"} and isinstance(body["query"], dict):
        line = json.dumps(body["query"], ensure_ascii=False)
        if line.isprintable() or _encodes(line):
            return Asked(line, is_sql=False)
    raise invalid(
        "a question is an object with either sql (a text) or query (an object)",
        '{"sql": "SELECT COUNT(*) FROM t"} or {"query": {"where": {"age": [30, 31]}}}',
    )


def understood(responder: Responder, asked: Asked, most_groups: int) -> Question:
    """A question in canonical form, or a refusal; rows are not read."""
    try:
        return canonical(responder, asked.read(), most_groups)
    except QueryRefused as refusal:
        # the long way knows the place in the text
        placed = asked.read_placed() if refusal.position is None else None
        if placed is None:
            raise
        return canonical(responder, placed, most_groups)
    except ParameterError as error:
        position = 1 if asked.is_sql else None
        raise QueryRefused(str(error), clause="SELECT", position=position) from None
    except RecursionError:
        raise QueryRefused("conditions are nested too deeply", clause="WHERE") from None


def canonical(responder: Responder, query: Query, most_groups: int) -> Question:
    """A query in canonical form, or a refusal."""
    bound = bind(Query({}, query.select, query.by, places=query.places), responder.catalog)
    found = conditions_of(responder, query)
    kept = {
        name: found[name]
        for name, axis in responder.axes.items()
        if name in found and not is_all(found[name], axis)
    }
    groups = prod(_left(responder.axes[name], found.get(name)) for name in bound.by)
    if groups > most_groups:
        raise QueryRefused(
            f"GROUP BY {', '.join(bound.by)} has {groups:,} groups, and {most_groups:,} are "
            "allowed; narrow it with WHERE",
            clause=bound.by[-1],
            position=position_of(query, bound.by[-1]),
        )
    where = {name: _predicate(responder.axes[name], runs) for name, runs in kept.items()}
    # circles stay as they were drawn, also if others have the same points in them: a remembered
    # answer would tell how somebody else has asked
    circles = _circles(responder, query)
    where |= circles
    meant = Query(where, bound.select, bound.by, places=query.places)
    key = (tuple(kept.items()), tuple(circles.items()), bound.select, bound.by)
    columns = {
        name: one
        for name, one in query.where.items()
        if found_point(responder.points, name, responder.catalog) is None
    }
    notes = notes_on(columns, responder.catalog, responder.axes)
    return Question(meant, key, sql_of(meant), groups, notes)


def _circles(responder: Responder, query: Query) -> dict[str, Predicate]:
    """What is asked of points, in their order and that of numbers."""
    found: dict[str, set[Predicate]] = {}
    for name, predicate in query.where.items():
        axis = found_point(responder.points, name, responder.catalog)
        if axis is not None:
            found.setdefault(axis.name, set()).update(axis.circles(predicate))
    ordered = {name: sorted(found[name], key=_SIZE) for name in responder.points if name in found}
    return {name: reduce(and_, circles) for name, circles in ordered.items()}


_SIZE = attrgetter("x", "y", "radius")


@dataclass(frozen=True, slots=True, eq=False)
class _Described:
    """What everybody knows of a database."""

    responder: Responder

    @property
    def catalog(self) -> Catalog:
        """The columns that can be asked about."""
        return self.responder.catalog

    @property
    def axes(self) -> Mapping[str, Axis]:
        """Their public domains."""
        return self.responder.axes

    @property
    def points(self) -> Mapping[str, PointAxis]:
        """Pairs of columns that circles are asked about."""
        return self.responder.points


@dataclass(frozen=True, slots=True, eq=False)
class Timed(_Described):
    """A database that stops answering at a moment: groups are answered one by one."""

    until: float

    def counted(self, conditions: Conditions) -> Counted:
        """How many rows satisfy all conditions."""
        self._check()
        return self.responder.counted(conditions)

    def choices(self, conditions: Conditions, name: str, function: str) -> Choices:
        """The values of an attribute that rows which satisfy all conditions may have."""
        self._check()
        return self.responder.choices(conditions, name, function)

    def _check(self) -> None:
        if time.monotonic() > self.until:
            raise QueryTimeout


@dataclass(frozen=True, slots=True, eq=False)
class Rowless(_Described):
    """The same database without its rows: it refuses what the real one does, and knows nothing."""

    def counted(self, conditions: Conditions) -> Counted:
        """Nobody, or a refusal: where no value is wanted, the responder looks at no row."""
        return self.responder.counted({**conditions, self.responder.sensitive: ()})

    def choices(self, conditions: Conditions, name: str, function: str) -> Choices:
        """No values, or a refusal."""
        return self.responder.choices({**conditions, name: ()}, name, function)


_LONGEST = 200  # letters of the client's own that an error repeats


def _mistake(line: str, error: DataError) -> str:
    """Where a query object is wrong, and how: its parts are read one by one."""
    try:
        stated: dict[str, Any] = json.loads(line)
        where = stated.get("where")
        conditions = where if isinstance(where, dict) else {}
        parts = [(f"the condition on {name!r}", {"where": {name: conditions[name]}})
                 for name in conditions]  # fmt: skip
        parts += [(repr(name), {name: content}) for name, content in stated.items()]
        for place, part in parts:
            try:
                from_line(json.dumps(part))
            except DataError as found:
                return _shortened(f", {place} is wrong{_reason(found)}")
    except RecursionError:
        return ", it is nested too deeply"
    return _shortened(_reason(error))


def _reason(error: DataError) -> str:
    """What the reader of query objects says, if it speaks of them rather than of itself."""
    match error.__cause__:
        case RecursionError():
            return ": it is nested too deeply"
        case KeyError(args=(str(key),)):
            return f": {key!r} is unknown or missing"
        case ValueError() as cause if "unpack" not in str(cause):
            return f": {cause}"
    return ""


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _left(axis: Axis, runs: Runs | None) -> int:
    return axis.size if runs is None else sum(last - first + 1 for first, last in runs)


def _predicate(axis: Axis, runs: Runs) -> Predicate:
    """What keeps exactly these codes: a list if they are few names, else from one to another."""
    line, missing = axis.shown, axis.attribute.missing_code
    known = [(first, min(last, missing - 1)) for first, last in runs if first < missing]
    listed = axis.attribute.kind is Kind.CATEGORICAL and _left(axis, tuple(known)) <= _FEW
    points = [a for a, b in known if a == b]
    spans = [(a, b) for a, b in known if a < b]
    if listed:
        points, spans = [code for a, b in known for code in range(a, b + 1)], []
    parts: list[Predicate] = [between(line[a], line[b]) for a, b in spans]
    if points or not runs:
        parts.append(OneOf(frozenset(line[code] for code in points)))
    if runs and runs[-1][1] == missing:
        parts.append(Missing())
    return reduce(Either, parts)


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
