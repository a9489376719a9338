"""Files of a store: for their owner only, checked when they are read."""

from __future__ import annotations

import os
import stat
import zlib
from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato.errors import StoreError


def private_file(path: Path) -> Any:
    """A new file that only its owner can read."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, stat.S_IRUSR | stat.S_IWUSR)
    return os.fdopen(handle, "wb")


def write_table(path: Path, table: pa.Table) -> None:
    """Write a table into such a file."""
    with private_file(path) as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)


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
