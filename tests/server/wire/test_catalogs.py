"""The catalogs tell names and types; nothing else can be reached through them."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest
import sqlglot
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.server.limits import Limits
from sfumato.server.wire.catalog_sql import Known, translated
from sfumato.server.wire.endpoint import Endpoint
from sfumato.server.wire.errors import WireError
from sfumato.server.wire.settings import Settings
from tests.server.kit import copied, records
from tests.server.wire.kit import Served, serving

# what DBeaver asks when it opens a connection and unfolds its tree
DBEAVER = (
    "SELECT current_schema(), session_user",
    "SELECT n.oid,n.*,d.description FROM pg_catalog.pg_namespace n LEFT OUTER JOIN "
    "pg_catalog.pg_description d ON d.objoid=n.oid AND d.objsubid=0 AND "
    "d.classoid='pg_namespace'::regclass ORDER BY nspname",
    "SELECT db.oid,db.* FROM pg_catalog.pg_database db WHERE datallowconn AND NOT datistemplate OR "
    "db.datname = 'people' ORDER BY db.datname",
    "select * from pg_catalog.pg_settings where name='standard_conforming_strings'",
    "SELECT c.oid,c.*,d.description,pg_catalog.pg_get_expr(c.relpartbound, c.oid) as "
    "partition_expr, "
    "pg_catalog.pg_get_partkeydef(c.oid) as partition_key FROM pg_catalog.pg_class c LEFT OUTER "
    "JOIN "
    "pg_catalog.pg_description d ON d.objoid=c.oid AND d.objsubid=0 AND "
    "d.classoid='pg_class'::regclass "
    "WHERE c.relnamespace=2200 AND c.relkind not in ('i','I','c')",
    "SELECT c.relname,a.*,pg_catalog.pg_get_expr(ad.adbin, ad.adrelid, true) as def_value,"
    "dsc.description,dep.objid FROM pg_catalog.pg_attribute a INNER JOIN pg_catalog.pg_class c ON "
    "(a.attrelid=c.oid) LEFT OUTER JOIN pg_catalog.pg_attrdef ad ON (a.attrelid=ad.adrelid AND "
    "a.attnum = ad.adnum) LEFT OUTER JOIN pg_catalog.pg_description dsc ON (c.oid=dsc.objoid AND "
    "a.attnum = dsc.objsubid) LEFT OUTER JOIN pg_depend dep on dep.refobjid = a.attrelid AND "
    "dep.deptype = 'i' and dep.refobjsubid = a.attnum and dep.classid = dep.refclassid WHERE NOT "
    "a.attisdropped AND c.relkind not in ('i','I','c') AND c.oid=16384 ORDER BY a.attnum",
    "SELECT t.oid,t.*,c.relkind,format_type(nullif(t.typbasetype, 0), t.typtypmod) as "
    "base_type_name, d.description FROM pg_catalog.pg_type t LEFT OUTER JOIN pg_catalog.pg_type "
    "et ON "
    "et.oid=t.typelem LEFT OUTER JOIN pg_catalog.pg_class c ON c.oid=t.typrelid LEFT OUTER JOIN "
    "pg_catalog.pg_description d ON t.oid=d.objoid WHERE t.typname IS NOT NULL AND (c.relkind "
    "IS NULL "
    "OR c.relkind = 'c') AND (et.typcategory IS NULL OR et.typcategory <> 'C')",
)
# ... and the first things that Metabase, Superset and Grafana ask
OTHERS = (
    'SELECT nspname AS "table-schema", relname AS "table-name", a.attname, '
    "pg_catalog.format_type(a.atttypid, a.atttypmod) FROM pg_catalog.pg_namespace n JOIN "
    "pg_catalog.pg_class c ON c.relnamespace = n.oid JOIN pg_catalog.pg_attribute a ON "
    "a.attrelid = "
    "c.oid WHERE n.nspname !~ '^pg_' AND a.attnum > 0",
    "SELECT table_schema, table_name, table_type FROM information_schema.tables WHERE table_schema "
    "NOT IN ('pg_catalog', 'information_schema') ORDER BY table_schema, table_name",
    "SELECT column_name, data_type, is_nullable FROM information_schema.columns WHERE table_name = "
    "'people' ORDER BY ordinal_position",
    "SELECT quote_ident(table_name) AS value FROM information_schema.tables WHERE quote_ident("
    "table_schema) NOT IN ('information_schema', 'pg_catalog')",
    "SELECT current_setting('server_version_num')::int/100 as version",
    "WITH tables AS (SELECT relname AS n FROM pg_class WHERE relkind IN ('r','v')) SELECT n "
    "FROM tables",
    "SHOW TRANSACTION ISOLATION LEVEL",
    "SELECT has_table_privilege('people', 'SELECT'), pg_backend_pid() > 0, version()",
)


@pytest.mark.parametrize("sql", [*DBEAVER, *OTHERS])
def test_what_tools_look_for_is_there(served: Served, sql: str) -> None:
    assert served.rows("people", sql)


def test_columns_are_told_with_their_types_and_the_owners_words(served: Served) -> None:
    sql = "SELECT column_name, data_type FROM information_schema.columns ORDER BY ordinal_position"
    assert served.rows("wages", sql) == [("age", "bigint"), ("sex", "text"), ("wage", "bigint")]


# nothing of this is a catalog: files, DuckDB's own tables and settings, the network, the clock
REACHING = (
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM read_text('/etc/passwd')",
    "SELECT * FROM '/etc/passwd'",
    'SELECT * FROM "/etc/passwd"',
    "SELECT (SELECT content FROM read_text('/etc/passwd'))::text",
    "SELECT CAST(getenv('HOME') AS text)",
    "SELECT pg_catalog.read_text('/etc/passwd')",
    "SELECT pg.format_type(25, 1)",
    "SELECT * FROM pg.type_names",
    "SELECT * FROM main.people",
    "SELECT * FROM duckdb_settings()",
    "SELECT * FROM duckdb_functions()",
    "SELECT * FROM duckdb_tables",
    "SELECT * FROM sqlite_master",
    "SELECT current_setting('home_directory')",
    "SELECT getvariable('x')",
    "SELECT * FROM glob('/*')",
    "SELECT * FROM pg_class, LATERAL (SELECT * FROM read_blob('/etc/passwd')) AS x",
    "SELECT pg_read_file('/etc/passwd')",
    "SELECT pg_sleep(1)",
    "SELECT nextval('x')",
    "SELECT lo_import('/etc/passwd')",
    "SELECT random()",
    "SELECT relname INTO other FROM pg_class",
    "SELECT relname FROM pg_class FOR UPDATE",
    "WITH x AS (DELETE FROM pg_class RETURNING *) SELECT * FROM x",
    "SELECT 1 FROM pg_class WHERE relname = (SELECT extract(epoch FROM now())::text)",
)


@pytest.mark.parametrize("sql", REACHING)
def test_nothing_else_is_reached(served: Served, sql: str) -> None:
    with pytest.raises(psycopg.Error) as raised:
        served.rows("people", sql)
    assert raised.value.sqlstate in ("42883", "42P01", "42704", "0A000", "42601", "25006")
    for word in ("DuckDB", "Catalog Error", "Binder"):
        assert word not in str(raised.value)


def test_the_connection_itself_is_locked(served: Served) -> None:
    """Even what would slip through the translation reaches no file and changes no setting."""
    served.rows("people", "SELECT relname FROM pg_class")
    (endpoint,) = served.app.beside
    assert isinstance(endpoint, Endpoint)
    _, catalogs = endpoint._catalogs["people"]
    connection = catalogs._connection()
    for sql in (
        "SELECT * FROM read_text('/etc/passwd')",
        "COPY (SELECT 1) TO '/tmp/x.csv'",
        "SET enable_external_access = true",
        "INSTALL httpfs",
        "ATTACH '/tmp/x.db'",
    ):
        with pytest.raises(Exception, match=r"disabled|locked|configuration|Permission"):
            connection.cursor().execute(sql)


def test_a_statement_has_so_much_time_and_gives_so_many_rows(
    folder_of_people: Path, tmp_path: Path
) -> None:
    folder = copied(folder_of_people, tmp_path)
    many = ", ".join(f"pg_attribute a{at}" for at in range(12))
    with serving(folder, limits=Limits(seconds=0.3, rate=1e6, burst=10**6)) as served:
        with pytest.raises(psycopg.errors.QueryCanceled):
            served.rows("people", f"SELECT COUNT(*) FROM {many}, pg_type t, pg_type u")
        with pytest.raises(psycopg.Error):
            served.rows("people", "SELECT * FROM generate_series(1, 20000)")
        assert records(folder) == []


KNOWN = Known(frozenset({"pg_catalog.pg_class", "information_schema.tables"}), "people")
_WORDS = st.sampled_from(
    ("pg_class", "people", "read_csv", "'x'", "(", ")", ",", "SELECT", "FROM", "x", "*", "::text",
     "UNION", "duckdb_tables()", "pg_catalog.", "lower", "AS", "WITH", "1", "WHERE", "=", "main.",
     "read_text('/etc/passwd')", "ARRAY[", "]", "CASE", "END", "IN", "EXISTS", "JOIN", "ON")
)  # fmt: skip


NAME = "relname || 'x'"
REGEXP = "regexp_replace({}, 'x', '{}', 'g')"


def nested(levels: int, inner: str = "'xxxxxxxxxx'", call: str = "replace({}, 'x', '{}')") -> str:
    for _ in range(levels - 1):
        inner = call.format(inner, "x" * 10)
    return inner


@pytest.mark.parametrize(
    "expression",
    [
        f"length({nested(6)})",
        f"length({nested(6, NAME)})",
        f"length({nested(6, call=REGEXP)})",
        f"length(replace('x', 'x', {nested(3)}))",
        f"length(replace('x', 'x', '{'x' * 101}'))",
        "array_length(ARRAY(SELECT generate_series(1, 1000000)), 1)",
        "(SELECT count(*) FROM unnest(generate_series(1000000, 1, -1)))",
    ],
)
def test_nothing_huge_is_made_in_one_step(served: Served, expression: str) -> None:
    """There DuckDB would look neither at its limit of memory nor at the clock."""
    with pytest.raises(psycopg.Error, match="not supported"):
        served.rows("people", f"SELECT {expression} FROM pg_class")


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        (f"SELECT length({nested(4)})", [(10_000,)]),
        ("SELECT replace('a-b', '-', '--'), replace(NULL, 'a', 'b')", [("a--b", None)]),
        ("SELECT regexp_replace('aab', 'a', 'c', 'g')", [("ccb",)]),
        ("SELECT generate_series(1, 5, 2)", [(1,), (3,), (5,)]),
        ("SELECT count(*) FROM unnest(generate_series(1, 100000))", [(100_000,)]),
        ("SELECT i FROM generate_series(1, 2) AS s(i)", [(1,), (2,)]),
        (
            "SELECT replace(relname, 'people', 'x'), count(*) FROM pg_class WHERE relname = "
            "'people' GROUP BY replace(relname, 'people', 'x')",
            [("x", 1)],
        ),
    ],
)
def test_what_is_not_huge_is_made(served: Served, sql: str, told: list[object]) -> None:
    assert served.rows("people", f"{sql} {'' if 'FROM' in sql else 'FROM pg_database'}") == told


@settings(max_examples=300, deadline=None)
@given(st.lists(_WORDS, max_size=14).map(lambda words: "SELECT " + " ".join(words)))
def test_whatever_is_translated_names_known_tables_and_functions(text: str) -> None:
    try:
        sql = translated(text, KNOWN, "tester", 1, Settings())
    except WireError:
        return
    try:
        tree = sqlglot.parse_one(sql, read="duckdb")
    except sqlglot.errors.SqlglotError:
        return  # DuckDB will not take it either
    for table in tree.find_all(sqlglot.exp.Table):
        assert isinstance(table.this, sqlglot.exp.Func) or table.db in ("pg", "info", "")
    for word in ("read_csv", "read_text", "duckdb_tables", "people", "main"):
        assert f"{word}(" not in sql.lower()
        assert f"from {word}" not in sql.lower()
