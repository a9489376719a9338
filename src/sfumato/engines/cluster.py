"""Many machines: the four calls of an engine over workers that can do one thing, run tasks.

Every call is one stage of tasks, a task for each piece of the rows (pieces.py). Results come back
in the order of pieces, so what is merged or concatenated does not hang on who was faster. Only
names of files and small results reach the driver; whoever asks for parts reads the files.
"""

from __future__ import annotations

import functools
import hashlib
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, Protocol, TypeVar

import pyarrow as pa

from sfumato.engines import domains
from sfumato.engines.pieces import (
    Deal,
    Fold,
    FoldToFile,
    Job,
    Keep,
    Merge,
    MergeToFile,
    Piece,
    SolvedPiece,
    Solving,
    SourcePiece,
    Stored,
    StoredPiece,
    Told,
    write_new,
)
from sfumato.engines.rows import Rows
from sfumato.engines.splits import numbered_splits, runs
from sfumato.errors import MachineError
from sfumato.io import unfinished

Found = TypeVar("Found")

# rows of a task: to start one costs as much as counting some hundred thousand rows
SPLIT_ROWS = 2**21
# results that the driver merges itself; more are merged by workers first
FAN_IN = 32
_PATIENCE = 10.0  # seconds, for tasks that nobody waits for any more


class Workers(Protocol):
    """Processes that see the same files."""

    @property
    def memory(self) -> int:
        """The bytes that a task may take."""
        ...

    def run(self, name: str, job: Job, items: Sequence[Any]) -> Iterator[Any]:
        """``job(item)`` of every item, in their order; the name is for dashboards."""
        ...

    def dumps(self, value: Any) -> bytes:
        """A value as ``pickle.loads`` of every worker reads it."""
        ...

    def store(self, frame: Any, folder: Path) -> None:
        """Write the partitions of a frame of theirs to Parquet files in a new folder, in order."""
        ...

    def require_folder(self, folder: Path) -> None:
        """Raise unless every worker sees what is in a folder, and may write there."""
        ...


@dataclass(frozen=True, slots=True)
class Stages:
    """Runs stages of tasks; ``tell`` hears of every part that is done."""

    workers: Workers
    folder: Path
    tell: Callable[[], None]
    _known: dict[bytes, Told] = field(default_factory=dict)

    def told(self, value: Any) -> Told:
        """What all tasks of a stage are to know.

        The same again is the same file: a plan is sent once, and read once by each worker.
        """
        data = self.workers.dumps(value)
        digest = hashlib.blake2b(data).digest()
        if digest not in self._known:
            self._known[digest] = Told(write_new(self.folder, data))
        return self._known[digest]

    def run(self, kind: type[Job], name: str, told: Told, items: Sequence[Any]) -> Iterator[Any]:
        """The results of all items; the first error of a task ends the stage."""
        for done in self.workers.run(name, kind(told, self.folder), items):
            if done.error is not None:
                raise done.error
            for _ in range(done.n_parts):
                self.tell()
            yield done.result


