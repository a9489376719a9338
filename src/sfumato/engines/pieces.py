"""What a worker of a cluster does: make the parts of a piece, and do one thing with them.

A piece says in a few words where its rows are. Everything large goes through files in a folder that
all workers see and only the owner may open. A task writes under a name that nobody had before and
returns the name: what counts is what was returned to the driver. So a task that is killed, run
twice, or finishes after another attempt of it leaves at most a file that nobody reads, and files
need never be renamed.

What the tasks of a stage are told, keys among it, is such a file as well: it is sent once, and no
scheduler, dashboard or log has it.
"""

from __future__ import annotations

import functools
import itertools
import pickle
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from sfumato.core.foreign import as_ours
from sfumato.engines.domains import numbered, numbered_columns
from sfumato.engines.kept import KEPT
from sfumato.engines.rows import Rows
from sfumato.engines.spill import Spill, stored_batches
from sfumato.engines.splits import NumberedSplit
from sfumato.errors import SfumatoError

# files that a worker remembers: a task, what makes its piece, and what both are told
_REMEMBERED = 4


class Piece(Protocol):
    """Rows that are somewhere."""

    def parts(self) -> Iterator[pa.Table]:
        """Part after part, at least one."""
        ...


@dataclass(frozen=True, slots=True)
class Told:
    """What all tasks of a stage are told, in a file."""

    path: Path

    def __call__(self) -> Any:
        """Read it, unless this process has done so for an earlier task."""
        return _read(self.path)


@dataclass(frozen=True, slots=True)
class Said:
    """What tasks are told that is short and no secret: it is sent with them."""

    value: Any

    def __call__(self) -> Any:
        """As it came."""
        return self.value


@functools.lru_cache(_REMEMBERED)
def _read(path: Path) -> Any:
    with path.open("rb") as file:
        return pickle.load(file)


def forget() -> None:
    """Let go of all that tasks were told, and of what they kept."""
    _read.cache_clear()
    KEPT.forget()


def can_use(folder: Path) -> bool:
    """Whether this process can write to a folder that another one made."""
    try:
        write_new(folder, b"").unlink()
    except OSError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class SourcePiece:
    """Rows of a source, in parts of so many; ``rows`` tells how they are read."""

    rows: Told
    split: NumberedSplit
    part_rows: int

    def parts(self) -> Iterator[pa.Table]:
        """Numbered rows, as many as were counted before."""
        rows: Rows = self.rows()
        columns = numbered_columns(rows)
        batches = rows.read(self.split.split, columns)
        found = 0
        for part in numbered(rows, columns, batches, self.split.first, self.part_rows):
            found += part.num_rows
            if found > self.split.n_rows:
                raise rows.changed()
            yield part
        if found < self.split.n_rows:
            raise rows.changed()


@dataclass(frozen=True, slots=True)
class StoredPiece:
    """Batches ``low`` to ``high`` of a file."""

    path: Path
    low: int
    high: int

    def parts(self) -> Iterator[pa.Table]:
        """A part for every batch."""
        return stored_batches(self.path, lambda _: range(self.low, self.high))


class Solving(NamedTuple):
    """How the blocks of dealt files are solved."""

    files: Sequence[Path]
    n: int
    solve: Callable[..., pa.Table]
    shared: Told


@dataclass(frozen=True, slots=True)
class SolvedPiece:
    """A block of all files, solved whenever it is asked for."""

    solving: Told
    number: int

    def parts(self) -> Iterator[pa.Table]:
        """The one part; rows stand in the order of files."""
        told: Solving = self.solving()
        chunks = [
            chunk
            for file in told.files
            for chunk in stored_batches(file, lambda count: range(self.number, count, told.n))
        ]
        yield told.solve(pa.concat_tables(chunks), self.number, *told.shared())


class Stored(NamedTuple):
    """A file that a task wrote, and the rows of its batches."""

    path: Path
    rows: Sequence[int]


class Done(NamedTuple):
    """What came of a task that saw so many parts: a result, or an error of ours."""

    result: Any
    n_parts: int
    error: SfumatoError | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """One thing to do with the parts of every piece; the folder is for what is written.

    Errors are results: the task would fail again, however often a cluster tried. A job ``returns``
    if whoever has done it for an item had better do it for that item again.
    """

    returns: ClassVar[bool] = False

    told: Told | Said
    folder: Path

    def __call__(self, item: Any) -> Done:
        """Do it on a worker."""
        try:
            return Done(*self.run(item))
        except Exception as error:
            ours = error if isinstance(error, SfumatoError) else as_ours(error, "a worker's task")
            if ours is None:
                raise
            return Done(None, 0, ours)

    def run(self, item: Any) -> tuple[Any, int]:
        """The result, and how many parts were seen."""
        raise NotImplementedError


class Fold(Job):
    """The task of every part, merged."""

    __slots__ = ()

    def run(self, item: Piece) -> tuple[Any, int]:
        """A small result."""
        task, merge, shared = self.told()
        count, known = itertools.count(), shared()
        parts = (part for part, _ in zip(item.parts(), count, strict=False))
        return functools.reduce(merge, (task(part, *known) for part in parts)), next(count)


class FoldToFile(Fold):
    """The same, where there are too many results for the driver."""

    __slots__ = ()

    def run(self, item: Piece) -> tuple[Path, int]:
        """The name of a file."""
        found, n = super().run(item)
        return write_new(self.folder, pickle.dumps(found)), n


class Merge(Job):
    """Results in files, merged in their order."""

    __slots__ = ()

    def run(self, item: Sequence[Path]) -> tuple[Any, int]:
        """A small result."""
        _, merge, _ = self.told()
        return functools.reduce(merge, (pickle.loads(path.read_bytes()) for path in item)), 0


class MergeToFile(Merge):
    """The same, where there are still too many."""

    __slots__ = ()

    def run(self, item: Sequence[Path]) -> tuple[Path, int]:
        """The name of a file."""
        found, n = super().run(item)
        return write_new(self.folder, pickle.dumps(found)), n


class Keep(Job):
    """The task of every part, in a file."""

    __slots__ = ()

    def run(self, item: Piece) -> tuple[Stored, int]:
        """What was written."""
        task, shared = self.told()
        known = shared()
        return _written(self.folder, ((task(part, *known), None) for part in item.parts()), 1)


class Deal(Job):
    """The rows of every part, dealt into the blocks of a file."""

    __slots__ = ()

    def run(self, item: Piece) -> tuple[Stored, int]:
        """What was written."""
        key, n, shared = self.told()
        known = shared()
        keyed = ((part, np.asarray(key(part, *known), np.int32)) for part in item.parts())
        return _written(self.folder, keyed, n)


def write_new(folder: Path, data: bytes) -> Path:
    """A new file under a name that nobody had before, for its owner only."""
    path = folder / uuid.uuid4().hex
    path.touch(0o600, exist_ok=False)
    path.write_bytes(data)
    return path


def _written(folder: Path, parts: Iterator[tuple[pa.Table, Any]], n: int) -> tuple[Stored, int]:
    first, blocks = next(parts)
    path = write_new(folder, b"")
    rows = [first.num_rows]
    with Spill(path, first.schema, n, named=True) as spill:
        spill.add(first, blocks)
        for part, more in parts:
            spill.add(part, more)
            rows.append(part.num_rows)
    return Stored(path, rows), len(rows)
