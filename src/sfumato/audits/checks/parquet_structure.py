"""A Parquet file of another version's writer: is every byte of it accounted for?

Pages, filters and the footer have to fill the file without gaps, and nothing may ride along: no
key-value metadata, no dictionary entry that no row has. This sees less than writing the file again
does (a page can be encoded in several ways), and is used only where that cannot be done.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

_MAGIC = 4


def loose_ends(path: Path) -> Iterator[str]:
    """What a file holds beside its pages and its footer."""
    with pq.ParquetFile(path) as stored:
        metadata = stored.metadata
        if metadata.metadata:
            yield f"{path.name} carries metadata of its own"
        if _end(metadata) != _footer(path):
            yield f"{path.name} has bytes that belong to none of its columns"
        texts = [field.name for field in stored.schema_arrow if pa.types.is_string(field.type)]
    with pq.ParquetFile(path, read_dictionary=texts) as stored:
        for part in range(stored.num_row_groups):
            for name in texts:
                yield from _unused(path, stored.read_row_group(part, [name]).column(0))


def _end(metadata: pq.FileMetaData) -> int:
    """Where columns and filters end if they follow each other without a gap."""
    spans = []
    for part in range(metadata.num_row_groups):
        for at in range(metadata.num_columns):
            column = metadata.row_group(part).column(at)
            starts = (column.dictionary_page_offset, column.data_page_offset)
            first = min(start for start in starts if start)
            spans.append((first, first + column.total_compressed_size))
            if filter_at := getattr(column, "bloom_filter_offset", None):
                spans.append((filter_at, filter_at + column.bloom_filter_length))
    end = _MAGIC
    for first, last in sorted(spans):
        if first != end:
            return -1
        end = last
    return end


def _footer(path: Path) -> int:
    """Where the footer starts; its length stands before the last four bytes."""
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(size - 8)
        length = int.from_bytes(file.read(4), "little")
    return size - 8 - length


def _unused(path: Path, column: pa.ChunkedArray) -> Iterator[str]:
    for chunk in column.chunks:
        if not pa.types.is_dictionary(chunk.type):
            continue
        used = len(pc.unique(chunk.indices.drop_null()))
        if used < len(chunk.dictionary):
            yield f"{path.name} lists values that no row has"
            return
