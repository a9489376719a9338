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
from io import RawIOBase
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from sfumato.errors import DataError
from sfumato.io.plain import plain_table
from sfumato.io.set_texts import set_texts
from sfumato.io.types import odd_clocks

ROW_GROUP = 2**20  # rows
DIFFERENCES = "DELTA_BINARY_PACKED"
Sink: TypeAlias = str | Path | RawIOBase


def write_parquet(
    pieces: pa.Table | Iterable[pa.Table], sink: Sink, ascending: str | None = None
) -> None:
    """Write a table, or its pieces one by one, with ``parquet_writer``."""
    tables = [pieces] if isinstance(pieces, pa.Table) else pieces
    plain = (plain_table(piece) for piece in tables)
    first = next(plain)
    with parquet_writer(sink, first.schema, ascending) as writer:
        for piece in chain((first,), plain):
            writer.write_table(piece.combine_chunks(), ROW_GROUP)


def parquet_writer(sink: Sink, fields: pa.Schema, ascending: str | None) -> pq.ParquetWriter:
    """A writer of values and types, compressed, and of nothing else.

    Of a column of ``ascending`` numbers it keeps differences: a dictionary of numbers that hardly
    repeat takes time and room for nothing.
    """
    options: dict[str, Any] = {}
    if ascending is not None:
        options["use_dictionary"] = [name for name in _leaves(fields) if name != ascending]
        options["column_encoding"] = {ascending: DIFFERENCES}
    return pq.ParquetWriter(sink, fields, compression="zstd", store_schema=False, **options)


def _leaves(fields: pa.Schema) -> list[str]:
    """The columns that a Parquet file has for these: one inside every list."""
    sink = pa.BufferOutputStream()
    pq.write_table(fields.empty_table(), sink, store_schema=False)
    stored = pq.ParquetFile(pa.BufferReader(sink.getvalue())).schema
    return [stored.column(place).path for place in range(len(stored))]


def write_csv(pieces: pa.Table | Iterable[pa.Table], sink: Sink) -> None:
    """Write with a header line; a set of texts becomes ``{a, b}`` (set_texts.py), a missing value
    nothing.
    """
    tables = [pieces] if isinstance(pieces, pa.Table) else pieces
    texts = (printable(plain_table(piece)) for piece in tables)
    first = next(texts)
    with pyarrow.csv.CSVWriter(sink, first.schema) as writer:
        for piece in chain((first,), texts):
            writer.write_table(piece)


def printable(table: pa.Table) -> pa.Table:
    """The table as CSV can hold it, its sets as texts; or a refusal."""
    for field in table.schema:
        _require_printable(field)
    pairs = zip(table.column_names, table.columns, strict=True)
    columns = [_printable(name, column) for name, column in pairs]
    return pa.table(columns, names=table.column_names)


def _require_printable(field: pa.Field) -> None:
    kind = field.type.value_type if pa.types.is_list(field.type) else field.type
    if pa.types.is_nested(kind) or pa.types.is_interval(kind) or _is_binary(kind):
        raise DataError(
            f"column {field.name!r} has type {field.type}, which CSV cannot hold; leave it out, or "
            "publish as parquet",
            source=field.name,
        )


def _is_binary(kind: pa.DataType) -> bool:
    kinds = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary)
    return any(one(kind) for one in kinds)


def _printable(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_list(column.type):
        return pa.chunked_array([set_texts(chunk) for chunk in column.chunks], pa.string())
    if odd_clocks(column) is not None:
        raise DataError(
            f"column {name!r} has type {column.type} and times at which that zone's clock cannot "
            "be written; convert it to UTC, or publish as parquet",
            source=name,
        )
    return column
