"""SQL text as a Query: one SELECT of aggregates over one table, or a condition alone.

    SELECT sex, COUNT(*) AS n, AVG(age) FROM t WHERE age BETWEEN 30 AND 50 GROUP BY sex

The answer has all columns of GROUP BY first, selected or not, and then the aggregates. The table
may have any name, for there is only one; ``t`` always works. Texts stand in single quotes, names
may stand in double quotes. Everything that is not understood is refused with its place in the
text: nothing is skipped. sqlglot does the parsing; sql_text, sql_tree, sql_nodes, sql_literals and
sql_conditions read what it found.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from sqlglot import Token, TokenType, exp

from sfumato.core.aggregates import AGGREGATES
from sfumato.core.query import Aggregate, Query
from sfumato.queries.sql.conditions import Condition, conditions
from sfumato.queries.sql.nodes import (
    alias_of,
    column_name,
    foreign,
    only,
    position,
    unwrapped,
)
from sfumato.queries.sql.text import MAX_LENGTH, MAX_NESTING, refused, tokens_of, word_of
from sfumato.queries.sql.tree import check_counts, tree_of
from sfumato.queries.sql.words import A_CONDITION, A_QUERY, ONE_TABLE

__all__ = ["MAX_LENGTH", "MAX_NESTING", "parse", "parse_condition"]


def parse(text: str) -> Query:
    """The query that a SELECT statement asks, or a refusal."""
    tokens = tokens_of(text)
    if tokens and tokens[-1].token_type is TokenType.SEMICOLON:
        tokens.pop()
    if not tokens:
        raise refused(f"the text is empty; {A_QUERY}", "text", 1)
    if tokens[0].token_type is not TokenType.SELECT:
        raise refused(f"a question begins with SELECT; {A_QUERY}", "SELECT", tokens[0].start + 1)
    select = tree_of(tokens, text, exp.Select, A_QUERY)
    if type(select) is not exp.Select:
        raise foreign(select, "SELECT", A_QUERY)
    if joins := select.args.get("joins"):
        raise refused(f"joins are not supported; {ONE_TABLE}", "JOIN", position(joins[0]))
    only(select, "SELECT", "expressions", "from_", "where", "group")
    _check_order(tokens)
    query = _query(select)
    check_counts(tokens, select)
    return query


def parse_condition(text: str) -> Query:
    """A query that counts the rows which satisfy a condition; all rows, if there is none."""
    tokens = tokens_of(text)
    if not tokens:
        return Query()
    for token in tokens:
        if token.token_type in (*_CLAUSES, TokenType.SEMICOLON):
            word = word_of(token)
            message = f"{word} cannot stand in a condition; write age <= 30 AND sex = 'F'"
            raise refused(message, word, token.start + 1)
    tree = tree_of(tokens, text, exp.Condition, A_CONDITION)
    where = conditions(tree, frozenset("t"))
    check_counts(tokens, tree)
    return Query({one.name: one.predicate for one in where}, places=_places(where))


_CLAUSES = (TokenType.SELECT, TokenType.FROM, TokenType.WHERE, TokenType.GROUP_BY)


def _check_order(tokens: Sequence[Token]) -> None:
    """sqlglot takes clauses in any order; SQL does not."""
    last = -1
    for token in tokens:
        if token.token_type in _CLAUSES:
            rank = _CLAUSES.index(token.token_type)
            if rank <= last:
                word = word_of(token)
                raise refused(f"{word} stands too late; {A_QUERY}", word, token.start + 1)
            last = rank


def _query(select: exp.Select) -> Query:
    tables = _table_names(select)
    where = _where(select, tables)
    groups = _groups(select, tables)
    aggregates = list(_aggregates(select, tables, groups))
    if not aggregates:
        message = "nothing is computed; SELECT needs an aggregate such as COUNT(*)"
        raise refused(message, "SELECT", position(select))
    return Query(
        {one.name: one.predicate for one in where},
        aggregates,
        list(groups),
        places={**groups, **_places(where)},
    )


def _places(where: Iterable[Condition]) -> dict[str, int]:
    return {one.name: one.at for one in where}


def _table_names(select: exp.Select) -> frozenset[str]:
    """What may stand before the dot of a column, in small letters."""
    source = select.args.get("from_")
    if source is None:
        raise refused("there is no FROM; write FROM t", "FROM", position(select))
    only(source, "FROM", "this")
    table = source.this
    if type(table) is not exp.Table:
        raise foreign(table, "FROM", ONE_TABLE)
    only(table, "FROM", "this", "alias")
    names = [alias_of(table.this, "FROM")]
    if (alias := table.args.get("alias")) is not None:
        only(alias, "FROM", "this")
        names.append(alias_of(alias.this, "FROM"))
    return frozenset(("t", *(name.lower() for name in names)))


def _where(select: exp.Select, tables: frozenset[str]) -> tuple[Condition, ...]:
    where = select.args.get("where")
    if where is None:
        return ()
    only(where, "WHERE", "this")
    return conditions(where.this, tables)


def _groups(select: exp.Select, tables: frozenset[str]) -> dict[str, int]:
    """The columns of GROUP BY, and where they stand."""
    found: dict[str, int] = {}
    group = select.args.get("group")
    if group is None:
        return found
    only(group, "GROUP BY", "expressions")
    for column in group.expressions:
        name, at = column_name(column, "GROUP BY", tables), position(column)
        if name in found:
            raise refused(f"GROUP BY names {name!r} twice", "GROUP BY", at)
        found[name] = at
    return found


def _aggregates(
    select: exp.Select, tables: frozenset[str], groups: Iterable[str]
) -> Iterator[Aggregate]:
    """What SELECT computes; the columns that it also names must be grouping ones."""
    grouping = {name.lower() for name in groups}
    taken = set(groups)
    selected: set[str] = set()
    for item in select.expressions:
        if isinstance(unwrapped(item.unalias()), exp.Column):
            _check_grouping(item, tables, grouping, selected)
            continue
        aggregate = _aggregate(item, tables)
        if aggregate.name in taken:
            message = f"the answer would have two columns {aggregate.name!r}; name one with AS"
            raise refused(message, "SELECT", position(item))
        taken.add(aggregate.name)
        yield aggregate


def _check_grouping(
    item: exp.Expr, tables: frozenset[str], grouping: set[str], selected: set[str]
) -> None:
    if type(item) is exp.Alias:
        message = "a grouping column keeps its name; leave out the AS"
        raise refused(message, "AS", position(item.args["alias"]))
    name = column_name(item, "SELECT", tables)
    if name.lower() not in grouping:
        message = f"{name!r} is not grouped; put it into GROUP BY, or into an aggregate"
        raise refused(message, "SELECT", position(item))
    if name in selected:
        raise refused(f"SELECT names {name!r} twice", "SELECT", position(item))
    selected.add(name)


def _aggregate(item: exp.Expr, tables: frozenset[str]) -> Aggregate:
    node, name = item, ""
    if type(item) is exp.Alias:
        only(item, "AS", "this", "alias")
        node, name = item.this, alias_of(item.args["alias"], "AS")
    function = _function_name(node)
    if function not in AGGREGATES:
        raise foreign(node, "SELECT", _computable())
    word, of = function.upper(), _argument(node, function.upper())
    if type(of) is exp.Star and function == "count":
        only(of, word)
        return Aggregate(function, None, name, position(node))
    if of is None:
        raise refused(f"{word} of what? name a column", word, position(node))
    return Aggregate(function, column_name(of, word, tables), name, position(of))


def _function_name(node: exp.Expr) -> str:
    """sqlglot has a class for every function that it knows, and keeps the names of others."""
    if type(node) is exp.Anonymous:
        return str(node.this).lower()
    return node.sql_name().lower() if isinstance(node, exp.Func) else ""


def _argument(node: exp.Expr, word: str) -> exp.Expr | None:
    if type(node) is exp.Anonymous:
        only(node, word, "this", "expressions")
        if len(node.expressions) > 1:
            raise refused(f"{word} takes one column", word, position(node.expressions[1]))
        return next(iter(node.expressions), None)
    only(node, word, "this", "big_int")  # big_int is sqlglot's own; no text sets it
    of: exp.Expr | None = node.this
    return of


def _computable() -> str:
    *words, last = map(str.upper, AGGREGATES)
    return f"SELECT takes {', '.join(words)} and {last} of a column, and grouping columns"
