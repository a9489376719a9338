"""What PostgreSQL's catalogs would say of a database that holds one table: names, types, words.

Tools ask for it in SQL of any complexity, so a database answers it: DuckDB in memory, which holds
nothing but the public schema. It reads no files and opens no connections; statements reach it in
translation only (catalog_sql.py), which lets through what is known to be harmless; each has so much
time and memory.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Any, TypeAlias

from sfumato.server.caching import Cache
from sfumato.server.databases import State
from sfumato.server.wire.answers import Column, Plan
from sfumato.server.wire.catalog_macros import MACROS, VIEWS
from sfumato.server.wire.catalog_rows import rows_of
from sfumato.server.wire.catalog_sql import Known, translated
from sfumato.server.wire.errors import CANCELLED, NOT_SUPPORTED, TOO_LARGE, WireError
from sfumato.server.wire.settings import Settings
from sfumato.server.wire.values import (
    BOOL,
    DATE,
    FLOAT8,
    INT4,
    INT8,
    LISTS,
    NUMERIC,
    TEXT,
    TIMESTAMP,
    TYPES,
    Kind,
)

if TYPE_CHECKING:
    import duckdb

_MEMORY, _MOST_ROWS = "256MB", 10_000
_AGAIN = 0.02  # seconds
_REMEMBERED = 2**22  # bytes of answers: tools ask the same again and again
_Found: TypeAlias = tuple[list[tuple[str, str]], list[Sequence[Any]]]
_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "temp_directory": "",
    "threads": "1",
    "memory_limit": _MEMORY,
}


class Catalogs:
    """The catalogs of one database, and ``plans`` of questions for it; any thread may ask."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._turn = threading.Lock()
        self._open: duckdb.DuckDBPyConnection | None = None
        self._known = Known(frozenset(), "")
        self.plans = Cache[Plan](_REMEMBERED)
        self._answers = Cache[_Found](_REMEMBERED)

    def answer(
        self, text: str, user: str, number: int, settings: Settings, until: float
    ) -> tuple[list[Column], list[Sequence[Any]], float]:
        """The columns and rows of a statement, and the seconds it took; called in a thread."""
        connection = self._connection()
        started = time.thread_time()
        sql = translated(text, self._known, user, number, settings)
        found = self._answers.get(sql)
        if found is None:
            found = _fetched(connection.cursor(), sql, until)
            self._answers.put(sql, found, len(sql) + _size(found))
        names, rows = found
        columns = [Column(name, _kind(said), lambda line: line) for name, said in names]
        return columns, rows, time.thread_time() - started

    def close(self) -> None:
        """Let go of the memory."""
        if self._open is not None:
            self._open.close()

    def _connection(self) -> duckdb.DuckDBPyConnection:
        with self._turn:
            if self._open is None:
                self._open = self._made()
            return self._open

    def _made(self) -> duckdb.DuckDBPyConnection:
        import duckdb

        connection = duckdb.connect(":memory:", config=_CONFIG)
        names: set[str] = set()
        for name, columns in _tables():
            if not names:
                connection.execute("CREATE SCHEMA pg; CREATE SCHEMA info")
            names.add(name)
            connection.execute(f"CREATE TABLE {_own(name)} ({columns})")
        for name, rows in rows_of(self._state):
            _fill(connection, _own(name), rows)
        connection.execute(
            "CREATE TABLE pg.type_names (its_type BIGINT, its_name VARCHAR, its_short VARCHAR)"
        )
        _fill(connection, "pg.type_names", [*_type_names()])
        for view in VIEWS:
            connection.execute(f"CREATE VIEW pg.{view}")
        for macro in MACROS:
            connection.execute(f"CREATE MACRO pg.{macro}")
        connection.execute("SET lock_configuration = true")
        self._known = Known(frozenset(names), self._state.facts["database"])
        return connection


def _size(found: _Found) -> int:
    """About how many bytes of memory it takes."""
    return 500 + sum(100 + len(str(value)) for row in found[1] for value in row)


def _fetched(cursor: duckdb.DuckDBPyConnection, sql: str, until: float) -> _Found:
    """The columns, with DuckDB's types, and rows of a query that has so much time."""
    import duckdb

    done = threading.Event()
    alarm = threading.Thread(target=_interrupt, args=(cursor, until, done), daemon=True)
    alarm.start()
    try:
        rows: list[Sequence[Any]] = [*cursor.execute(sql).fetchmany(_MOST_ROWS + 1)]
        names = [(one[0], str(one[1])) for one in cursor.description or ()]
    except duckdb.InterruptException:
        raise WireError(CANCELLED, "the statement took too long") from None
    except duckdb.OutOfMemoryException:
        raise WireError(TOO_LARGE, "the statement takes too much memory") from None
    except duckdb.Error:
        # what it says speaks of the translation, not of what was sent
        raise WireError(NOT_SUPPORTED, "this use of the system catalogs is not supported") from None
    finally:
        done.set()
        alarm.join()
        cursor.close()
    if len(rows) > _MOST_ROWS:
        raise WireError(TOO_LARGE, f"the statement gives more than {_MOST_ROWS:,} rows")
    return names, rows


def _interrupt(cursor: duckdb.DuckDBPyConnection, until: float, done: threading.Event) -> None:
    """End a query when its time is up; while it is still planned, it does not hear of that."""
    done.wait(max(0.0, until - time.monotonic()))
    while not done.wait(_AGAIN):
        cursor.interrupt()


def _kind(said: str) -> Kind:
    """The type of a column of DuckDB's."""
    if said.endswith("[]"):
        return LISTS[said.startswith(("INT", "BIGINT"))]
    if said.startswith(("DECIMAL", "HUGEINT", "UHUGEINT")):
        return NUMERIC
    return _KINDS.get(said, TEXT)


_KINDS = {
    "BOOLEAN": BOOL, "INTEGER": INT4, "BIGINT": INT8, "DOUBLE": FLOAT8, "FLOAT": FLOAT8,
    "DATE": DATE, "TIMESTAMP": TIMESTAMP,
}  # fmt: skip


def _tables() -> Iterator[tuple[str, str]]:
    """The names of all system tables, and their columns."""
    text = files(__package__).joinpath("system_tables.txt").read_text("utf-8")
    for line in text.splitlines():
        name, _, columns = line.partition(": ")
        pairs = (one.split(" ") for one in columns.split(", "))
        yield name, ", ".join(f'"{column}" {_OWN_TYPES[kind]}' for column, kind in pairs)


_OWN_TYPES = {
    "oid": "BIGINT", "int": "INTEGER", "bigint": "BIGINT", "bool": "BOOLEAN", "double": "DOUBLE",
    "text": "VARCHAR", "timestamptz": "TIMESTAMP", "int[]": "INTEGER[]", "text[]": "VARCHAR[]",
}  # fmt: skip


def _type_names() -> Iterator[dict[str, Any]]:
    for one in TYPES:
        yield {"its_type": one.oid, "its_name": one.name, "its_short": one.short}
        if one.array:
            yield {
                "its_type": one.array, "its_name": f"{one.name}[]", "its_short": f"_{one.short}"
            }  # fmt: skip


def _own(name: str) -> str:
    schema, _, table = name.partition(".")
    return f"{'pg' if schema == 'pg_catalog' else 'info'}.{table}"


def _fill(
    connection: duckdb.DuckDBPyConnection, table: str, rows: Sequence[dict[str, Any]]
) -> None:
    for row in rows:
        names = ", ".join(f'"{name}"' for name in row)
        marks = ", ".join("?" * len(row))
        connection.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", list(row.values()))
