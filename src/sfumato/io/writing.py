"""Published tables as Parquet and CSV files.

What a Parquet file holds beside the values, and why none of it tells more than the rows do:

- Statistics (least and greatest value, number of nulls, per row group), page sizes and encodings
  are functions of the rows as they are published.
- Dictionary pages list the values in the order of their first row. The rows arrive in a random
  published order, so this order is random as well. An Arrow dictionary would be copied with all
  its values, those of suppressed rows included; columns are therefore decoded first.
- Arrow's own schema and the metadata of pandas or a database driver can hold anything, from
  index names to the history of a column. They are removed, and Arrow's schema is not stored.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from sfumato.errors import DataError
from sfumato.io.plain import plain_table
from sfumato.io.set_texts import set_texts

_LARGE = 2**18  # rows from which it pays to write with several threads


def write_parquet(pieces: pa.Table | Iterable[pa.Table], path: str | Path) -> None:
    """Write values and types, compressed, and nothing else; pieces of a table one by one."""
    if isinstance(pieces, pa.Table):
        table = plain_table(pieces)
        if table.num_rows >= _LARGE and all(map(_is_simple, table.schema.types)):
            _write_in_parallel(table, path)
        else:
            pq.write_table(table, path, compression="zstd", store_schema=False)
        return
    plain = (plain_table(piece) for piece in pieces)
    first = next(plain)
    with pq.ParquetWriter(path, first.schema, compression="zstd", store_schema=False) as writer:
        for piece in chain((first,), plain):
            writer.write_table(piece)


def _write_in_parallel(table: pa.Table, path: str | Path) -> None:
    """Have DuckDB encode the row groups, on all cores; it keeps the order of the rows."""
    import duckdb

    with duckdb.connect() as connection:
        connection.register("published", table)
        connection.execute(
            "COPY published TO $path (FORMAT parquet, COMPRESSION zstd)", {"path": str(path)}
        )


def _is_simple(kind: pa.DataType) -> bool:
    """Whether a type comes back from DuckDB as it went in."""
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_string(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_date32(kind)
    )


def write_csv(pieces: pa.Table | Iterable[pa.Table], path: str | Path) -> None:
    """Write with a header line; a set of texts becomes ``{a, b}`` (set_texts.py), a missing value
    nothing."""
    tables = [pieces] if isinstance(pieces, pa.Table) else pieces
    printable = (_printable_table(plain_table(piece)) for piece in tables)
    first = next(printable)
    with pyarrow.csv.CSVWriter(path, first.schema) as writer:
        for piece in chain((first,), printable):
            writer.write_table(piece)


def _printable_table(table: pa.Table) -> pa.Table:
    for field in table.schema:
        _require_printable(field)
    columns = [_printable(column) for column in table.columns]
    return pa.table(columns, names=table.column_names)


def _require_printable(field: pa.Field) -> None:
    kind = field.type.value_type if pa.types.is_list(field.type) else field.type
    if pa.types.is_nested(kind) or pa.types.is_interval(kind):
        raise DataError(
            f"column {field.name!r} has type {field.type}, which CSV cannot hold; leave it out, or "
            "publish as parquet",
            source=field.name,
        )


def _printable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if not pa.types.is_list(column.type):
        return column
    return pa.chunked_array([set_texts(chunk) for chunk in column.chunks], pa.string())
