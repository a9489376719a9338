"""The ledger's one writer: everything that waits is committed together.

A caller that awaits ``append`` goes on when its entries are on disk, so every answer that was sent
is recorded. While a commit runs, the next entries gather; under load one flush of the
disk serves many answers. A commit that fails fails all of its answers.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import NamedTuple

from sfumato.server.errors import ApiError
from sfumato.statdb.access.ledger import Ledger
from sfumato.statdb.access.ledger_records import Entry

_MOST = 4_096  # entries in a commit
_PROBE = bytes(2**16)
_ROOM = 2**20  # bytes; with less, the next commits will fail


class _Waiting(NamedTuple):
    entries: Sequence[Entry]
    done: asyncio.Future[None]


class LedgerWriter:
    """Appends to the ledger of a folder from a thread of its own."""

    def __init__(self, folder: Path) -> None:
        """Open the ledger; raises if another process writes it."""
        self._folder = folder
        self._queue: SimpleQueue[_Waiting | None] = SimpleQueue()
        self._opened = threading.Event()
        self._problem: BaseException | None = None
        self.failing = False
        self.commits = 0
        self.entries = 0
        self._thread = threading.Thread(target=self._run, name=f"ledger {folder}", daemon=True)
        self._thread.start()
        self._opened.wait()
        if self._problem is not None:
            raise self._problem

    async def append(self, entries: Sequence[Entry]) -> None:
        """Return when the entries are on disk; otherwise nothing may be answered."""
        if not self._thread.is_alive():
            raise _unavailable()
        done = asyncio.get_running_loop().create_future()
        self._queue.put(_Waiting(entries, done))
        await done

    def writable(self) -> bool:
        """Whether entries can be appended, as far as one can know without appending some."""
        if not self._thread.is_alive():
            return False
        if self.failing:
            # nothing may ask us while we say no, so it has to be found out here
            self.failing = not _can_write(self._folder)
        return not self.failing and _has_room(self._folder)

    def close(self) -> None:
        """Commit what waits, and stop."""
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        # SQLite's connection belongs to the thread that opens it
        try:
            ledger = Ledger.open(self._folder)
        except BaseException as problem:
            self._problem = problem
            return
        finally:
            self._opened.set()
        try:
            while (batch := self._gathered()) is not None:
                self._commit(ledger, batch)
        finally:
            ledger.close()

    def _gathered(self) -> list[_Waiting] | None:
        """What waits, at least one; None at the end."""
        first = self._queue.get()
        if first is None:
            return None
        batch, size = [first], len(first.entries)
        while size < _MOST:
            try:
                more = self._queue.get_nowait()
            except Empty:
                break
            if more is None:
                self._queue.put(None)
                break
            batch.append(more)
            size += len(more.entries)
        return batch

    def _commit(self, ledger: Ledger, batch: Sequence[_Waiting]) -> None:
        entries = [entry for waiting in batch for entry in waiting.entries]
        problem: ApiError | None = None
        try:
            ledger.append(entries)
            self.commits += 1
            self.entries += len(entries)
        except Exception:
            # whatever it was: it is not on disk, so it must not be answered
            problem = _unavailable()
        self.failing = problem is not None
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            batch[0].done.get_loop().call_soon_threadsafe(_tell, batch, problem)


def _tell(batch: Sequence[_Waiting], problem: ApiError | None) -> None:
    for _, done in batch:
        if done.done():
            continue
        if problem is None:
            done.set_result(None)
        else:
            done.set_exception(problem)


def _can_write(folder: Path) -> bool:
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".probe-") as file:
            file.write(_PROBE)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        return False
    return True


def _has_room(folder: Path) -> bool:
    try:
        return shutil.disk_usage(folder).free >= _ROOM
    except OSError:
        return False


def _unavailable() -> ApiError:
    return ApiError(
        "ledger_unavailable",
        "the question could not be recorded, and is not answered without that",
        "try again later; the owner finds the reason in /ready and the server's log",
        retry_after=10,
    )
