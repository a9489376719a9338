"""SELECTs that want columns and no rows, by which tools find out what a table is like.

    SELECT * FROM people LIMIT 0
    SELECT TRUE AS "_" FROM "public"."people" WHERE 1 <> 1 LIMIT 0

They are answered from the public schema, as what is asked of the catalogs. No row is behind them.
"""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.queries.columns import Catalog
from sfumato.server.wire.answers import Column
from sfumato.server.wire.clauses import Listed, cut, listed
from sfumato.server.wire.conditions import column
from sfumato.server.wire.outline import table_of
from sfumato.server.wire.tokens import Token, split
from sfumato.server.wire.values import BOOL, INT4, TEXT, Kind, kind_of

_NEVER = (["1", "=", "0"], ["0", "=", "1"], ["1", "<>", "1"], ["1", "!=", "1"], ["FALSE"])


def probed(tokens: Sequence[Token], database: str, catalog: Catalog) -> list[Column] | None:
    """The columns of such a SELECT; None for everything else."""
    if not _ends_empty(tokens):
        return None
    clauses = cut(tokens)
    if clauses.keys() - {"SELECT", "FROM", "WHERE", "LIMIT"} or clauses["FROM"][0].text == "(":
        return None
    qualifiers = table_of(clauses["FROM"], database)
    found = [_columns(listed(part), qualifiers, catalog) for part in split(clauses["SELECT"])]
    return None if None in found else [one for each in found for one in each or ()]


def _ends_empty(tokens: Sequence[Token]) -> bool:
    words = [one.text.upper() for one in tokens[-6:]]
    if words[-2:-1] == ["LIMIT"]:
        if words[-1] == "0":
            return True
        words = words[:-2]
    return any(words[-len(one) - 1 :] == ["WHERE", *one] for one in _NEVER)


def _columns(
    item: Listed, qualifiers: frozenset[tuple[str, ...]], catalog: Catalog
) -> list[Column] | None:
    """What an item stands for; None if it is no column and no constant."""
    if not item.tokens:
        return None
    first, last = item.tokens[0], item.tokens[-1]
    if last.text == "*" and (len(item.tokens) == 1 or item.tokens[-2].text == "."):
        return [_empty(name, kind_of(one.type)) for name, one in catalog.columns.items()]
    kind = _constant(first) if len(item.tokens) == 1 else None
    if kind is not None:
        return [_empty(item.alias or "?column?", kind)]
    named = column(item.tokens, qualifiers)
    if named is None:
        return None
    one = catalog.find(named[0], named[1] + 1)
    return [_empty(item.alias or one.name, kind_of(one.type))]


def _constant(token: Token) -> Kind | None:
    if token.word in ("TRUE", "FALSE"):
        return BOOL
    if token.word == "NULL" or token.kind == "text":
        return TEXT
    return INT4 if token.kind == "number" else None


def _empty(name: str, kind: Kind) -> Column:
    return Column(name, kind, lambda line: line)
