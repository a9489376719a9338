"""One machine, limited memory: parts pass one after the other, and what is kept lies on disk.

What is kept or exchanged is written to Arrow files (spill.py) in a folder of the caller's, which
only its owner may open; the files have no name where the system has such, so that nothing outlives
the process.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
import pyarrow as pa

from sfumato.engines.spill import Spill

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class Scratch:
    """A folder for spilled rows, and all files that are open in it."""

    folder: Path
    _files: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Self:
        """Files are closed at the end."""
        return self

    def __exit__(self, *_: object) -> None:
        """Let go of all files."""
        self._files.close()

    def spill(self, parts: Iterator[tuple[pa.Table, Any]], n: int) -> Spill:
        """Write parts down, each row to one of ``n`` blocks."""
        first, blocks = next(parts)
        spill = Spill(self.folder / f"{len(list(self.folder.iterdir()))}.arrow", first.schema, n)
        self._files.enter_context(closing(spill))
        with spill:
            spill.add(first, blocks)
            for part, blocks in parts:
                spill.add(part, blocks)
        return spill


@dataclass(frozen=True, slots=True)
class StreamEngine:
    """``scan`` gives the parts, as often as it is asked; ``tell`` hears of every part that is
    done.
    """

    scan: Callable[[], Iterator[pa.Table]]
    scratch: Scratch
    tell: Callable[[], None]

    def reduce(
        self, task: Callable[..., Found], merge: Callable[[Found, Found], Found], *shared: Any
    ) -> Found:
        """Part after part."""
        return functools.reduce(merge, (task(part, *shared) for part in self.parts()))

    def keep(self, task: Callable[..., pa.Table], *shared: Any) -> StreamEngine:
        """On disk, in the order in which they come."""
        kept = self.scratch.spill(((task(part, *shared), None) for part in self.parts()), 1)
        return StreamEngine(kept.chunks, self.scratch, self.tell)

    def exchange(
        self,
        key: Callable[..., Any],
        n: int,
        solve: Callable[..., pa.Table],
        *shared: Any,
    ) -> StreamEngine:
        """Through a spill with a block for each number."""
        keyed = ((part, np.asarray(key(part, *shared), np.int32)) for part in self.parts())
        spill = self.scratch.spill(keyed, n)

        def solved() -> Iterator[pa.Table]:
            for number in range(n):
                yield solve(spill.block(number), number, *shared)

        return StreamEngine(solved, self.scratch, self.tell)

    def parts(self) -> Iterator[pa.Table]:
        """As they are scanned."""
        for part in self.scan():
            yield part
            self.tell()
