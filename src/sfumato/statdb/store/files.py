"""Files of a store: for their owner only, on disk when they are written, checked when read."""

from __future__ import annotations

import os
import stat
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core.arrays import Counts
from sfumato.errors import StoreError

_PART = 2**24  # bytes written at a time


class Patch(NamedTuple):
    """What stands otherwise in an array: positions, counted line after line, and values."""

    at: Counts
    to: NDArray[Any]

    @property
    def nbytes(self) -> int:
        """How many bytes a file of it takes, about."""
        return self.at.nbytes + self.to.nbytes

    def after(self, earlier: Patch) -> Patch:
        """Both in one, of which this one is the later."""
        at, to = np.append(self.at, earlier.at), np.append(self.to, earlier.to)
        positions, first = np.unique(at, return_index=True)
        return Patch(positions, to[first])

    def put(self, array: NDArray[Any]) -> None:
        """Change an array in its place."""
        array.reshape(-1)[self.at] = self.to


class _Checked:
    """A new file that only its owner can read, and the checksum of what was written to it."""

    def __init__(self, path: Path) -> None:
        self._file = private_file(path)
        self.checksum = 0

    def write(self, data: Any) -> int:
        """Write bytes; all of them, or the system's error says why not."""
        view = memoryview(data).cast("B")
        for begin in range(0, len(view), _PART):
            part = view[begin : begin + _PART]
            self._file.write(part)
            self.checksum = zlib.crc32(part, self.checksum)
        return len(view)

    def __enter__(self) -> _Checked:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        try:
            if kind is None:
                self._file.flush()
                os.fsync(self._file.fileno())
        finally:
            self._file.close()


def private_file(path: Path) -> Any:
    """A new file that only its owner can read."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, stat.S_IRUSR | stat.S_IWUSR)
    return os.fdopen(handle, "wb")


def write_bytes(path: Path, data: bytes) -> None:
    """Write such a file."""
    with _Checked(path) as file:
        file.write(data)


def write_array(path: Path, array: NDArray[Any]) -> int:
    """Write an array into such a file; its checksum.

    NumPy's own way to write would not say why a disk takes no more.
    """
    with _Checked(path) as file:
        _put_array(file, array)
    return file.checksum


def write_table(path: Path, table: pa.Table) -> int:
    """Write a table into such a file; its checksum."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    with _Checked(path) as file:
        file.write(sink.getvalue())
    return file.checksum


def write_patches(path: Path, patches: Sequence[Patch]) -> int:
    """Write patches into such a file, one after the other; its checksum."""
    with _Checked(path) as file:
        for patch in patches:
            _put_array(file, patch.at)
            _put_array(file, patch.to)
    return file.checksum


def read_patches(path: Path, names: Sequence[str]) -> Mapping[str, Patch]:
    """Patches by the names of their arrays."""
    with path.open("rb") as file:
        return {
            name: Patch(*(np.lib.format.read_array(file, allow_pickle=False) for _ in range(2)))
            for name in names
        }


def read_table(path: Path) -> pa.Table:
    """Map a table."""
    with pa.memory_map(str(path)) as source, pa.ipc.open_file(source) as reader:
        return reader.read_all()


def checksum_of(path: Path) -> int:
    """CRC-32: it finds damage, and must not take long; who can forge files here has all of them."""
    found = 0
    with path.open("rb") as file:
        while part := file.read(2**22):
            found = zlib.crc32(part, found)
    return found


def require_unchanged(path: Path, checksum: int, folder: Path) -> None:
    """Raise unless a file of the store in a folder has this checksum."""
    if checksum_of(path) != checksum:
        raise StoreError(f"{folder} is damaged: {path.name} was changed", path=folder)


def _put_array(file: Any, array: NDArray[Any]) -> None:
    whole = np.ascontiguousarray(array)
    np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(whole))
    file.write(whole.reshape(-1).view(np.uint8) if whole.size else b"")
