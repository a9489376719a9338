"""Nodes of sqlglot's tree: where they stand, and that nothing hangs on them unseen."""

from __future__ import annotations

from sqlglot import exp

from sfumato.errors import QueryRefused
from sfumato.queries.sql.text import refused
from sfumato.queries.sql.words import NO_ALIASES


def position(node: exp.Expr) -> int:
    """Where a node begins in the text, counted from 1; where its surroundings do, if unknown."""
    place: exp.Expr | None = node
    while place is not None:
        starts = [part.meta["start"] for part in place.walk() if "start" in part.meta]
        if starts:
            return int(min(starts)) + 1
        place = place.parent
    return 1


def only(node: exp.Expr, clause: str, *known: str) -> None:
    """Refuse a node that has more to it than the parts its reader knows."""
    for name, part in node.args.items():
        if name not in known and part:
            parts = part if isinstance(part, list) else [part]
            beyond = next((one for one in parts if isinstance(one, exp.Expr)), node)
            words = _PARTS.get(name, name.strip("_"))
            message = f"{clause} with {words} is not supported; leave that out"
            raise refused(message, clause, position(beyond))


# What users call the arguments of sqlglot's nodes.
_PARTS = {
    "catalog": "a catalog",
    "columns": "names of columns",
    "db": "a schema",
    "expressions": "several columns",
}


def unwrapped(node: exp.Expr) -> exp.Expr:
    """The node inside of all parentheses."""
    while type(node) is exp.Paren:
        only(node, "( )", "this")
        node = node.this
    return node


def name_of(node: exp.Expr, clause: str) -> str:
    """The name that an identifier spells."""
    if type(node) is not exp.Identifier:
        raise foreign(node, clause, "a name is expected")
    only(node, clause, "this", "quoted")
    if not node.this:
        raise refused("a name is empty", clause, position(node))
    return str(node.this)


def alias_of(node: exp.Expr, clause: str) -> str:
    """A name that the query gives to something."""
    name = name_of(node, clause)
    if not node.args.get("quoted") and name.upper() in NO_ALIASES:
        message = f'{name} is not supported; if it is a name, write "{name}"'
        raise refused(message, clause, position(node))
    return name


def column_name(node: exp.Expr, clause: str, tables: frozenset[str]) -> str:
    """The name of a column; before it may stand one of the table's names."""
    column = unwrapped(node)
    if type(column) is not exp.Column:
        raise foreign(column, clause, "the name of a column is expected")
    only(column, clause, "this", "table")
    if (table := column.args.get("table")) is not None:
        _check_table(name_of(table, clause), tables, position(column))
    return name_of(column.this, clause)


def foreign(node: exp.Expr, clause: str, expected: str) -> QueryRefused:
    """The refusal of a node that cannot stand where it stands."""
    named = (words for kind, words in _CALLED if isinstance(node, kind))
    what = next(named, "this")
    if what == "the function":
        what = f"the function {str(node.this if type(node) is exp.Anonymous else node.key).upper()}"
    return refused(f"{what} cannot stand here; {expected}", clause, position(node))


# What users call these nodes, special kinds first.
_CALLED: tuple[tuple[type[exp.Expr] | tuple[type[exp.Expr], ...], str], ...] = (
    (exp.Window, "a window function"),
    (exp.Filter, "FILTER"),
    (exp.Cast, "a cast"),
    (exp.Star, "*"),
    (exp.Subquery, "a subquery"),
    (exp.Tuple, "a list"),
    (exp.Concat, "two texts in a row"),
    (exp.NullSafeEQ, "IS DISTINCT FROM"),
    (exp.AggFunc, "an aggregate"),
    ((exp.And, exp.Or, exp.Not), "AND, OR or NOT"),
    (exp.Func, "the function"),
    ((exp.Add, exp.Sub, exp.Mul, exp.Neg), "arithmetic"),
    (exp.Column, "a column"),
    (exp.Null, "NULL"),
    ((exp.Literal, exp.Boolean), "a value"),
    (exp.Predicate, "a comparison"),
)


def _check_table(name: str, tables: frozenset[str], at: int) -> None:
    if name.lower() not in tables:
        known = " or ".join(sorted(tables))
        raise refused(f"there is no table {name!r}; the table is called {known}", "FROM", at)
