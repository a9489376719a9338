"""Rows on disk, sorted into blocks: an Arrow file that is written once and read block by block.

Every chunk of rows becomes one record batch per block, so batch number ``chunk * n_blocks + block``
holds the rows of a block that came with a chunk. Arrow files are read by batch number, at the cost
of one seek each, and not mapped: a mapping would count against a limit on address space.

The rows are as they were. So where the system lets an open file be read without a name (Linux) it
loses its name at once: whatever ends the process, nothing of it is left. Only what another process
is to read keeps its name.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

import pyarrow as pa
import pyarrow.ipc

from sfumato.core._kernels import rows_by_group
from sfumato.core.arrays import Codes

# without threads: each would reserve addresses, and time goes elsewhere
_NUMBERS = pyarrow.ipc.IpcWriteOptions(use_threads=False)
_TEXTS = pyarrow.ipc.IpcWriteOptions(compression="lz4", use_threads=False)
_READ = pyarrow.ipc.IpcReadOptions(use_threads=False)


_FOLDER = "spill"


@contextmanager
def scratch_folder(folder: Path) -> Iterator[Path]:
    """A folder for rows with their sensitive values: nobody else may look into it."""
    scratch = folder / _FOLDER
    scratch.mkdir(mode=0o700)
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


class Spill:
    """``add`` chunks inside a with statement, then ``block`` gives back what belongs together."""

    def __init__(self, path: Path, fields: pa.Schema, n_blocks: int, named: bool = False) -> None:
        self._path = path
        self._named = named
        self._fields = fields
        self._n_blocks = n_blocks
        self._chunks = 0
        self._handle: int | None = None
        self._writer: pa.RecordBatchFileWriter | None = None
        self._file: pa.NativeFile | None = None
        self._reader: pa.RecordBatchFileReader | None = None

    def __enter__(self) -> Self:
        """Start writing."""
        self._writer = pyarrow.ipc.new_file(
            str(self._path), self._fields, options=_options(self._fields)
        )
        if self._named:
            return self
        handle = os.open(self._path, os.O_RDONLY)
        unnamed = Path(f"/proc/self/fd/{handle}")
        if unnamed.exists():
            self._path.unlink()
            self._path, self._handle = unnamed, handle
        else:
            os.close(handle)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        """End writing."""
        assert self._writer is not None
        self._writer.close()
        if error is not None:
            self.close()

    def add(self, chunk: pa.Table, blocks: Codes | None = None) -> None:
        """Put every row of a chunk into its block (or all into the only one), in their order."""
        assert self._writer is not None
        self._chunks += 1
        if blocks is None:
            self._writer.write_batch(_one_batch(chunk.combine_chunks()))
            return
        rows, starts = rows_by_group(blocks, self._n_blocks)
        sorted_rows = chunk.take(pa.array(rows)).combine_chunks()
        for block in range(self._n_blocks):
            low, high = int(starts[block]), int(starts[block + 1])
            self._writer.write_batch(_one_batch(sorted_rows.slice(low, high - low)))

    def block(self, block: int) -> pa.Table:
        """All rows of a block."""
        return pa.concat_tables(self.chunks(block))

    def chunks(self, block: int = 0) -> Iterator[pa.Table]:
        """The rows of a block, as they came."""
        if self._reader is None:
            self._file = pa.OSFile(str(self._path))
            self._reader = pyarrow.ipc.open_file(self._file, options=_READ)
        for number in range(block, self._chunks * self._n_blocks, self._n_blocks):
            yield pa.Table.from_batches([self._reader.get_batch(number)])

    def close(self) -> None:
        """Let go of the file, so that it can be removed on systems that keep open ones."""
        if self._file is not None:
            self._file.close()
        self._reader = self._file = None
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def stored_batches(path: Path, numbers: Callable[[int], range]) -> Iterator[pa.Table]:
    """Batches of a file that kept its name; ``numbers`` are told how many there are."""
    with pa.OSFile(str(path)) as file:
        reader = pyarrow.ipc.open_file(file, options=_READ)
        for number in numbers(reader.num_record_batches):
            yield pa.Table.from_batches([reader.get_batch(number)])


def _one_batch(table: pa.Table) -> pa.RecordBatch:
    if not table.num_rows:
        return pa.RecordBatch.from_pylist([], schema=table.schema)
    (batch,) = table.to_batches()
    return batch


def _options(fields: pa.Schema) -> pyarrow.ipc.IpcWriteOptions:
    """Texts repeat themselves and are compressed; codes are narrow, and faster as they are."""
    return _TEXTS if any(map(_has_texts, fields.types)) else _NUMBERS


def _has_texts(kind: pa.DataType) -> bool:
    if pa.types.is_nested(kind):
        return any(_has_texts(kind.field(i).type) for i in range(kind.num_fields))
    return not (pa.types.is_primitive(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind))
