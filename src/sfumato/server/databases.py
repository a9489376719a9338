"""The databases that are served: opened, watched, and swapped when ``apply`` has changed one.

A request takes the state that holds when it begins, and keeps it to its end: what it has mapped
stays readable after the swap. Answers are remembered by state, so by generation. The ledger says
which generation holds (generations.py), and refuses what was answered from another one; whoever
asked then waits until the new rows are open here, and asks them. An ``apply`` that only held rows
back leaves no trace: what is served stays, with all that it remembers.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import sfumato
from sfumato.core.compiled import announce
from sfumato.core.query import Aggregate, Query
from sfumato.core.words import Words
from sfumato.errors import LedgerError, ParameterError, QueryRefused, SfumatoError, StoreError
from sfumato.server.caching import Cache
from sfumato.server.http import to_json
from sfumato.server.ledger_writer import LedgerWriter
from sfumato.server.logs import Log
from sfumato.server.sentences import short_guarantee
from sfumato.statdb.access.generations import owner_entry
from sfumato.statdb.access.ledger_records import Entry
from sfumato.statdb.access.places import Place, database_name
from sfumato.statdb.access.tokens import FILE as ACCESS
from sfumato.statdb.access.tokens import Tokens
from sfumato.statdb.count.kernel import a_count
from sfumato.statdb.count.near_kernel import near_count
from sfumato.statdb.database import StatDB
from sfumato.statdb.responder import Responder
from sfumato.statdb.store import HEADER, state_name

if TYPE_CHECKING:
    from sfumato.server.answering import Answered

_CACHE = 2**26  # bytes of answers remembered per database
_TEXTS = 2**23
_PERIOD = 0.25  # seconds between looks at the headers
_MOMENT = 0.02
_HANGS = 8.0  # seconds after which nobody waits for a shared ledger any more
_PAUSE = 5.0  # seconds before a damaged database is tried again
_ASKED_FIRST = ("sum", "avg", "min", "max")


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """One generation of a database, and what was answered from it.

    ``name`` is the state's in the store, ``stamp`` that of the header that named it last. ``facts``
    stand around every answer, ``head`` is their JSON without the braces.
    """

    statdb: StatDB
    name: str
    stamp: tuple[int, int, int]
    rows: int
    facts: Mapping[str, Any]
    head: bytes
    answers: Cache[Answered]
    texts: Cache[Any]

    @property
    def responder(self) -> Responder:
        """What answers."""
        return self.statdb.responder

    @property
    def words(self) -> Words:
        """What its owner calls things."""
        return self.responder.schema.words

    @property
    def generation(self) -> int:
        """How often rows were changed."""
        return self.statdb.generation


class Served:
    """A database under the name it is served by."""

    def __init__(
        self, name: str, place: Place, log: Log | None = None, *, beside: bool = False
    ) -> None:
        self.name = name
        self.place = place
        self.folder = place.folder
        self._log = log
        self.state = _opened(name, self.folder)
        # first the ledger: one that is missing must not be begun anew by a look at the tokens
        start = self._event("start")
        self.ledger = LedgerWriter(place, start, self._ledger_changed, beside=beside)
        try:
            self.tokens = place.tokens(watched=True)
        except BaseException:
            self.ledger.close()
            raise
        self.damaged = False
        self._fresh: State | None = None
        self._next_try = 0.0

    def look(self) -> None:
        """Find out what other servers and the owner have done, where that takes long."""
        self.ledger.look()
        with suppress(StoreError):  # who asks for tokens that are old is told
            self.tokens.look()

    def interrupt(self, seconds: float) -> None:
        """End what has waited longer than that for a shared ledger."""
        self.ledger.interrupt(seconds)
        self.tokens.interrupt(seconds)

    def changed(self) -> bool:
        """Whether the header on disk names another state than this one, and is worth a try."""
        if time.monotonic() < self._next_try:
            return False
        try:
            stamp = _stamp(self.folder)
            if stamp == self.state.stamp:
                return False
            if self.damaged or state_name(self.folder) != self.state.name:
                return True
        except (OSError, SfumatoError):
            return True
        self.state = replace(self.state, stamp=stamp)
        return False

    def reload(self) -> None:
        """Open the folder again; what is served stays if that fails, or cannot be announced."""
        try:
            if self._fresh is None or self._fresh.stamp != _stamp(self.folder):
                self._fresh = _opened(self.name, self.folder)
            self.damaged = False
            self.ledger.announce(self._fresh.generation)
            self.state, self._fresh = self._fresh, None
        except Exception as error:
            # whatever it is, it must not end the watch; /ready tells of it
            self.damaged = not isinstance(error, LedgerError)
            self._next_try = time.monotonic() + (_PAUSE if self.damaged else _PERIOD)

    def problem(self) -> str | None:
        """Why it does not answer, or soon will not: a word for /ready."""
        if self.damaged or not (self.folder / HEADER).exists():
            return "database_damaged"
        if not self._has_tokens():
            return "access_unavailable"
        if not self.ledger.writable():
            return "ledger_unavailable"
        return "rows_outdated" if self.ledger.announced > self.state.generation else None

    async def caught_up(self, generation: int, seconds: float) -> bool:
        """Wait until rows that hold are open; whether they came in time."""
        until = time.monotonic() + seconds
        while self.state.generation < generation and time.monotonic() < until:
            await asyncio.sleep(_MOMENT)
        return self.state.generation >= generation

    def close(self) -> None:
        """Commit what waits, and let go of the files."""
        self.ledger.close(self._event("stop"))
        self.tokens.close()

    def _has_tokens(self) -> bool:
        """Whether the tokens are those of the folder; others that were put there are opened."""
        try:
            self.tokens.require_in_place()
        except StoreError:
            if self.place.url is not None:
                return False
            try:
                if not (self.folder / ACCESS).exists():
                    return False
                fresh, lost = Tokens.open(self.folder), self.tokens
            except StoreError:
                return False
            if lost.were_in_use and not fresh.in_use:
                fresh.close()  # made anew, by somebody who looked: it would open every door
                return False
            self.tokens = fresh
            lost.close()
        return True

    def _event(self, kind: Literal["start", "stop"]) -> Entry:
        return owner_entry(kind, f"{kind} of sfumato {sfumato.__version__}", self.state.generation)

    def _ledger_changed(self, reason: BaseException | None) -> None:
        """Tell the log why nothing is answered, or that something is again."""
        if self._log is None:
            return
        if reason is None:
            self._log.write("ledger", database=self.name, outcome="written again")
        elif isinstance(reason, StoreError):  # speaks of files only
            self._log.write("ledger", "error", database=self.name, reason=str(reason))
        else:
            self._log.failure("ledger", reason, database=self.name)


def open_all(
    folders: Iterable[str | Path],
    log: Log | None = None,
    *,
    ledger: str | None = None,
    beside: bool = False,
) -> dict[str, Served]:
    """Open databases under the names of their folders, without the ending .statdb.

    ``ledger`` is the URL of one that several servers share, ``beside`` says that this is one of
    several that write a ledger in the folder.
    """
    found: dict[str, Served] = {}
    try:
        for folder in map(Path, folders):
            name = database_name(folder)
            if name in found:
                raise ParameterError(
                    f"two databases would be called {name!r}; rename a folder", parameter="folder"
                )
            found[name] = Served(name, Place.of(folder, ledger), log, beside=beside)
    except BaseException:
        for served in found.values():
            served.close()
        raise
    return found


async def watch(
    databases: Mapping[str, Served], pool: Executor, tell: Callable[[Served], None]
) -> None:
    """Look at the headers and at shared ledgers for ever; ``tell`` of each attempt to reload."""
    await asyncio.gather(*(_watch(served, pool, tell) for served in databases.values()))


async def _watch(served: Served, pool: Executor, tell: Callable[[Served], None]) -> None:
    loop = asyncio.get_running_loop()
    while True:
        await asyncio.sleep(_PERIOD)
        if served.place.url is not None:
            await _looked(served, loop.run_in_executor(pool, served.look))
        if served.changed():
            await loop.run_in_executor(pool, served.reload)
            tell(served)


async def _looked(served: Served, look: asyncio.Future[None]) -> None:
    """Wait for a look at what is shared; if that hangs, so does every answer, and all are ended."""
    while not (await asyncio.wait({look}, timeout=_HANGS))[0]:
        served.interrupt(_HANGS)
    await look


def _opened(name: str, folder: Path) -> State:
    # first the stamp: a change in between is then noticed later
    stamp, state = _stamp(folder), state_name(folder)
    statdb = StatDB.open(folder)
    _ask_first(statdb)
    facts = {
        "database": name,
        "generation": statdb.generation,
        "guarantee": short_guarantee(statdb.responder),
    }
    return State(
        statdb,
        state,
        stamp,
        statdb.responder.n_rows,
        facts,
        to_json(facts)[1:-1],
        Cache(_CACHE),
        Cache(_TEXTS),
    )


def _ask_first(statdb: StatDB) -> None:
    """What is made at the first question, kernels too, is made before anybody waits for it.

    On a busy machine the compiler takes longer than a question may.
    """
    announce(near_count if statdb.responder.size is not None else a_count)
    statdb.query(Query())
    for name in statdb.responder.schema.sensitive:
        with suppress(QueryRefused):  # not a number
            statdb.query(Query(select=tuple(Aggregate(one, name) for one in _ASKED_FIRST)))


def _stamp(folder: Path) -> tuple[int, int, int]:
    try:
        found = (folder / HEADER).stat()
    except FileNotFoundError:
        return (0, 0, 0)  # StatDB.open says what is wrong
    return (found.st_mtime_ns, found.st_ino, found.st_size)
