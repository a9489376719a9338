"""Read a table from wherever it is: a file, Arrow, a data frame, a database, a query."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, Unpack

import pyarrow as pa

from sfumato.core.foreign import is_memory, our_errors, out_of_memory, said
from sfumato.core.microdata import Microdata, require_columns, require_identifier
from sfumato.core.schema import Schema
from sfumato.errors import DataError, ParameterError, SchemaError
from sfumato.io.databases import is_url, open_database
from sfumato.io.dialects import Dialect, Written
from sfumato.io.files import as_dataset, open_file
from sfumato.io.hints import did_you_mean
from sfumato.io.opened import Opened, reading
from sfumato.io.other_files import open_workbook, sheet_of
from sfumato.io.plain import normalized, plain_table
from sfumato.io.remote import fetched, is_remote
from sfumato.io.sql import open_query, query_duckdb

# a path, a database URL, an object of Arrow, pandas, polars, DuckDB, ..., or what is opened
Source = Any


@our_errors("reading a table")
def read_whole(
    source: Source,
    schema: Schema,
    *,
    query: str | None = None,
    missing: str | Collection[str] = (),
    id: str | None = None,
    **written: Unpack[Written],
) -> Microdata:
    """Read and encode the columns that the schema names, all rows at once; see ``sf.read``."""
    require_identifier(id, schema)
    dialect = Dialect.said(**written)
    with _opened(source, query, markers(missing), dialect) as opened:
        require_columns(opened.names, schema)
        kept = [*schema.quasi, *schema.sensitive, *schema.insensitive]
        compared = [*schema.quasi, *schema.sensitive]
        if id is not None:
            kept.append(id)
            compared.append(id)
        table = _loaded(opened, kept, markers(missing), compared)
    for name in schema.identifiers:
        if name != id:
            # encoding wants to see every column of the schema; nothing is in these
            table = table.append_column(name, pa.nulls(table.num_rows))
    return Microdata.from_arrow(table, schema, id=id)


@our_errors("reading a table")
def read_table(
    source: Source,
    *,
    columns: Sequence[str] | None = None,
    query: str | None = None,
    missing: str | Collection[str] = (),
    trim: bool = False,
    empty: bool = False,
    **written: Unpack[Written],
) -> pa.Table:
    """Read the named columns, or all, as an Arrow table without metadata; see ``sf.read``.

    With ``trim`` blanks around texts are dropped, as ``sf.read`` does where values are compared. A
    table without rows is an error unless it may be ``empty``.
    """
    dialect = Dialect.said(**written)
    with _opened(source, query, markers(missing), dialect) as opened:
        wanted = opened.names if columns is None else columns
        for name in wanted:
            _require_name(name, opened)
        return _loaded(opened, wanted, markers(missing), wanted if trim else (), empty)


def _opened(
    source: Source, query: str | None, missing: Collection[str], dialect: Dialect
) -> AbstractContextManager[Opened]:
    if is_remote(source):
        return _fetched(source, query, missing, dialect)
    if isinstance(source, Path) or (isinstance(source, str) and not is_url(source)):
        return _file(Path(source), query, missing, dialect)
    if isinstance(source, Opened):
        return nullcontext(source) if query is None else _queried(source, query)
    if isinstance(source, str):
        dialect.require_unused("a database")
        return open_database(source, query)
    dialect.require_unused("this table")
    if type(source).__name__ == "DuckDBPyConnection":
        return nullcontext(_open_connection(source, query))
    lazy = callable(getattr(source, "collect_schema", None)) and hasattr(source, "collect")
    opened = _open_lazy(source) if lazy else _open_arrow(source)
    return nullcontext(opened) if query is None else _queried(opened, query)


@contextmanager
def _fetched(
    url: str, query: str | None, missing: Collection[str], dialect: Dialect
) -> Iterator[Opened]:
    with fetched(url) as path, _file(path, query, missing, dialect) as opened:
        yield opened


def _file(
    path: Path, query: str | None, missing: Collection[str], dialect: Dialect
) -> AbstractContextManager[Opened]:
    if sheet := sheet_of(path, query):
        return nullcontext(open_workbook(path, sheet))
    opened = open_file(path, missing, dialect)
    return nullcontext(opened) if query is None else _queried_file(path, opened, query)


@contextmanager
def _queried_file(path: str | Path, opened: Opened, query: str) -> Iterator[Opened]:
    """A query over a file; Parquet and Arrow files need not fit into memory."""
    view = as_dataset(Path(path))
    if view is None:
        view = opened.load(opened.names)
    with open_query(opened.label, view, query) as result:
        yield result


@contextmanager
def _queried(opened: Opened, query: str) -> Iterator[Opened]:
    with open_query(opened.label, plain_table(opened.load(opened.names)), query) as result:
        yield result


def _open_connection(connection: Any, query: str | None) -> Opened:
    """The owner's own connection, with what is registered in it."""
    if query is None:
        raise ParameterError(
            "a connection to DuckDB holds many tables; add query='table' or query='SELECT ...', or "
            "give the relation: connection.table('table')",
            parameter="query",
        )
    return query_duckdb(connection, "the DuckDB connection", query)


