"""Rows of files in pieces that can be read anywhere, each without the others.

A split is a few words: a file and which of its row groups or record batches. Whoever sees the file
can read it, so a split may be sent to another process; its rows are numbered from ``first`` on, as
they stand in the whole table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Protocol

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Split:
    """Row groups or record batches ``low`` to ``high`` of a file; by default all of it."""

    file: Path
    low: int = 0
    high: int | None = None


@dataclass(frozen=True, slots=True)
class NumberedSplit:
    """So many rows, and the number of the first of them in the table."""

    split: Split
    first: int
    n_rows: int


class Files(Protocol):
    """Files that are one table together."""

    @property
    def files(self) -> Sequence[Path]:
        """In the order of their rows."""
        ...

    def read(self, split: Split, columns: Sequence[str]) -> Iterator[pa.Table]:
        """The named columns of a split, some thousand rows at a time."""
        ...

    def sizes(self, file: Path) -> Sequence[int]:
        """The rows of each piece that can be read alone."""
        ...


def scan(files: Files, columns: Sequence[str]) -> Iterator[pa.Table]:
    """The rows of all files, one after the other."""
    return chain.from_iterable(files.read(Split(file), columns) for file in files.files)


def numbered_splits(files: Files, least: int) -> list[NumberedSplit]:
    """All rows in splits of at least so many each, as far as files are that large.

    A split is never empty, unless there are no rows at all: then it is the only one.
    """
    found: list[NumberedSplit] = []
    first = 0
    for file in files.files:
        for low, high, n_rows in runs(files.sizes(file), least):
            if n_rows:
                # another process may stand in another folder
                found.append(NumberedSplit(Split(file.absolute(), low, high), first, n_rows))
                first += n_rows
    return found or [NumberedSplit(Split(files.files[0].absolute()), 0, 0)]


def runs(sizes: Sequence[int], least: int) -> Iterator[tuple[int, int, int]]:
    """Neighbours together until they have at least so many rows: from, to, and how many rows."""
    low, held = 0, 0
    for at, size in enumerate(sizes, 1):
        held += size
        if held >= least or at == len(sizes):
            yield low, at, held
            low, held = at, 0
