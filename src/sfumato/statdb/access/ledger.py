"""The ledger of a database: who asked what and was told what, records chained one to the other.

    patients.statdb/
      ledger.sqlite         the records (with -wal and -shm while it is open)
      ledger.lock           held by the one process that writes

Every record names the digest of the one before it, see log_records: ``jq -caS 'del(.digest)'`` on a
line of ``log export`` gives the text whose SHA-256 the line states.

Changing, removing or exchanging records breaks the chain. Cutting off its end, or making all of it
anew, does not: who can write the file can compute digests as well. Only a digest that was noted
elsewhere shows that; it must still be in the chain.

Appending returns when the records are on disk. Several in one call share that wait, about all that
it costs.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.errors import LedgerError, StoreError
from sfumato.io.locks import Busy, take_lock
from sfumato.statdb.access.ledger_records import (
    ENTRY_FIELDS,
    Entry,
    Head,
    Kind,
    Record,
    chained,
    digest_of,
    flaw,
)
from sfumato.statdb.access.sqlite_files import (
    Opened,
    explained,
    open_private,
    open_to_read,
    require_folder,
)

__all__ = ["Entry", "Head", "Kind", "Ledger", "Record", "Verified"]

FILE = "ledger.sqlite"
LOCK = "ledger.lock"
FORMAT = "sfumato-ledger"
VERSION = 1

_PAGE = 500  # records read at a time: writers wait for a reader of the same process this long
_DAMAGES = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


@dataclass(frozen=True, slots=True)
class Verified:
    """Whether the chain is whole, how many records are, and what is wrong with the next."""

    ok: bool
    records: int
    problem: str = ""


class Ledger:
    """The open ledger of a database. Any thread may use it; close it, or use it in a ``with``."""

    def __init__(self, opened: Opened, genesis: str, lock: int | None) -> None:
        """Use ``open``."""
        self.genesis = genesis
        self._opened = opened
        self._lock = lock
        self._turn = threading.Lock()
        self._head: Head | None = None

    @classmethod
    def open(cls, folder: str | Path, *, read_only: bool = False) -> Ledger:
        """Open the ledger of a database; to write, which one process can, it is made if missing."""
        folder = Path(folder)
        require_folder(folder)
        path = folder / FILE
        if read_only:
            return _opened_to_read(path)
        lock, begun = _locked(folder), not path.exists()
        try:
            script = _SCRIPT.format(name=secrets.token_hex(16))
            opened = open_private(path, script)
        except (sqlite3.Error, OSError) as error:
            if begun:  # and never written to: there is nothing to lose
                _remove(path)
            os.close(lock)
            raise _failure(path, error) from error
        return _of(opened, lock)

    def append(self, entries: Sequence[Entry]) -> list[Record]:
        """Add entries at the end, all or none; they are on disk when this returns."""
        with self._turn:
            if self._lock is None:
                raise LedgerError(f"{self._path} is not open to be written", path=self._path)
            try:
                self._opened.require_in_place()
                head = self._head or self._read_head()
                records = chained(entries, head)
                self._commit(records)
            except BaseException as error:
                # whether a commit that failed took place, only the file knows
                self._head = None
                self._opened.roll_back()
                if isinstance(error, sqlite3.Error):
                    raise _failure(self._path, error) from error
                if isinstance(error, StoreError):
                    raise LedgerError(str(error), path=self._path) from error
                raise
            self._head = Head(records[-1].number, records[-1].digest) if records else head
            return records

    def records(self, first: int = 1) -> Iterator[Record]:
        """The records from a number on, in order; those that are added meanwhile come, too."""
        after = max(first, 1) - 1
        while lines := self._lines(after):
            yield from map(self._record, lines)
            after = lines[-1][0]

    def head(self) -> Head:
        """The number and the digest of the last record: note it elsewhere now and then."""
        with self._turn:
            try:
                return self._head or self._read_head()
            except sqlite3.Error as error:
                raise _failure(self._path, error) from error

    def __len__(self) -> int:
        """How many records there are."""
        return self.head().number

    def verify(self) -> Verified:
        """Compute the chain again."""
        head = Head(0, self.genesis)
        try:
            for record in self.records():
                problem = flaw(record, head)
                if problem:
                    return Verified(False, head.number, problem)
                head = Head(record.number, record.digest)
        except StoreError as error:
            return Verified(False, head.number, f"after record {head.number}: {error}")
        return Verified(True, head.number)

    def close(self) -> None:
        """Let go of the files, and let somebody else write."""
        with self._turn:
            self._opened.connection.close()
            if self._lock is not None:
                os.close(self._lock)
                self._lock = None

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def _path(self) -> Path:
        return self._opened.path

    def _commit(self, records: list[Record]) -> None:
        if not records:
            return
        connection = self._opened.connection
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(_INSERT, map(_line, records))
        connection.execute("COMMIT")

    def _read_head(self) -> Head:
        found = self._opened.many(
            "SELECT number, digest FROM record WHERE number > 0 ORDER BY number DESC LIMIT 1"
        )
        return Head(*found[0]) if found else Head(0, self.genesis)

    def _lines(self, after: int) -> list[tuple[Any, ...]]:
        with self._turn:
            try:
                return self._opened.many(_SELECT, (after, _PAGE))
            except sqlite3.Error as error:
                raise StoreError(explained(self._path, error), path=self._path) from error

    def _record(self, line: tuple[Any, ...]) -> Record:
        number, time, *entry, previous, digest = line
        try:
            return Record(number, time, Entry(*entry), digest, previous)
        except (TypeError, ValueError, AttributeError) as error:
            raise StoreError(
                f"{self._path} is damaged: record {number} is none", path=self._path
            ) from error


def _opened_to_read(path: Path) -> Ledger:
    nothing = StoreError(
        f"{path.parent} has no ledger: nobody has asked through a server", path=path
    )
    if not path.exists():
        raise nothing
    try:
        opened = open_to_read(path)
        if not opened.one("SELECT count(*) FROM sqlite_master")[0]:
            opened.connection.close()
            raise nothing
    except sqlite3.Error as error:
        raise StoreError(explained(path, error), path=path) from error
    return _of(opened, None)


def _of(opened: Opened, lock: int | None) -> Ledger:
    """A ledger with a beginning that is ours."""
    try:
        form, version, name = opened.one("SELECT format, version, name FROM ledger")
        if form != FORMAT or version != VERSION:
            raise StoreError(
                f"{opened.path} has format {form!r} {version!r}, this sfumato reads {FORMAT!r} "
                f"{VERSION}; use the version that wrote it, or a newer one",
                path=opened.path,
            )
        genesis = digest_of({"format": form, "version": version, "name": name})
    except (sqlite3.Error, TypeError, ValueError, StoreError) as error:
        opened.connection.close()
        if lock is not None:
            os.close(lock)
        if isinstance(error, StoreError):
            raise
        raise StoreError(
            f"{opened.path} is not a ledger of ours: {error}", path=opened.path
        ) from error
    return Ledger(opened, genesis, lock)


def _locked(folder: Path) -> int:
    """The lock of the one that writes; it goes with the process, however that ends."""
    try:
        return take_lock(folder / LOCK)
    except Busy as error:
        raise StoreError(
            f"the ledger of {folder} is being written by another process, such as a server; stop "
            "it first, or open the ledger to read",
            path=folder,
        ) from error
    except OSError as error:
        raise _failure(folder / LOCK, error) from error


def _remove(path: Path) -> None:
    """Remove a ledger that could not be begun, as on a full disk; call it with the lock."""
    for name in (path, Path(f"{path}-wal"), Path(f"{path}-shm")):
        with suppress(OSError):
            name.unlink(missing_ok=True)


def _failure(path: Path, error: sqlite3.Error | OSError) -> StoreError:
    if getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGES:
        return StoreError(explained(path, error), path=path)
    return LedgerError(f"cannot write the ledger: {explained(path, error)}", path=path)


# Guards against mistakes, not against the owner of the file, who can remove them.
_SCRIPT = f"""
CREATE TABLE IF NOT EXISTS ledger (format TEXT NOT NULL, version INTEGER NOT NULL, name TEXT);
INSERT INTO ledger SELECT '{FORMAT}', {VERSION}, '{{name}}'
    WHERE NOT EXISTS (SELECT * FROM ledger);
