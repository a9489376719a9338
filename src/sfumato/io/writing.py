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

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from sfumato.io.plain import plain_table


def write_parquet(table: pa.Table, path: str | Path) -> None:
    """Write values and types, compressed, and nothing else."""
    pq.write_table(plain_table(table), path, compression="zstd", store_schema=False)


def write_csv(table: pa.Table, path: str | Path) -> None:
    """Write with a header line; a set of texts becomes ``{a, b}``, a missing value nothing."""
    plain = plain_table(table)
    columns = [_printable(column) for column in plain.columns]
    pyarrow.csv.write_csv(pa.table(columns, names=plain.column_names), path)


def _printable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if not pa.types.is_list(column.type):
        return column
    joined = [_braced(chunk) for chunk in column.chunks]
    return pa.chunked_array(joined, pa.string())


def _braced(lists: pa.Array) -> pa.Array:
    # joining a list that holds a null would lose the whole list
    texts = lists.values.cast(pa.string()).fill_null("missing")
    named = pa.ListArray.from_arrays(lists.offsets, texts, mask=lists.is_null())
    return pc.binary_join_element_wise("{", pc.binary_join(named, ", "), "}", "")
