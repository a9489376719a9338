"""Parquet and Arrow files batch by batch, in the types that they state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

from sfumato.engines.splits import Split
from sfumato.errors import DataError
from sfumato.io.files import ARROW, PARQUET, sound
from sfumato.io.opened import reading
from sfumato.io.plain import plain_table

_BATCH_ROWS = 65_536
_READ_BYTES = 2**20
_FILE = b"ARROW1"  # what a file starts with; a stream does not


@dataclass(frozen=True, slots=True)
class TypedFiles:
    """Parquet and Arrow files."""

    files: Sequence[Path]

    def read(self, split: Split, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Row groups or record batches of a file."""
        scan = _parquet if _is_parquet(split.file) else _arrow
        with reading(str(split.file)):
            yield from scan(split, columns)

    def sizes(self, file: Path) -> Sequence[int]:
        """The rows of each row group or record batch; a stream of them can only be read whole."""
        with reading(str(file)):
            if _is_parquet(file):
                with pq.ParquetFile(file) as stored:
                    groups = range(stored.num_row_groups)
                    return [stored.metadata.row_group(group).num_rows for group in groups]
            with _opened(file) as reader:
                sizes = [batch.num_rows for batch in _batches(reader, 0, None)]
                return sizes if _is_file(reader) else [sum(sizes)]


def is_typed(file: Path) -> bool:
    """Whether this is the name of a file that states types."""
    return file.name.lower().endswith((*PARQUET, *ARROW))


def stated_types(files: Sequence[Path], columns: Sequence[str]) -> dict[str, pa.DataType]:
    """The type of each column, one and the same in all files."""
    kinds = [_types(file, columns) for file in files]
    for file, found in zip(files, kinds, strict=True):
        for name in columns:
            if found[name] != kinds[0][name]:
                raise DataError(
                    f"column {name!r} has type {kinds[0][name]} in {files[0]} and {found[name]} in "
                    f"{file}; give it one type",
                    source=str(file),
                )
    return kinds[0]


def _types(file: Path, columns: Sequence[str]) -> dict[str, pa.DataType]:
    with reading(str(file)):
        fields = _fields(file)
    plain = plain_table(pa.schema([fields.field(name) for name in columns]).empty_table())
    return {name: plain.schema.field(name).type for name in columns}


def _fields(file: Path) -> pa.Schema:
    if _is_parquet(file):
        return pq.read_schema(file)
    with _opened(file) as reader:
        return reader.schema


def _is_parquet(file: Path) -> bool:
    return file.name.lower().endswith(PARQUET)


def _parquet(split: Split, wanted: Sequence[str]) -> Iterator[pa.Table]:
    # buffered: a column chunk of a large row group need not fit into memory
    with pq.ParquetFile(
        split.file, buffer_size=_READ_BYTES, pre_buffer=False, page_checksum_verification=True
    ) as stored:
        high = stored.num_row_groups if split.high is None else split.high
        for batch in stored.iter_batches(
            _BATCH_ROWS, range(split.low, high), columns=list(wanted), use_threads=False
        ):
            yield sound(pa.Table.from_batches([batch])).select(list(wanted))


def _arrow(split: Split, wanted: Sequence[str]) -> Iterator[pa.Table]:
    place_of = {name: place for place, name in enumerate(_fields(split.file).names)}
    with _opened(split.file, [place_of[name] for name in wanted]) as reader:
        for batch in _batches(reader, split.low, split.high):
            # what is mapped is not checked otherwise, and offsets may point anywhere
            batch.validate(full=True)
            for low in range(0, batch.num_rows, _BATCH_ROWS):
                part = pa.Table.from_batches([batch.slice(low, _BATCH_ROWS)])
                yield part.select(list(wanted))


def _is_file(reader: Any) -> bool:
    """Whether batches can be read by their numbers."""
    return isinstance(reader, pyarrow.ipc.RecordBatchFileReader)


def _batches(reader: Any, low: int, high: int | None) -> Iterator[pa.RecordBatch]:
    if not _is_file(reader):
        return iter(reader)
    return map(reader.get_batch, range(low, reader.num_record_batches if high is None else high))


@contextmanager
def _opened(file: Path, places: list[int] | None = None) -> Iterator[Any]:
    """A reader of some columns. The file is mapped: one batch may be all of it."""
    options = pyarrow.ipc.IpcReadOptions(included_fields=places, use_threads=False)
    with file.open("rb") as head:
        stored = head.read(len(_FILE)) == _FILE
    opener = pyarrow.ipc.open_file if stored else pyarrow.ipc.open_stream
    with pa.memory_map(str(file)) as mapped, opener(mapped, options=options) as reader:
        yield reader