CREATE TABLE IF NOT EXISTS record (
    number INTEGER PRIMARY KEY, time TEXT NOT NULL, request_id TEXT NOT NULL, who TEXT NOT NULL,
    role TEXT NOT NULL, kind TEXT NOT NULL, question TEXT NOT NULL, canonical TEXT, answer TEXT,
    generation INTEGER NOT NULL, previous TEXT NOT NULL, digest TEXT NOT NULL
);
CREATE TRIGGER IF NOT EXISTS record_follows BEFORE INSERT ON record
    WHEN NEW.number IS NOT (SELECT coalesce(max(number), 0) + 1 FROM record)
    BEGIN SELECT RAISE(ABORT, 'records are appended one after the other'); END;
CREATE TRIGGER IF NOT EXISTS record_stays BEFORE UPDATE ON record
    BEGIN SELECT RAISE(ABORT, 'records are never changed'); END;
CREATE TRIGGER IF NOT EXISTS record_remains BEFORE DELETE ON record
    BEGIN SELECT RAISE(ABORT, 'records are never removed'); END;
CREATE TRIGGER IF NOT EXISTS ledger_stays BEFORE UPDATE ON ledger
    BEGIN SELECT RAISE(ABORT, 'a log keeps its name'); END;
CREATE TRIGGER IF NOT EXISTS ledger_remains BEFORE DELETE ON ledger
    BEGIN SELECT RAISE(ABORT, 'a log keeps its name'); END;
"""
_ALL = ("number", "time", *ENTRY_FIELDS, "previous", "digest")
_INSERT = f"INSERT INTO record ({', '.join(_ALL)}) VALUES ({', '.join('?' * len(_ALL))})"
_SELECT = f"SELECT {', '.join(_ALL)} FROM record WHERE number > ? ORDER BY number LIMIT ?"


def _line(record: Record) -> tuple[Any, ...]:
    entry = [getattr(record.entry, name) for name in ENTRY_FIELDS]
    return (record.number, record.time, *entry, record.previous, record.digest)
