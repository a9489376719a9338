"""A file that is written only to see whether it would be another one."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any


class Comparison(io.RawIOBase):
    """Takes what a writer writes and holds it against a file that is there.

    Nothing is kept, but for what follows the first ``until`` bytes, where they are given: that is
    the caller's to compare, as ``tail``.
    """

    def __init__(self, path: Path, until: int | None = None) -> None:
        self._file = path.open("rb")
        self._until = until
        self._written = 0
        self.same = True
        self.tail = bytearray()

    def writable(self) -> bool:
        """It is for writing."""
        return True

    def tell(self) -> int:
        """How much was written."""
        return self._written

    def write(self, data: Any) -> int:
        """Compare the next bytes."""
        view = memoryview(data).cast("B")
        size = len(view)
        if self._until is not None:
            left = max(0, self._until - self._written)
            self.tail += view[left:]
            view = view[:left]
        self.same = self.same and self._file.read(len(view)) == bytes(view)
        self._written += size
        return size

    def close(self) -> None:
        """Nothing may be missing, and nothing may follow in the file."""
        if not self.closed:
            if self._until is None:
                self.same = self.same and not self._file.read(1)
            else:
                self.same = self.same and self._written >= self._until
            self._file.close()
        super().close()
