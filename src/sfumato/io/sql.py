"""Queries over a file or an Arrow table, run by DuckDB. The table is called ``t``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sfumato.core.address_space import address_limit
from sfumato.core.foreign import is_memory, out_of_memory
from sfumato.errors import DataError, ParameterError
from sfumato.io.opened import Opened

if TYPE_CHECKING:
    import duckdb

# A name that is looked up among the variables of the calling Python code is a table that the
# query's author did not mean.
_CONFIG: dict[str, str | bool | int | float | list[str]] = {"python_enable_replacements": "false"}
_SHARE = 4  # of a limit on memory, which Arrow and the libraries want as well


@contextmanager
def open_query(label: str, view: Any, query: str) -> Iterator[Opened]:
    """The result of a query in which ``view``, a table or data set of Arrow, is called t."""
    import duckdb

    with duckdb.connect(config=_CONFIG) as connection:
        live_with_limit(connection)
        connection.register("t", view)
        yield query_duckdb(connection, label, query)


def live_with_limit(connection: duckdb.DuckDBPyConnection) -> None:
    """Left alone, DuckDB takes most of the machine's memory and all of its cores."""
    limit = address_limit()
    if limit is not None:
        connection.execute("SET threads = 1")
        connection.execute(f"SET memory_limit = '{limit // _SHARE}B'")


def query_duckdb(connection: duckdb.DuckDBPyConnection, label: str, query: str) -> Opened:
    """The result of a query, whose columns are selected by DuckDB."""
    query = as_select(query)
    names = _run(connection, label, f"SELECT * FROM ({query}\n) LIMIT 0").column_names

    def load(columns: Sequence[str]) -> pa.Table:
        listed = ", ".join(quoted(name) for name in columns)
        return _run(connection, label, f"SELECT {listed} FROM ({query}\n)")

    return Opened(label, tuple(names), load)


def as_select(query: str) -> str:
    """A statement that can stand in parentheses; the name of a table stands for all of it."""
    query = query.strip().rstrip(";").rstrip()
    if not query:
        raise ParameterError(
            "the query is empty; use a table's name or SELECT ...", parameter="query"
        )
    # the name may be qualified and quoted: public."Patients 2020"
    if re.fullmatch(r'(\w+|"[^"]+")(\.(\w+|"[^"]+"))*', query):
        return f"SELECT * FROM {query}"
    return query


def quoted(name: str) -> str:
    """A column's name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def _run(connection: duckdb.DuckDBPyConnection, label: str, query: str) -> pa.Table:
    import duckdb

    try:
        return connection.sql(query).to_arrow_table()
    except duckdb.Error as error:
        if is_memory(error):
            raise out_of_memory(f"the query on {label}") from error
        raise DataError(f"the query on {label} failed: {_reason(error)}", source=label) from None


def _reason(error: BaseException) -> str:
    """DuckDB's message without the picture of the statement, which is ours, not the user's."""
    return " ".join(str(error).split("\n\nLINE")[0].split())
