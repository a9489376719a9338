"""What a tool asks of the table, by tokens: its question, and how it wants the answer shown.

    SELECT "sex" AS "s", COUNT(*) AS n FROM "public"."people" WHERE age > 30
    GROUP BY 1 ORDER BY n DESC LIMIT 10

The question is SELECT sex, COUNT(*) FROM t WHERE age > 30 GROUP BY sex. Names, order and number of
rows are the tool's business: they are given to the answer after it was recorded. Subqueries that
choose rows and no more (SELECT * FROM people) WHERE ...) are opened.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sfumato.core.aggregates import AGGREGATES
from sfumato.core.predicates import Predicate
from sfumato.core.query import COUNT, Aggregate, Query
from sfumato.server.wire.clauses import Clauses, cut, fetched, folded, listed, number
from sfumato.server.wire.conditions import Pieces, column, condition, read
from sfumato.server.wire.errors import NO_TABLE, NOT_SUPPORTED, SYNTAX, WireError
from sfumato.server.wire.tokens import Token, split

SCHEMA = "public"
_ENDS = ("lo", "hi")
_WORDS = frozenset(name.upper() for name in AGGREGATES)


class Source(NamedTuple):
    """The place of a value in an answer: of a key, or of an aggregate."""

    is_key: bool
    place: int


class Item(NamedTuple):
    """Something that is shown, under the name that it is given, if any."""

    source: Source
    name: str | None


class Order(NamedTuple):
    """A value that rows are sorted by; of an interval an ``end``, or what is between them."""

    source: Source
    end: str | None
    down: bool
    nulls_first: bool


@dataclass(slots=True)
class Outline:
    """A question, and how its answer is shown."""

    by: list[tuple[str, int]] = field(default_factory=list)
    select: list[Aggregate] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)
    order: list[Order] = field(default_factory=list)
    conditions: list[Pieces] = field(default_factory=list)
    limit: int | None = None
    offset: int = 0
    distinct: bool = False

    def query(self, *, placed: bool = False) -> Query:
        """The question; ``placed`` to have the places of all names, which takes longer."""
        where: dict[str, Predicate] = {}
        places: dict[str, int] = {}
        for one in self.conditions:
            found = read(one, placed=placed)
            for name, predicate in found.where.items():
                where[name] = where[name] & predicate if name in where else predicate
            places |= found.places
        places |= {name: at + 1 for name, at in self.by}
        return Query(where, self.select or (COUNT,), [name for name, _ in self.by], places=places)


def outlined(tokens: Sequence[Token], database: str) -> Outline:
    """The outline of a SELECT of a table that is called like its database."""
    if tokens[0].word == "WITH":
        raise _unsupported("WITH", tokens[0])
    clauses = cut(tokens)
    if _is_wrapper(clauses):
        return _wrapped(clauses, database)
    found = Outline()
    qualifiers = _from(clauses, database, found)
    if clauses.get("WHERE"):
        found.conditions.append(condition(clauses["WHERE"], qualifiers))
    _Reader(found, qualifiers).read(clauses)
    return found


def _is_wrapper(clauses: Clauses) -> bool:
    """SELECT * FROM (a whole question) AS q LIMIT 100, as tools write around what people write."""
    inside = {one.word for one in clauses.get("FROM", ())}
    everything = [one.text for one in clauses["SELECT"]] == ["*"]
    return (
        everything
        and bool(inside)
        and clauses["FROM"][0].text == "("
        and bool(inside & {"GROUP", *_WORDS})
    )


def _wrapped(clauses: Clauses, database: str) -> Outline:
    inner, _ = _subquery(clauses["FROM"])
    if clauses.keys() - {"SELECT", "FROM", "LIMIT"}:
        raise _no_rows(inner)
    found = outlined(inner, database)
    most = number(clauses["LIMIT"], "LIMIT") if "LIMIT" in clauses else None
    known = [one for one in (found.limit, most) if one is not None]
    found.limit = min(known, default=None)
    return found


def table_of(tokens: Sequence[Token], database: str) -> frozenset[tuple[str, ...]]:
    """What may stand before the dot of a column, from people AS p; refused if it is another."""
    names, alias = _table_name(tokens)
    if names not in _names_of(database):
        shown = ".".join(names)
        raise WireError(
            NO_TABLE, f"there is no table {shown!r}", f"the table is called {database}",
            at=tokens[0].start + 1,
        )  # fmt: skip
    own = {names[at:] for at in range(len(names))}
    return frozenset(own | {(SCHEMA, names[-1])} | ({(alias.lower(),)} if alias else set()))


def _table_name(tokens: Sequence[Token]) -> tuple[tuple[str, ...], str | None]:
    item = listed(tokens)
    if any(one.text == "," for one in tokens) or not column(item.tokens, _ANYTHING):
        raise WireError(
            NOT_SUPPORTED,
            "a question is about one table",
            at=tokens[0].start + 1 if tokens else None,
        )
    return tuple(one.name.lower() for one in item.tokens[::2]), item.alias


class _Anything(frozenset[tuple[str, ...]]):
    def __contains__(self, _: object) -> bool:
        return True


_ANYTHING = _Anything()


def _names_of(database: str) -> set[tuple[str, ...]]:
    own = database.lower()
    return {(*before, name) for name in (own, "t") for before in ((), (SCHEMA,), (own, SCHEMA))}


def _from(clauses: Clauses, database: str, found: Outline) -> frozenset[tuple[str, ...]]:
    """The names of the table; a subquery leaves its conditions in the outline."""
    tokens = clauses.get("FROM", ())
    if not tokens:
        raise WireError(SYNTAX, "there is no FROM")
    if tokens[0].text != "(":
        return table_of(tokens, database)
    inner, alias = _subquery(tokens)
    found.conditions += _rows_of(inner, database)
    return frozenset({(alias.lower(),)})


def _subquery(tokens: Sequence[Token]) -> tuple[Sequence[Token], str]:
    item = listed(tokens)
    if item.alias is None or item.tokens[-1].text != ")":
        raise WireError(SYNTAX, "a subquery needs a name", at=tokens[0].start + 1)
    return item.tokens[1:-1], item.alias


def _rows_of(tokens: Sequence[Token], database: str) -> list[Pieces]:
    """The conditions of a subquery that chooses rows."""
    clauses = cut(tokens)
    inner = Outline()
    qualifiers = _from(clauses, database, inner)
    if clauses.keys() - {"SELECT", "FROM", "WHERE"}:
        raise _no_rows(tokens)
    for part in split(clauses["SELECT"]):
        item = listed(part)
        is_star = [one.text for one in item.tokens][-1:] == ["*"]
        own = None if is_star else column(item.tokens, qualifiers)
        if not is_star and (own is None or item.alias not in (None, own[0])):
            raise _no_rows(tokens)
    if clauses.get("WHERE"):
        inner.conditions.append(condition(clauses["WHERE"], qualifiers))
    return inner.conditions


def _no_rows(tokens: Sequence[Token]) -> WireError:
    return WireError(
        NOT_SUPPORTED,
        "this subquery is not supported",
        "a subquery chooses rows: (SELECT * FROM t WHERE ...)",
        at=tokens[0].start + 1 if tokens else None,
    )


@dataclass(slots=True)
class _Reader:
    """Fills in the outline of a SELECT, clause by clause."""

    found: Outline
    qualifiers: frozenset[tuple[str, ...]]
    _listed: list[tuple[Sequence[Token], str | None]] = field(default_factory=list)

    def read(self, clauses: Clauses) -> None:
        """All clauses but FROM and WHERE."""
        chosen = list(clauses["SELECT"])
        if chosen and chosen[0].word == "ALL":
            chosen.pop(0)
        elif chosen and chosen[0].word == "DISTINCT":
            self.found.distinct = True
            chosen.pop(0)
            if chosen and chosen[0].word == "ON":
                raise _unsupported("DISTINCT ON", chosen[0])
        self._listed = [listed(part) for part in split(chosen)]
        self._groups(clauses)
        for tokens, alias in self._listed:
            self.found.items.append(Item(self._source(tokens), alias))
        self._require_question(chosen)
        for part in split(clauses["ORDER"]) if clauses.get("ORDER") else ():
            self.found.order.append(self._order(part))
        self._limits(clauses)

    def _groups(self, clauses: Clauses) -> None:
        wanted = (
            [self._pointed(part) for part in split(clauses["GROUP"])] if "GROUP" in clauses else []
        )
        if self.found.distinct and not wanted:
            wanted = [tokens for tokens, _ in self._listed if self._aggregate(tokens) is None]
        for tokens in wanted:
            named = column(tokens, self.qualifiers)
            if named is None:
                raise _unsupported(
                    "anything but columns in GROUP BY", tokens[0] if tokens else None
                )
            if named[0].lower() not in {name.lower() for name, _ in self.found.by}:
                self.found.by.append(named)

    def _pointed(self, tokens: Sequence[Token]) -> Sequence[Token]:
        """What the number of an item, or its name, stands for; other tokens for themselves."""
        if len(tokens) != 1:
            return tokens
        (token,) = tokens
        if token.kind == "number" and token.text.isdecimal() and len(token.text) < 9:
            place = int(token.text) - 1
            if not 0 <= place < len(self._listed):
                message = f"position {token.text} is not in the select list"
                raise WireError("42P10", message, at=token.start + 1)
            return self._listed[place][0]
        if token.is_name:
            for item, alias in self._listed:
                if alias == folded(token):
                    return item
        return tokens

    def _source(self, tokens: Sequence[Token]) -> Source:
        """Where the value of an expression is found in the answer."""
        named = column(tokens, self.qualifiers)
        if named is not None:
            for place, (name, _) in enumerate(self.found.by):
                if name.lower() == named[0].lower():
                    return Source(True, place)
            raise _not_grouped(named[0], tokens[0])
        aggregate = self._aggregate(tokens)
        if aggregate is None:
            raise _foreign(tokens)
        if aggregate not in self.found.select:
            self.found.select.append(aggregate)
        return Source(False, self.found.select.index(aggregate))

    def _aggregate(self, tokens: Sequence[Token]) -> Aggregate | None:
        """COUNT(*), AVG(age); COUNT(1) counts everything."""
        function = tokens[0].text.lower() if tokens and tokens[0].is_name else ""
        signs = [one.text for one in tokens[1:2]] + [one.text for one in tokens[-1:]]
        if function not in AGGREGATES or signs != ["(", ")"]:
            return None
        inside = tokens[2:-1]
        if function == "count" and len(inside) == 1 and inside[0].text in ("*", "1"):
            return Aggregate("count", at=tokens[0].start + 1)
        named = column(inside, self.qualifiers)
        if named is None:
            return None
        return Aggregate(function, named[0], at=inside[0].start + 1)

    def _require_question(self, chosen: Sequence[Token]) -> None:
        if not self.found.select and not self.found.by:
            raise _foreign(chosen)

    def _order(self, tokens: Sequence[Token]) -> Order:
        tokens = list(tokens)
        nulls = None
        if len(tokens) > 2 and tokens[-2].word == "NULLS":
            nulls = tokens.pop().word == "FIRST"
            tokens.pop()
        down = bool(tokens) and tokens[-1].word == "DESC"
        if tokens and tokens[-1].word in ("ASC", "DESC"):
            tokens.pop()
        source, end = self._sorted_by(tokens)
        return Order(source, end, down, down if nulls is None else nulls)

    def _sorted_by(self, tokens: Sequence[Token]) -> tuple[Source, str | None]:
        for end in _ENDS if len(tokens) == 1 and tokens[0].is_name else ():
            own = folded(tokens[0])
            for item in self.found.items:
                if not item.source.is_key and own == f"{self._name(item)}_{end}":
                    return item.source, end
        return self._source(self._pointed(tokens)), None

    def _name(self, item: Item) -> str:
        return item.name or self.found.select[item.source.place].name

    def _limits(self, clauses: Clauses) -> None:
        found = self.found
        if "LIMIT" in clauses:
            found.limit = number(clauses["LIMIT"], "LIMIT")
        if "OFFSET" in clauses:
            found.offset = number(clauses["OFFSET"], "OFFSET") or 0
        if "FETCH" in clauses:
            found.limit = fetched(clauses["FETCH"])


def _not_grouped(name: str, token: Token) -> WireError:
    return WireError(
        "42803",
        f"{name!r} is not grouped: rows are not given out",
        "put it into GROUP BY, or into an aggregate",
        at=token.start + 1,
    )


def _unsupported(what: str, token: Token | None) -> WireError:
    at = None if token is None else token.start + 1
    return WireError(NOT_SUPPORTED, f"{what} is not supported", at=at)


def _foreign(tokens: Sequence[Token]) -> WireError:
    if [one.text for one in tokens][-1:] == ["*"]:
        return WireError(
            NOT_SUPPORTED,
            "rows are not given out",
            "ask for COUNT(*), with GROUP BY if you like",
            at=tokens[0].start + 1,
        )
    functions = ", ".join(name.upper() for name in AGGREGATES)
    return WireError(
        NOT_SUPPORTED,
        "this expression is not supported",
        f"SELECT takes columns of GROUP BY, and {functions} of a column",
        at=tokens[0].start + 1 if tokens else None,
    )
