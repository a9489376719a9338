"""A server's one writer of a ledger: everything that waits is committed together.

A caller that awaits ``append`` goes on when its entries are on disk, so every answer that was sent
is recorded. While a commit runs, the next entries gather, and for a moment more if there were
several the last time; under load one flush of the disk serves many answers. A commit that fails
fails all of its answers.

What was answered from rows that no longer hold, or with a token that was revoked meanwhile, is
taken out of the commit (generations.py).

Files that were taken away and put back are opened again, if the last record that was written is
in them: what was answered stays recorded.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import NamedTuple, TypeAlias

from sfumato.errors import StoreError
from sfumato.server.errors import ApiError
from sfumato.statdb.access.books import KeptBook
from sfumato.statdb.access.generations import Ended, NotAppended, Superseded, require_latest
from sfumato.statdb.access.ledger_records import Entry, Head, Record
from sfumato.statdb.access.places import Place

_MOST = 4_096  # entries in a commit
# seconds that those who ask at the same time get to be in one commit: its flush takes the system as
# much as writing ten records
_MOMENT = 0.0003


Told: TypeAlias = Callable[[Sequence[Record], ApiError | None], None]


class _Waiting(NamedTuple):
    entries: Sequence[Entry]
    tell: Told
    loop: asyncio.AbstractEventLoop


class LedgerWriter:
    """Appends to the ledger of a folder from a thread of its own."""

    def __init__(
        self,
        place: Place,
        start: Entry | None = None,
        tell: Callable[[BaseException | None], None] = lambda _: None,
        *,
        beside: bool = False,
    ) -> None:
        """Open the ledger, and record the start of a server with these rows.

        Raises if the rows are outdated, or if another process writes a ledger that is not shared;
        ``beside`` says that it may. ``tell`` is told why nothing can be written, once, and None
        when something can again.
        """
        self._place = place
        self._beside = beside
        self._start = start
        self._tell = tell
        self._end: Entry | None = None
        self._last: Head | None = None
        self._queue: SimpleQueue[_Waiting | None] = SimpleQueue()
        self._opened = threading.Event()
        self._turn = threading.Lock()
        self._told = False
        self._together = 0
        self.announced = 0
        self._problem: BaseException | None = None
        self.failing = False
        self.commits = 0
        self.entries = 0
        self._thread = threading.Thread(
            target=self._run, name=f"ledger {place.folder}", daemon=True
        )
        self._thread.start()
        self._opened.wait()
        if self._problem is not None:
            raise self._problem

    async def append(self, entries: Sequence[Entry]) -> Sequence[Record]:
        """The records, when they are on disk; otherwise nothing may be answered."""
        done: asyncio.Future[Sequence[Record]] = asyncio.get_running_loop().create_future()
        self.submit(entries, partial(_settle, done))
        return await done

    def submit(self, entries: Sequence[Entry], tell: Told) -> None:
        """The same for who does not wait: ``tell`` is called in this loop, as soon as it is known.

        With the records, or with why there are none.
        """
        if not self._thread.is_alive():
            raise _unavailable()
        self._queue.put(_Waiting(entries, tell, asyncio.get_running_loop()))

    def announce(self, generation: int) -> int:
        """Let later rows hold from now on; tells which do. Raises if the ledger is out of reach."""
        self.announced = self._ledger.announce(generation)
        return self.announced

    def look(self) -> None:
        """Find out which rows hold, and whether something that failed would work again."""
        try:
            self.announced = self._ledger.announced() or 0
        except StoreError as error:
            self._changed(error)
            return
        if self.failing and self._ledger.can_write():
            # nothing may ask us while we say no, so it has to be found out here
            self.failing = False

    def interrupt(self, seconds: float) -> None:
        """End what has waited longer than that for the ledger: it fails."""
        self._ledger.interrupt(seconds)

    def writable(self) -> bool:
        """Whether entries can be appended, as far as one can know without appending some."""
        if not self._thread.is_alive() or not self._in_place():
            return False
        if self.failing and self._place.url is None:
            self.failing = not self._ledger.can_write()
        return not self.failing and self._ledger.has_room()

    def close(self, end: Entry | None = None) -> None:
        """Commit what waits, record the end, and stop."""
        self._end = end
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        try:
            self._ledger = self._opened_first()
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

    def _opened_first(self) -> KeptBook:
        """The ledger, with the start of a server whose rows hold."""
        ledger = self._place.ledger(beside=self._beside)
        try:
            if self._start is not None:
                require_latest(ledger, self._start.generation, self._place.folder)
                self.announced = self._start.generation
                ledger.append([self._start])
            self._last = ledger.head()
        except BaseException:
            ledger.close()
            raise
        return ledger

    def _gathered(self) -> list[_Waiting] | None:
        """What waits, at least one; None at the end."""
        first = self._queue.get()
        if first is None:
            return None
        if self._together > 1:
            time.sleep(_MOMENT)
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
        self._together = len(batch)
        return batch

    def _commit(self, batch: Sequence[_Waiting]) -> None:
        entries = [entry for waiting in batch for entry in waiting.entries]
        try:
            records = self._append(entries)
        except NotAppended as error:
            self._take_out(batch, error)
        except Exception as error:
            # whatever it was: it is not on disk, so it must not be answered
            self._changed(error)
            _give(batch, (), _unavailable())
        else:
            self.commits += 1
            self.entries += len(entries)
            self._changed(None)
            _give(batch, records, None)

    def _take_out(self, batch: Sequence[_Waiting], error: NotAppended) -> None:
        """Refuse what must not be answered, and commit the others."""
        concerned = [any(map(error.concerns, one.entries)) for one in batch]
        problem = _outdated(self._place.folder, error)
        _give([one for one, is_so in zip(batch, concerned, strict=True) if is_so], (), problem)
        others = [one for one, is_so in zip(batch, concerned, strict=True) if not is_so]
        if isinstance(error, Superseded):
            self.announced = error.generation
        if others:
            self._commit(others)

    def _changed(self, reason: Exception | None) -> None:
        """Note whether something can be written, and tell if it is not as before."""
        if (reason is not None) != self._told:
            self._told = reason is not None
            self._tell(reason)
        self.failing = reason is not None

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
            with self._place.ledger(beside=True) as found:
                record = next(found.records(self._last.number), None) if self._last else None
                known = found.head() if record is None else record.receipt
            if known != self._last:
                return False
            # closed only now: until here what is written to may come back
            self._ledger.close()
            self._ledger = self._place.ledger(beside=self._beside)
        except (StoreError, OSError):
            return False
        return True


def _give(batch: Sequence[_Waiting], records: Sequence[Record], problem: ApiError | None) -> None:
    """Tell those who wait, in their own loop."""
    if batch:
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            batch[0].loop.call_soon_threadsafe(_tell, batch, records, problem)


def _tell(batch: Sequence[_Waiting], records: Sequence[Record], problem: ApiError | None) -> None:
    at = 0
    for entries, tell, _ in batch:
        own, at = records[at : at + len(entries)], at + len(entries)
        tell(own, problem)


def _settle(
    done: asyncio.Future[Sequence[Record]], records: Sequence[Record], problem: ApiError | None
) -> None:
    if done.done():
        return
    if problem is None:
        done.set_result(records)
    else:
        done.set_exception(problem)


class Outdated(ApiError):
    """The rows have changed while somebody asked: what asks them again may be answered."""

    def __init__(self, folder: Path, generation: int) -> None:
        super().__init__(
            "not_ready",
            "the rows have changed, and this server does not have the new ones yet",
            "try again",
            retry_after=1,
        )
        self.folder = folder
        self.generation = generation


def _outdated(folder: Path, error: NotAppended) -> ApiError:
    if isinstance(error, Superseded):
        return Outdated(folder, error.generation)
    assert isinstance(error, Ended)
    return ApiError(
        "unauthorized",
        "the token is unknown, expired or revoked",
        "the owner of the database makes tokens with: sfumato statdb token create",
    )


def _unavailable() -> ApiError:
    return ApiError(
        "ledger_unavailable",
        "the question could not be recorded, and is not answered without that",
        "try again later; the owner finds the reason in /ready and the server's log",
        retry_after=10,
    )
