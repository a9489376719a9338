"""The rows of PostgreSQL's catalogs for a database with one table: its columns, types and words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sfumato.server.databases import State
from sfumato.server.wire.settings import Settings
from sfumato.server.wire.values import TYPES, Kind, kind_of

NAMESPACES = {"pg_catalog": 11, "public": 2200, "information_schema": 13_000}
OWNER = "sfumato"
_OWNER, _TABLE, _ROW_TYPE, _DATABASE = 10, 16_384, 16_386, 16_383
_CLASS, _HEAP, _TABLESPACE, _COLLATION = 1259, 2, 1663, 100
_PRECISIONS = {"int2": 16, "int4": 32, "int8": 64, "float8": 53}


def rows_of(state: State) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """What the tables hold that are not empty."""
    database = state.facts["database"]
    columns = list(state.responder.catalog.columns.values())
    kinds = [kind_of(one.type) for one in columns]
    words = state.words
    yield (
        "pg_catalog.pg_namespace",
        [{"oid": oid, "nspname": name, "nspowner": _OWNER} for name, oid in NAMESPACES.items()],
    )
    yield "pg_catalog.pg_class", [{
        "oid": _TABLE, "relname": database, "relnamespace": NAMESPACES["public"],
        "reltype": _ROW_TYPE, "reloftype": 0, "relowner": _OWNER, "relam": _HEAP,
        "relfilenode": _TABLE, "reltablespace": 0, "relpages": 1,
        "reltuples": float(state.rows), "relallvisible": 0, "reltoastrelid": 0,
        "relhasindex": False, "relisshared": False, "relpersistence": "p",
        "relkind": "r", "relnatts": len(columns), "relchecks": 0, "relhasrules": False,
        "relhastriggers": False, "relhassubclass": False,
        "relrowsecurity": False, "relforcerowsecurity": False, "relispopulated": True,
        "relreplident": "n", "relispartition": False, "relrewrite": 0,
        "relacl": [f"=r/{OWNER}"],
    }]  # fmt: skip
    yield "pg_catalog.pg_attribute", [
        {
            "attrelid": _TABLE, "attname": column.name, "atttypid": kind.oid,
            "attstattarget": -1, "attlen": kind.length, "attnum": place, "attndims": 0,
            "attcacheoff": -1, "atttypmod": -1, "attbyval": kind.length > 0, "attalign": "i",
            "attstorage": "p", "attcompression": "", "attnotnull": False, "atthasdef": False,
            "atthasmissing": False, "attidentity": "", "attgenerated": "", "attisdropped": False,
            "attislocal": True, "attinhcount": 0,
            "attcollation": _COLLATION if kind.name == "text" else 0,
        }
        for place, (column, kind) in enumerate(zip(columns, kinds, strict=True), 1)
    ]  # fmt: skip
    yield "pg_catalog.pg_type", [*_types()]
    yield "pg_catalog.pg_database", [{
        "oid": _DATABASE, "datname": database, "datdba": _OWNER, "encoding": 6,
        "datlocprovider": "c", "datistemplate": False, "datallowconn": True, "datconnlimit": -1,
        "dattablespace": _TABLESPACE, "datcollate": "C", "datctype": "C",
    }]  # fmt: skip
    role = {"rolname": OWNER, "rolsuper": False, "rolinherit": True, "rolcreaterole": False,
            "rolcreatedb": False, "rolcanlogin": False, "rolreplication": False,
            "rolconnlimit": -1, "rolbypassrls": False, "oid": _OWNER}  # fmt: skip
    yield "pg_catalog.pg_roles", [role]
    yield "pg_catalog.pg_user", [{"usename": OWNER, "usesysid": _OWNER, "usecreatedb": False,
                                  "usesuper": False}]  # fmt: skip
    yield "pg_catalog.pg_am", [{"oid": _HEAP, "amname": "heap", "amhandler": 3, "amtype": "t"}]
    yield (
        "pg_catalog.pg_tablespace",
        [{"oid": _TABLESPACE, "spcname": "pg_default", "spcowner": _OWNER}],
    )
    yield "pg_catalog.pg_collation", [
        {"oid": _COLLATION, "collname": "default", "collnamespace": NAMESPACES["pg_catalog"],
         "collowner": _OWNER, "collprovider": "d", "collisdeterministic": True, "collencoding": -1}
    ]  # fmt: skip
    described = {0: " ".join(filter(None, (words.title, words.description, words.source)))}
    for place, column in enumerate(columns, 1):
        parts = (words.labels.get(column.name), words.units.get(column.name))
        described[place] = ", ".join(filter(None, parts))
    yield (
        "pg_catalog.pg_description",
        [
            {"objoid": _TABLE, "classoid": _CLASS, "objsubid": place, "description": text}
            for place, text in described.items()
            if text
        ],
    )
    yield (
        "pg_catalog.pg_settings",
        [
            {
                "name": name,
                "setting": value,
                "category": "sfumato",
                "context": "user",
                "vartype": "string",
            }
            for name, value in Settings().all()
        ],
    )
    yield "pg_catalog.pg_tables", [
        {"schemaname": "public", "tablename": database, "tableowner": OWNER, "hasindexes": False,
         "hasrules": False, "hastriggers": False, "rowsecurity": False}
    ]  # fmt: skip
    yield from _information_schema(database, [one.name for one in columns], kinds)


def _types() -> Iterator[dict[str, Any]]:
    usual = {
        "typnamespace": NAMESPACES["pg_catalog"], "typowner": _OWNER, "typtype": "b",
        "typispreferred": False, "typisdefined": True, "typdelim": ",", "typrelid": 0,
        "typnotnull": False, "typbasetype": 0, "typtypmod": -1, "typndims": 0, "typcollation": 0,
        "typalign": "i", "typstorage": "p", "typinput": "in", "typoutput": "out",
        "typsubscript": "-",
    }  # fmt: skip
    for one in TYPES:
        yield {
            **usual, "oid": one.oid, "typname": one.short, "typlen": one.length,
            "typbyval": one.length > 0, "typcategory": one.category, "typelem": 0,
            "typarray": one.array,
        }  # fmt: skip
        if one.array:
            yield {
                **usual, "oid": one.array, "typname": f"_{one.short}", "typlen": -1,
                "typbyval": False, "typcategory": "A", "typelem": one.oid, "typarray": 0,
                "typinput": "array_in",
            }  # fmt: skip


def _information_schema(
    database: str, names: Sequence[str], kinds: Sequence[Kind]
) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    table = {"table_catalog": database, "table_schema": "public", "table_name": database}
    yield (
        "information_schema.schemata",
        [
            {"catalog_name": database, "schema_name": name, "schema_owner": OWNER}
            for name in NAMESPACES
        ],
    )
    yield (
        "information_schema.tables",
        [{**table, "table_type": "BASE TABLE", "is_insertable_into": "NO", "is_typed": "NO"}],
    )
    yield "information_schema.columns", [
        {
            **table, "column_name": name, "ordinal_position": place, "is_nullable": "YES",
            "data_type": kind.name, "udt_catalog": database, "udt_schema": "pg_catalog",
            "udt_name": kind.short, "is_identity": "NO", "is_generated": "NEVER",
            "is_updatable": "NO", "dtd_identifier": str(place),
            "numeric_precision": _PRECISIONS.get(kind.short),
        }
        for place, (name, kind) in enumerate(zip(names, kinds, strict=True), 1)
    ]  # fmt: skip
    yield "information_schema.table_privileges", [
        {**table, "grantor": OWNER, "grantee": "PUBLIC", "privilege_type": "SELECT",
         "is_grantable": "NO", "with_hierarchy": "NO"}
    ]  # fmt: skip
