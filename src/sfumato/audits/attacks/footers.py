"""Footers: what a Parquet file says of its columns beside their values.

A file ends with a description of itself: the least and greatest value of every column in every part
of its rows, how many are missing, whatever the program that wrote it was given to keep (the index
of a data frame, the history of a column), and where each column stands. Whoever looks there sees
values of rows that were left out if the figures are those of another table. So every figure is
computed again from the rows that it is about, and nothing may be left unexplained.

``verify`` writes files anew with the code that wrote them and compares; this reads them with no
code of ours, so that it sees what that code might have come to write.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sfumato.io.files import chunks_of

_MAGIC, _LENGTH = 4, 4  # bytes at either end, and of the length of the footer


def told_beside(path: Path) -> Iterator[str]:
    """What a Parquet file tells that its rows do not."""
    with pq.ParquetFile(path) as file:
        for key in file.metadata.metadata or {}:
            yield f"{path.name} keeps {key.decode(errors='replace')!r} beside its columns"
        for place in range(file.num_row_groups):
            chunks, table = chunks_of(file, place), file.read_row_group(place)
            for chunk, column in zip(chunks, table.columns, strict=True):
                if chunk.is_stats_set and not _are_of(chunk.statistics, column):
                    name = chunk.path_in_schema
                    yield f"{path.name} has figures of {name!r} that its rows do not give"
        parts = (chunks_of(file, place) for place in range(file.num_row_groups))
        explained = sum(chunk.total_compressed_size for chunks in parts for chunk in chunks)
        explained += file.metadata.serialized_size + 2 * _MAGIC + _LENGTH
    if path.stat().st_size != explained:
        yield f"{path.name} has bytes that belong to no column"


def _are_of(stated: Any, column: pa.ChunkedArray) -> bool:
    """Whether statistics are those of these values; of a list, of its items."""
    in_lists = pa.types.is_list(column.type)
    values = pc.list_flatten(column) if in_lists else column
    known = values.drop_null()
    if stated.has_null_count and not in_lists and stated.null_count != values.null_count:
        return False
    if stated.has_distinct_count and stated.distinct_count != pc.count_distinct(known).as_py():
        return False
    if not stated.has_min_max or not _is_compared(known.type):
        return True
    ends = pc.min_max(known)
    return [stated.min, stated.max] == [ends[end].as_py() for end in ("min", "max")]


def _is_compared(kind: pa.DataType) -> bool:
    """Types of which Parquet's least and greatest value are those of Arrow."""
    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_string, pa.types.is_date)
    return any(one(kind) for one in kinds)
