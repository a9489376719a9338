"""A file that is written only to see whether it would be another one."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any


class Comparison(io.RawIOBase):
    """Takes what a writer writes and holds it against a file that is there; keeps nothing."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        self._written = 0
        self.same = True

    def writable(self) -> bool:
        """It is for writing."""
        return True

    def tell(self) -> int:
        """How much was written."""
        return self._written

    def write(self, data: Any) -> int:
        """Compare the next bytes."""
        size = memoryview(data).nbytes
        self.same = self.same and self._file.read(size) == bytes(data)
        self._written += size
        return size

    def close(self) -> None:
        """Nothing may follow in the file."""
        if not self.closed:
            self.same = self.same and not self._file.read(1)
            self._file.close()
        super().close()