def _open_lazy(frame: Any) -> Opened:
    """A lazy frame of polars: no more columns are computed than are wanted."""
    label = "the polars LazyFrame"
    with _computing(label):
        names = tuple(frame.collect_schema().names())

    def load(columns: Sequence[str]) -> pa.Table:
        with _computing(label):
            return pa.table(frame.select(list(columns)).collect())

    return Opened(label, names, load)


@contextmanager
def _computing(label: str) -> Iterator[None]:
    """What goes wrong in somebody's own frame is told in words of its library."""
    try:
        yield
    except Exception as error:
        if is_memory(error):
            raise out_of_memory(f"computing {label}") from error
        raise DataError(f"cannot compute {label}: {said(error)}", source=label) from error


def _open_arrow(source: Source) -> Opened:
    """Whatever speaks Arrow: the objects of pyarrow and all that export its C interface."""
    label = f"the {type(source).__module__.partition('.')[0]} {type(source).__name__}"
    if hasattr(source, "__arrow_c_array__") and not hasattr(source, "__arrow_c_stream__"):
        with reading(label):
            source = pa.table(pa.record_batch(source))
    if hasattr(source, "collect") and not hasattr(source, "__arrow_c_stream__"):
        raise DataError(f"{label} is not computed yet; call .collect() on it", source=label)
    if not hasattr(source, "__arrow_c_stream__"):
        raise DataError(
            f"cannot read {label}; use a path, a database URL, or an object of Arrow, pandas, "
            "polars or DuckDB",
            source=label,
        )
    with reading(label):
        stream = pa.RecordBatchReader.from_stream(source)

    def load(columns: Sequence[str]) -> pa.Table:
        place_of = {name: place for place, name in enumerate(stream.schema.names)}
        places = [place_of[name] for name in columns]
        fields = pa.schema([stream.schema.field(place) for place in places])
        with reading(label):
            # batch by batch, so that the other columns are let go at once
            return pa.Table.from_batches((batch.select(places) for batch in stream), fields)

    return Opened(label, tuple(stream.schema.names), load)


def _loaded(
    opened: Opened,
    columns: Sequence[str],
    missing: Collection[str],
    compared: Sequence[str],
    empty: bool = False,
) -> pa.Table:
    with reading(opened.label):  # names and values of a damaged file may still be nothing's
        table = normalized(opened.load(columns), compared, missing)
    if table.num_rows == 0 and not empty:
        raise DataError(
            f"{opened.label} has columns but no rows; there is nothing to publish",
            source=opened.label,
        )
    return table


def markers(missing: str | Collection[str]) -> Collection[str]:
    """The texts that stand for a missing value."""
    # one marker is often all there is, and a text would otherwise count as its letters
    return (missing,) if isinstance(missing, str) else missing


def _require_name(name: str, opened: Opened) -> None:
    if name not in opened.names:
        hint = did_you_mean(name, opened.names) or f"it has {', '.join(opened.names)}"
        raise SchemaError(f"{opened.label} has no column {name!r}; {hint}", column=name)