@dataclass(frozen=True, slots=True)
class ClusterEngine:
    """Rows in pieces that workers can read; ``solving`` is the name of what makes them, if it is
    done whenever they are read.
    """

    stages: Stages
    pieces: Sequence[Piece]
    solving: str = ""

    def reduce(
        self, task: Callable[..., Found], merge: Callable[[Found, Found], Found], *shared: Any
    ) -> Found:
        """Merged in the order of pieces: by workers, as long as there are many results."""
        told = self.stages.told((task, merge, self.stages.told(shared)))
        found: Iterator[Found]
        if len(self.pieces) <= FAN_IN:
            found = self.stages.run(Fold, self._name(task), told, self.pieces)
            return functools.reduce(merge, found)
        files = list(self.stages.run(FoldToFile, self._name(task), told, self.pieces))
        while len(files) > FAN_IN**2:
            files = list(self.stages.run(MergeToFile, _name(merge), told, _by(FAN_IN, files)))
        found = self.stages.run(Merge, _name(merge), told, _by(FAN_IN, files))
        return functools.reduce(merge, found)

    def keep(self, task: Callable[..., pa.Table], *shared: Any) -> ClusterEngine:
        """In a file for each piece."""
        told = self.stages.told((task, self.stages.told(shared)))
        stored = self.stages.run(Keep, self._name(task), told, self.pieces)
        return ClusterEngine(self.stages, _pieces(stored))

    def exchange(
        self,
        key: Callable[..., Any],
        n: int,
        solve: Callable[..., pa.Table],
        *shared: Any,
    ) -> ClusterEngine:
        """Through a file for each piece, with a block for each number."""
        known = self.stages.told(shared)
        told = self.stages.told((key, n, known))
        dealt = self.stages.run(Deal, self._name(key), told, self.pieces)
        solving = self.stages.told(Solving([stored.path for stored in dealt], n, solve, known))
        pieces = [SolvedPiece(solving, number) for number in range(n)]
        return ClusterEngine(self.stages, pieces, _name(solve))

    def parts(self) -> Iterator[pa.Table]:
        """From files; what is not in one yet is computed by workers, and read while they go on."""
        if all(isinstance(piece, StoredPiece) for piece in self.pieces):
            for part in chain.from_iterable(piece.parts() for piece in self.pieces):
                yield part
                self.stages.tell()
            return
        told = self.stages.told((_as_it_is, self.stages.told(())))
        for stored in self.stages.run(Keep, self._name(_as_it_is), told, self.pieces):
            yield from StoredPiece(stored.path, 0, len(stored.rows)).parts()
            stored.path.unlink(missing_ok=True)

    def _name(self, task: Callable[..., Any]) -> str:
        """What dashboards call a stage."""
        return f"{self.solving}, {_name(task)}" if self.solving else _name(task)


@contextmanager
def cluster_engine(
    rows: Rows, workers: Workers, target: Path, tell: Callable[[], None]
) -> Iterator[ClusterEngine]:
    """The rows of a source, numbered; what is exchanged goes through a folder beside the target.

    Beside it and not inside of what is to become it: a task that nobody waits for any more may
    still be writing when everything else is done.
    """
    with staged(workers, target, tell) as stages:
        told = stages.told(rows)
        splits = numbered_splits(rows.files, SPLIT_ROWS)
        yield ClusterEngine(stages, [SourcePiece(told, one, domains.PART_ROWS) for one in splits])


@contextmanager
def staged(workers: Workers, target: Path, tell: Callable[[], None]) -> Iterator[Stages]:
    """Stages that exchange files in a folder beside a target."""
    with shared_folder(target.resolve()) as folder:
        workers.require_folder(folder)
        yield Stages(workers, folder, tell)


@contextmanager
def shared_folder(target: Path) -> Iterator[Path]:
    """A folder that only its owner may look into, and that is gone in the end."""
    folder = unfinished.beside(target, unfinished.NEW)
    with unfinished.begun(folder, target):
        folder.mkdir(mode=0o700)
        try:
            yield folder
        finally:
            _remove(folder)


def _remove(folder: Path) -> None:
    """Remove a folder that somebody may still be writing to, though he cannot make it anew."""
    until = time.monotonic() + _PATIENCE
    while folder.exists():
        shutil.rmtree(folder, ignore_errors=True)
        if time.monotonic() > until:
            raise MachineError(
                f"{folder} holds rows and cannot be removed; remove it", doing="clearing up"
            )


def _pieces(stored: Iterable[Stored]) -> list[StoredPiece]:
    """Pieces of files, none much larger than others: a file may hold all there is."""
    return [
        StoredPiece(file.path, low, high)
        for file in stored
        for low, high, _ in runs(file.rows, SPLIT_ROWS)
    ]


def _name(task: Callable[..., Any]) -> str:
    return getattr(task, "__name__", type(task).__name__).strip("_")


def _by(size: int, items: Sequence[Any]) -> list[Sequence[Any]]:
    return [items[low : low + size] for low in range(0, len(items), size)]


def _as_it_is(part: pa.Table) -> pa.Table:
    return part
