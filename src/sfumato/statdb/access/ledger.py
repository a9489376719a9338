"""The ledger of a database: who asked what and was told what, records chained one to the other.

    patients.statdb/
      ledger.sqlite         the records (with -wal and -shm while it is open)
      ledger.name           there was a ledger, of this name: without it nothing is served
      ledger.lock           held by the one server

Every record names the digest of the one before it, see log_records: ``jq -caS 'del(.digest)'`` on a
line of ``log export`` gives the text whose SHA-256 the line states.

Changing, removing or exchanging records breaks the chain. Cutting off its end, or making all of it
anew, does not: who can write the file can compute digests as well. Only a digest that was noted
elsewhere shows that; it must still be in the chain.

Appending returns when the records are on disk. Several in one call share that wait, about all that
it costs. The end of the chain, and the generation that holds (generations.py), are read in the
transaction that continues it, so that several processes may write: the workers of one server, and
what the owner does beside it (``beside``). They take turns by a lock, for SQLite's own way to wait
is to sleep longer and longer.
"""

from __future__ import annotations

import secrets
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sfumato.errors import LedgerError, StoreError
from sfumato.io.locks import Queue
from sfumato.statdb.access.books import COLUMNS, PAGE, KeptBook, line_of
from sfumato.statdb.access.chains import Verified
from sfumato.statdb.access.generations import NotAppended, announcement, require_current
from sfumato.statdb.access.ledger_files import (
    FILE,
    FORMAT,
    NAME,
    SCRIPT,
    VERSION,
    can_write,
    failure,
    has_room,
    let_go,
    locked,
    note_name,
    remove,
    require_none_before,
)
from sfumato.statdb.access.ledger_records import (
    Entry,
    Head,
    Kind,
    Record,
    chained,
    genesis_of,
    referred,
)
from sfumato.statdb.access.sqlite_files import (
    Opened,
    explained,
    open_private,
    open_to_read,
    require_folder,
)

__all__ = ["FILE", "Entry", "Head", "Kind", "Ledger", "Record", "Verified"]


