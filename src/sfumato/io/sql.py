"""Queries over a file or an Arrow table, run by DuckDB. The table is called ``t``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sfumato.errors import DataError, ParameterError
from sfumato.io.opened import Opened

if TYPE_CHECKING:
    import duckdb

# A name that is looked up among the variables of the calling Python code is a table that the
# query's author did not mean.
_CONFIG: dict[str, str | bool | int | float | list[str]] = {"python_enable_replacements": "false"}


@contextmanager
def open_query(label: str, view: Any, query: str) -> Iterator[Opened]:
    """The result of a query in which ``view``, a table or data set of Arrow, is called t."""
    import duckdb

    with duckdb.connect(config=_CONFIG) as connection:
        connection.register("t", view)
        yield query_duckdb(connection, label, query)


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
        raise DataError(f"the query on {label} failed: {_reason(error)}", source=label) from None


def _reason(error: BaseException) -> str:
    """DuckDB's message without the picture of the statement, which is ours, not the user's."""
    return " ".join(str(error).split("\n\nLINE")[0].split())
