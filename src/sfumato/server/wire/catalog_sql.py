"""Statements about PostgreSQL's catalogs, translated for DuckDB; only what is known goes through.

Every table must be one of ours, or defined in the statement; every function must be on a list.
Neither could reach a file or the network, for DuckDB is locked; but it has thousands of functions,
and settings that are nobody's business.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

import sfumato
from sfumato.server.wire.catalog_macros import MACROS
from sfumato.server.wire.errors import NO_TABLE, NOT_SUPPORTED, SYNTAX, WireError
from sfumato.server.wire.settings import VERSION, Settings
from sfumato.server.wire.values import TYPES

_LONGEST = 32_768  # letters
_LONGEST_TEXT, _LONGEST_PART = 10_000, 100  # letters where parts of a text are replaced
_OURS = frozenset(macro.partition("(")[0] for macro in MACROS)
_CLASSES = {"pg_class": 1259, "pg_type": 1247, "pg_attribute": 1249, "pg_proc": 1255,
            "pg_namespace": 2615, "pg_constraint": 2606, "pg_database": 1262, "pg_trigger": 2620,
            "pg_rewrite": 2618, "pg_attrdef": 2604, "pg_am": 2601, "pg_index": 2610,
            "pg_tablespace": 1213, "pg_roles": 1260, "pg_authid": 1260, "pg_extension": 3079,
            "pg_description": 2609, "pg_collation": 3456, "pg_language": 2612}  # fmt: skip
_TYPE_OIDS = {name: one.oid for one in TYPES for name in (one.short, one.name)}

# DuckDB's own, by sqlglot's names: they compute with their arguments and look at nothing else
_HARMLESS = frozenset(
    re.findall(
        r"\w+",
        """abs and any anyvalue array arrayagg arrayall arrayany arraycat arraycontains
        arrayposition arraysize arraytostring avg between bracket case cast ceil coalesce concat
        concatws count denserank dpipe exists explode explodinggenerateseries extract firstvalue
        floor generateseries greatest groupconcat if in initcap lag lastvalue lead least left
        length like ilike logicaland logicalor lower ltrim max min mod nullif or rank
        regexpextract regexpilike regexplike regexpreplace replace right round rownumber rtrim
        split splitpart startswith stringtoarray strposition struct substring sum trim trycast
        unnest upper xor array_agg array_length array_position array_to_string ascii bool_and
        bool_or cardinality char_length chr concat_ws generate_subscripts octet_length position
        row_number split_part starts_with string_agg string_to_array strpos translate""",
    )
)


class Known(NamedTuple):
    """The system tables that there are, and the name of the one other table."""

    tables: frozenset[str]
    database: str


def translated(text: str, known: Known, user: str, number: int, settings: Settings) -> str:
    """A statement for DuckDB, or a refusal."""
    if len(text) > _LONGEST:
        raise WireError(NOT_SUPPORTED, f"statements have up to {_LONGEST:,} letters here")
    try:
        found = sqlglot.parse(text, read="postgres")
    except (SqlglotError, RecursionError, ValueError):
        raise WireError(SYNTAX, "the statement is not understood") from None
    tree = found[0] if len(found) == 1 else None
    if isinstance(tree, exp.Values):
        tree = exp.select("*").from_(tree.copy())
    if not isinstance(tree, exp.Query):
        raise WireError(NOT_SUPPORTED, "this statement is not supported")
    session = _Session(known, user, number, settings, frozenset(_defined(tree)))
    try:
        return session.tree(tree).sql(dialect="duckdb")
    except (SqlglotError, RecursionError, ValueError):
        raise WireError(NOT_SUPPORTED, "this use of the system catalogs is not supported") from None


def _defined(tree: exp.Expr) -> set[str]:
    """The names that WITH gives."""
    return {one.alias.lower() for one in tree.find_all(exp.CTE)}


@dataclass(frozen=True, slots=True)
class _Session:
    """Who asks, for functions that tell it."""

    known: Known
    user: str
    number: int
    settings: Settings
    defined: frozenset[str]

    def tree(self, tree: exp.Expr) -> exp.Expr:
        """The translation of a tree."""
        if tree.find(exp.Into, exp.Lock, exp.DML, exp.Command) is not None:
            raise WireError(NOT_SUPPORTED, "this statement is not supported")
        for select in tree.find_all(exp.Select):
            select.set("expressions", [_named(item) for item in select.expressions])
        # from the leaves up: everything that was written is looked at once, nothing of ours is
        for node in reversed(list(tree.walk())):
            changed = self._node(node)
            if node is tree:
                tree = changed
            elif changed is not node:
                node.replace(changed)
        return tree

    def _node(self, node: exp.Expr) -> exp.Expr:
        for kind, change in self._changes().items():
            if isinstance(node, kind):
                return change(node)
        return node

    def _changes(self) -> dict[type[exp.Expr], Callable[[exp.Expr], exp.Expr]]:
        return {
            exp.Table: self._table,
            exp.Column: _column,
            exp.Cast: self._cast,
            exp.Dot: self._dot,
            exp.Operator: _operator,
            exp.Collate: lambda node: node.this,
            exp.Func: self._function,
        }

    def _table(self, node: exp.Expr) -> exp.Expr:
        if not isinstance(node.this, exp.Identifier):
            node.set("db", None)
            return node  # a function, which is looked at by itself
        name, schema = node.name.lower(), node.text("db").lower()
        if node.text("catalog") and node.text("catalog").lower() != self.known.database.lower():
            raise _no_table(node)
        if not schema and name in self.defined:
            return node
        if schema in ("", "pg_catalog") and f"pg_catalog.{name}" in self.known.tables:
            return self._own(node, "pg", name)
        if schema == "information_schema" and f"{schema}.{name}" in self.known.tables:
            return self._own(node, "info", name)
        if name in (self.known.database.lower(), "t") and schema in ("", "public"):
            raise WireError(
                NOT_SUPPORTED, "a question about the table cannot ask the system catalogs, too"
            )
        raise _no_table(node)

    def _own(self, node: exp.Expr, schema: str, name: str) -> exp.Expr:
        if not node.alias:
            node.set("alias", exp.TableAlias(this=exp.to_identifier(name, quoted=True)))
        node.set("db", exp.to_identifier(schema))
        node.set("catalog", None)
        return node

    def _dot(self, node: exp.Expr) -> exp.Expr:
        """pg_catalog.format_type(...): the schema of a function says nothing."""
        inner: exp.Expr = node.expression
        if not isinstance(node.this, exp.Identifier):
            return node  # a field
        if node.this.name.lower() not in ("pg_catalog", "information_schema"):
            raise _no_function(node.this.name)
        return inner

    def _cast(self, node: exp.Expr) -> exp.Expr:
        assert isinstance(node, exp.Cast)
        kind = node.to.sql(dialect="postgres").lower().replace("pg_catalog.", "").replace('"', "")
        inner = node.this
        text = inner.name if isinstance(inner, exp.Literal) and inner.is_string else None
        if kind == "regclass":
            if text is None:
                return _call("class_name", inner)
            name = text.rpartition(".")[2].strip('"')
            return (
                exp.convert(_CLASSES.get(name))
                if name in _CLASSES
                else _call("to_regclass", exp.convert(name))
            )
        if kind == "regtype":
            if text is None:
                return _call("format_type", inner, exp.null())
            return exp.convert(_TYPE_OIDS.get(text.rpartition(".")[2].lower(), 0))
        if kind == "regproc" and text is not None:
            return exp.convert(text.rpartition(".")[2])
        if kind == "regnamespace":
            return _call("namespace_name", inner)
        to = _CAST_TYPES.get(kind.partition("(")[0])
        if to is None:
            raise WireError("42704", f"type {kind[:63]!r} does not exist")
        return exp.Cast(this=inner, to=exp.DataType.build(to, dialect="duckdb"))

    def _function(self, node: exp.Expr) -> exp.Expr:
        name = node.name.lower() if isinstance(node, exp.Anonymous) else node.key.lower()
        assert isinstance(node, exp.Func)
        sql_name = name if isinstance(node, exp.Anonymous) else node.sql_name().lower()
        told = self._told(name, node)
        if told is not None:
            return told
        if sql_name in _OURS or name in _OURS:
            own = sql_name if sql_name in _OURS else name
            arguments = (
                node.expressions
                if isinstance(node, exp.Anonymous)
                else [one for one in node.args.values() if isinstance(one, exp.Expr)]
            )
            return _call(own, *arguments)
        if (
            isinstance(node, exp.Connector | exp.Predicate)
            or name in _HARMLESS
            or sql_name in _HARMLESS
        ):
            return _limited(node)
        raise _no_function(sql_name)

    def _told(self, name: str, node: exp.Expr) -> exp.Expr | None:
        """What functions say of the session, as a literal."""
        facts: dict[str, object] = {
            "version": f"PostgreSQL {VERSION} (sfumato {sfumato.__version__})",
            "currentversion": f"PostgreSQL {VERSION} (sfumato {sfumato.__version__})",
            **dict.fromkeys(("current_database", "currentdatabase", "currentcatalog",
                             "current_catalog"), self.known.database),
            **dict.fromkeys(("current_schema", "currentschema"), "public"),
            **dict.fromkeys(("current_user", "currentuser", "session_user", "sessionuser", "user",
                             "current_role", "currentrole"), self.user),
            "pg_backend_pid": self.number,
            "pg_is_in_recovery": False,
            "pg_my_temp_schema": 0,
            "txid_current": 1,
            "inet_server_port": 5432,
            "json_build_object": None,  # of sequences, which there are none of
        }  # fmt: skip
        if name in facts:
            return exp.convert(facts[name])
        if name in ("current_setting", "set_config"):
            return self._setting(name, node)
        return None

    def _setting(self, name: str, node: exp.Expr) -> exp.Expr:
        arguments = [one.this if isinstance(one, exp.Cast) else one for one in node.expressions]
        if not arguments or not all(
            isinstance(one, exp.Literal | exp.Boolean) for one in arguments
        ):
            raise _no_function(name)
        if name == "set_config" and len(arguments) > 1:
            self.settings.set(arguments[0].name, arguments[1].name)
        try:
            found: str | None = self.settings.get(arguments[0].name)
        except WireError:
            if len(arguments) < 2:
                raise
            found = None
        return exp.convert(found)


_CAST_TYPES = {
    **dict.fromkeys(("text", "varchar", "name", "char", "bpchar", "regproc", "regprocedure",
                     "regoper", "regoperator", "cstring", "character varying", "character_data",
                     "regrole", "json", "jsonb", "xid", "aclitem", "pg_node_tree",
                     "information_schema.character_data", "information_schema.sql_identifier",
                     "information_schema.yes_or_no", "sql_identifier"), "VARCHAR"),
    **dict.fromkeys(("oid", "int8", "bigint"), "BIGINT"),
    **dict.fromkeys(("int", "integer", "int4", "int2", "smallint",
                     "information_schema.cardinal_number"), "INTEGER"),
    **dict.fromkeys(("float8", "double precision", "float4", "real"), "DOUBLE"),
    **dict.fromkeys(("numeric", "decimal"), "DOUBLE"),
    **dict.fromkeys(("bool", "boolean"), "BOOLEAN"),
    **dict.fromkeys(("text[]", "name[]", "varchar[]", "char[]", "aclitem[]"), "VARCHAR[]"),
    **dict.fromkeys(("int[]", "integer[]", "int2[]", "smallint[]", "int2vector"), "INTEGER[]"),
    **dict.fromkeys(("oid[]", "bigint[]", "oidvector"), "BIGINT[]"),
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "timestamptz": "TIMESTAMP",
}  # fmt: skip


def _call(name: str, *arguments: exp.Expr) -> exp.Expr:
    call = exp.Anonymous(this=name, expressions=list(arguments))
    return exp.Dot(this=exp.to_identifier("pg"), expression=call)


def _limited(node: exp.Expr) -> exp.Expr:
    """A harmless function whose result cannot be huge; see ``catalog_macros``."""
    if isinstance(node, exp.Replace | exp.RegexpReplace):
        for name, most in (("this", _LONGEST_TEXT), ("replacement", _LONGEST_PART)):
            part = node.args.get(name)
            if isinstance(part, exp.Expr):
                node.set(name, _call("brief", part.copy(), exp.convert(most)))
    elif isinstance(node, exp.GenerateSeries) and not isinstance(node.parent, exp.Table):
        ends = [node.args[name] for name in ("start", "end", "step") if node.args.get(name)]
        whole = _call("series", *ends)
        return whole if isinstance(node.parent, exp.Unnest) else exp.Unnest(expressions=[whole])
    return node


def _column(node: exp.Expr) -> exp.Expr:
    """pg_catalog.pg_class.oid: the table is known by its own name alone."""
    node.set("db", None)
    node.set("catalog", None)
    return node


def _named(item: exp.Expr) -> exp.Expr:
    """An item of SELECT under the name that PostgreSQL gives it."""
    if isinstance(item, exp.Alias | exp.Column | exp.Star | exp.Unnest):
        return item
    name = _name(item)
    return exp.alias_(item.copy(), name, quoted=True)


def _name(item: exp.Expr) -> str:
    while isinstance(item, exp.Dot | exp.Paren):
        item = item.expression if isinstance(item, exp.Dot) else item.this
    if isinstance(item, exp.Cast):
        inner = _name(item.this)
        return item.to.sql("postgres").lower() if inner == _NAMELESS else inner
    if isinstance(item, exp.Column | exp.Identifier | exp.Anonymous):
        return item.name.lower()
    if isinstance(item, exp.Func) and not isinstance(item, exp.Connector):
        return _SPELLED.get(item.key, item.sql_name().lower())
    return _NAMELESS


_NAMELESS = "?column?"
_SPELLED = {"currentversion": "version"}


def _operator(node: exp.Expr) -> exp.Expr:
    """OPERATOR(pg_catalog.~)."""
    sign = str(node.args.get("operator", "")).rpartition(".")[2]
    kinds: dict[str, Callable[[exp.Expr], exp.Expr]] = {
        "~": lambda one: one,
        "!~": lambda one: exp.Not(this=one),
        "=": lambda one: one,
    }
    if sign not in kinds:
        raise WireError("42883", f"operator {sign[:10]} is not known here")
    own = exp.EQ if sign == "=" else exp.RegexpLike
    return kinds[sign](own(this=node.this, expression=node.expression))


def _no_table(node: exp.Expr) -> WireError:
    name = ".".join(filter(None, (node.text("db"), node.name)))
    return WireError(NO_TABLE, f"there is no table {name[:63]!r}")


def _no_function(name: str) -> WireError:
    return WireError("42883", f"the function {name[:63]} is not known here")