class Ledger(KeptBook):
    """The open ledger of a database. Any thread may use it; close it, or use it in a ``with``."""

    def __init__(
        self, opened: Opened, name: tuple[str, int, str], lock: int | None, *, writes: bool
    ) -> None:
        """Use ``open``."""
        self.genesis = genesis_of(*name)
        self._name = name
        self._opened = opened
        self._lock = lock
        self._writes = writes
        self._turn = threading.Lock()
        self._queue = Queue(opened.path.parent / NAME)

    @classmethod
    def open(cls, folder: str | Path, *, read_only: bool = False, beside: bool = False) -> Ledger:
        """Open the ledger of a database; to write, it is made if there never was one.

        One process can have it open to write, and others ``beside`` that one.
        """
        folder = Path(folder)
        require_folder(folder)
        path = folder / FILE
        if read_only:
            return _opened_to_read(path)
        begun = not path.exists()
        if begun:
            require_none_before(folder)
        lock = None if beside else locked(folder)
        try:
            opened = open_private(path, SCRIPT.format(name=secrets.token_hex(16)))
        except BaseException as error:
            if begun:  # and never written to: there is nothing to lose
                remove(path)
            let_go(lock)
            if isinstance(error, sqlite3.Error | OSError):
                raise failure(path, error) from error
            raise
        return _of(opened, lock, writes=True)

    @property
    def name(self) -> tuple[str, int, str]:
        """The format, its version, and the random number that tells it from others."""
        return self._name

    def append(self, entries: Sequence[Entry]) -> list[Record]:
        """Add entries at the end, all or none; they are on disk when this returns."""
        if not entries:
            return []
        with self._writing():
            require_current(entries, self._read_announced(), self._path)
            records = self._added(entries)
        # a record about the clock is nobody's
        return records[len(records) - len(entries) :]

    def announced(self) -> int | None:
        """The generation of the rows that hold; None if none was ever announced."""
        with self._turn:
            try:
                return self._read_announced()
            except sqlite3.Error as error:
                if "no such table" in str(error):  # of an earlier version, open to read
                    return None
                raise failure(self._path, error) from error

    def announce(self, generation: int) -> int:
        """Let later rows hold from now on, and record it; tells which do."""
        with self._writing():
            before = self._read_announced()
            if before is not None and before >= generation:
                return before
            if before is not None:
                self._added([announcement(generation)])
            self._opened.connection.execute("INSERT INTO announced VALUES (?)", (generation,))
        return generation

    def require_in_place(self) -> None:
        """Raise unless the files that are written to are still those of the folder."""
        self._opened.require_in_place()

    def can_write(self) -> bool:
        """Whether a record could be written, tried without one."""
        return can_write(self._path.parent)

    def has_room(self) -> bool:
        """Whether the next records will fit."""
        return has_room(self._path.parent)

    def head(self) -> Head:
        """The number and the digest of the last record: note it elsewhere now and then."""
        with self._turn:
            try:
                return self._read_head()
            except sqlite3.Error as error:
                raise failure(self._path, error) from error

    def close(self) -> None:
        """Let go of the files, and let somebody else write."""
        with self._turn:
            self._opened.connection.close()
            self._queue.close()
            let_go(self._lock)
            self._lock, self._writes = None, False

    @property
    def _path(self) -> Path:
        return self._opened.path

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """One transaction, which is on disk afterwards, or as if it had never been."""
        with self._turn:
            if not self._writes:
                raise LedgerError(f"{self._path} is not open to be written", path=self._path)
            try:
                self._opened.require_in_place()
                with self._queue.turn():
                    self._opened.connection.execute("BEGIN IMMEDIATE")
                    yield
                    self._opened.connection.execute("COMMIT")
            except BaseException as error:
                self._opened.roll_back()
                if isinstance(error, sqlite3.Error):
                    raise failure(self._path, error) from error
                if isinstance(error, StoreError) and not isinstance(error, NotAppended):
                    raise LedgerError(str(error), path=self._path) from error
                raise

    def _added(self, entries: Sequence[Entry]) -> list[Record]:
        found = self._opened.many(_LAST)
        number, digest, time = found[0] if found else (0, self.genesis, "")
        if type(digest) is not str or type(time) is not str:
            raise self._damaged(f"record {number} is none")
        records = chained(entries, Head(number, digest), time)
        for entry in entries:
            if entry.kept is not None:
                self._keep(referred(entry.answer), entry.kept)
        self._opened.connection.executemany(_INSERT, map(line_of, records))
        return records

    def _read_announced(self) -> int | None:
        generation: int | None = self._opened.one(_ANNOUNCED)[0]
        if not isinstance(generation, int | None):
            raise self._damaged("what holds is no generation")
        return generation

    def _damaged(self, why: str) -> StoreError:
        return StoreError(f"{self._path} is damaged: {why}", path=self._path)

    def _keep(self, name: str | None, answer: str) -> None:
        if not self._opened.many("SELECT 1 FROM answer WHERE sha256 = ?", (name,)):
            self._opened.connection.execute("INSERT INTO answer VALUES (?, ?)", (name, answer))

    def _read_head(self) -> Head:
        found = self._opened.many(_LAST)
        return Head(*found[0][:2]) if found else Head(0, self.genesis)

    def _kept(self, name: str) -> str | None:
        found = self._read("SELECT text FROM answer WHERE sha256 = ?", (name,))
        return str(found[0][0]) if found else None

    def _lines(self, after: int) -> list[tuple[Any, ...]]:
        return self._read(_SELECT, (after, PAGE))

    def _read(self, sql: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        with self._turn:
            try:
                return self._opened.many(sql, values)
            except sqlite3.Error as error:
                raise StoreError(explained(self._path, error), path=self._path) from error


def _opened_to_read(path: Path) -> Ledger:
    nothing = StoreError(
        f"{path.parent} has no ledger: nobody has asked through a server", path=path
    )
    if not path.exists():
        require_none_before(path.parent)
        raise nothing
    try:
        opened = open_to_read(path)
        if not opened.one("SELECT count(*) FROM sqlite_master")[0]:
            opened.connection.close()
            raise nothing
    except sqlite3.Error as error:
        raise StoreError(explained(path, error), path=path) from error
    return _of(opened, None, writes=False)


def _of(opened: Opened, lock: int | None, *, writes: bool) -> Ledger:
    """A ledger with a beginning that is ours."""
    try:
        form, version, name = opened.one("SELECT format, version, name FROM ledger")
        if form != FORMAT or version not in range(1, VERSION + 1):
            raise StoreError(
                f"{opened.path} has format {form!r} {version!r}, this sfumato reads {FORMAT!r} "
                f"1 to {VERSION}; use the version that wrote it, or a newer one",
                path=opened.path,
            )
        if not isinstance(name, str):
            raise TypeError("its name is none")
        if writes:
            note_name(opened.path.parent, name)
    except BaseException as error:
        opened.connection.close()
        let_go(lock)
        if isinstance(error, OSError):
            raise failure(opened.path.parent, error) from error
        if not isinstance(error, sqlite3.Error | TypeError | ValueError):
            raise
        raise StoreError(
            f"{opened.path} is not a ledger of ours: {error}", path=opened.path
        ) from error
    return Ledger(opened, (form, version, name), lock, writes=writes)


_INSERT = f"INSERT INTO record ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"
_SELECT = f"SELECT {', '.join(COLUMNS)} FROM record WHERE number > ? ORDER BY number LIMIT ?"
_LAST = "SELECT number, digest, time FROM record WHERE number > 0 ORDER BY number DESC LIMIT 1"
_ANNOUNCED = "SELECT max(generation) FROM announced"
