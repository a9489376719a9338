"""The ledger's one writer: everything that waits is committed together.

A caller that awaits ``append`` goes on when its entries are on disk, so every answer that was sent
is recorded. While a commit runs, the next entries gather; under load one flush of the
disk serves many answers. A commit that fails fails all of its answers.

Files that were taken away and put back are opened again, if the last record that was written is
in them: what was answered stays recorded.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import NamedTuple

from sfumato.errors import StoreError
from sfumato.server.errors import ApiError
from sfumato.statdb.access.ledger import Ledger
from sfumato.statdb.access.ledger_records import Entry, Head, Record

_MOST = 4_096  # entries in a commit
_PROBE = bytes(2**16)
_ROOM = 2**20  # bytes; with less, the next commits will fail


class _Waiting(NamedTuple):
    entries: Sequence[Entry]
    done: asyncio.Future[Sequence[Record]]


class LedgerWriter:
    """Appends to the ledger of a folder from a thread of its own."""

    def __init__(
        self,
        folder: Path,
        start: Entry | None = None,
        tell: Callable[[BaseException | None], None] = lambda _: None,
    ) -> None:
        """Open the ledger, and record the start; raises if another process writes it.

        ``tell`` is told why nothing can be written, once, and None when something can again.
        """
        self._folder = folder
        self._start = start
        self._tell = tell
        self._end: Entry | None = None
        self._last: Head | None = None
        self._queue: SimpleQueue[_Waiting | None] = SimpleQueue()
        self._opened = threading.Event()
        self._turn = threading.Lock()
        self._told = False
        self._problem: BaseException | None = None
        self.failing = False
        self.commits = 0
        self.entries = 0
        self._thread = threading.Thread(target=self._run, name=f"ledger {folder}", daemon=True)
        self._thread.start()
        self._opened.wait()
        if self._problem is not None:
            raise self._problem

    async def append(self, entries: Sequence[Entry]) -> Sequence[Record]:
        """The records, when they are on disk; otherwise nothing may be answered."""
        if not self._thread.is_alive():
            raise _unavailable()
        done: asyncio.Future[Sequence[Record]] = asyncio.get_running_loop().create_future()
        self._queue.put(_Waiting(entries, done))
        return await done

    def writable(self) -> bool:
        """Whether entries can be appended, as far as one can know without appending some."""
        if not self._thread.is_alive() or not self._in_place():
            return False
        if self.failing:
            # nothing may ask us while we say no, so it has to be found out here
            self.failing = not _can_write(self._folder)
        return not self.failing and _has_room(self._folder)

    def close(self, end: Entry | None = None) -> None:
        """Commit what waits, record the end, and stop."""
        self._end = end
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        try:
            self._ledger = ledger = Ledger.open(self._folder)
            if self._start is not None:
                ledger.append([self._start])
            self._last = ledger.head()
        except BaseException as problem:
            self._problem = problem
            return
        finally:
            self._opened.set()
        try:
            while (batch := self._gathered()) is not None:
                self._commit(batch)
            if self._end is not None:
                with suppress(StoreError):  # the end of a server without room is not recorded
                    self._append([self._end])
        finally:
            self._ledger.close()

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

    def _commit(self, batch: Sequence[_Waiting]) -> None:
        entries = [entry for waiting in batch for entry in waiting.entries]
        records: Sequence[Record] = ()
        reason: Exception | None = None
        try:
            records = self._append(entries)
            self.commits += 1
            self.entries += len(entries)
        except Exception as error:
            # whatever it was: it is not on disk, so it must not be answered
            reason = error
        if (reason is not None) != self._told:
            self._told = reason is not None
            self._tell(reason)
        self.failing = reason is not None
        problem = None if reason is None else _unavailable()
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            batch[0].done.get_loop().call_soon_threadsafe(_tell, batch, records, problem)

    def _append(self, entries: Sequence[Entry]) -> Sequence[Record]:
        self._in_place()  # if not, appending says why
        records = self._ledger.append(entries)
        if records:
            self._last = records[-1].receipt
        return records

    def _in_place(self) -> bool:
        """Whether the files are those that are written to; others are opened if they go on."""
        with self._turn:
            try:
                self._ledger.require_in_place()
            except StoreError:
                return self._opened_again()
            return True

    def _opened_again(self) -> bool:
        try:
            with Ledger.open(self._folder, beside=True) as found:
                record = next(found.records(self._last.number), None) if self._last else None
                known = found.head() if record is None else record.receipt
            if known != self._last:
                return False
            # closed only now: until here what is written to may come back
            self._ledger.close()
            self._ledger = Ledger.open(self._folder)
        except (StoreError, OSError):
            return False
        return True


def _tell(batch: Sequence[_Waiting], records: Sequence[Record], problem: ApiError | None) -> None:
    at = 0
    for entries, done in batch:
        own, at = records[at : at + len(entries)], at + len(entries)
        if done.done():
            continue
        if problem is None:
            done.set_result(own)
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
