"""SQLite files beside a database's store: for their owner only, and on disk when they say so.

The ledger and the tokens are such files. Write-ahead logging lets others read while one writes; a
commit returns when its pages are on disk (synchronous = FULL). SQLite gives the files that it keeps
beside one (-wal, -shm) the rights of the file itself.

A file that is removed or replaced while it is open would go on being written to, and be gone with
the process, so ``Opened.require_in_place`` looks. What must not be done is to open and close such a
file by other means in the same process: POSIX then drops the locks that SQLite holds on it.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from sfumato.errors import StoreError
from sfumato.io.folders import flush_entry
from sfumato.io.paths import usable
from sfumato.statdb.store import HEADER

_WAIT = 10.0  # seconds for somebody else's transaction, which takes milliseconds
_OWNER = stat.S_IRUSR | stat.S_IWUSR
_REMEDIES = {
    sqlite3.SQLITE_FULL: "free some space",
    sqlite3.SQLITE_IOERR: "free some space, raise the limit on file sizes, or look after the disk",
    sqlite3.SQLITE_READONLY: "it must be on a disk that can be written to",
    sqlite3.SQLITE_CANTOPEN: "its folder must be on a disk that can be written to",
    sqlite3.SQLITE_BUSY: "another process is changing it; try again",
    sqlite3.SQLITE_CORRUPT: "it is damaged; keep it, and go on from a backup",
    sqlite3.SQLITE_NOTADB: "it is damaged, or no such file; keep it, and go on from a backup",
}


class Opened(NamedTuple):
    """A connection, and the files that it is to."""

    path: Path
    connection: sqlite3.Connection
    files: dict[str, tuple[int, int]]

    def require_in_place(self) -> None:
        """Raise unless what is written still goes to files that somebody will find."""
        for name, known in self.files.items():
            if _identity(name) != known:
                raise StoreError(
                    f"{name} was removed or replaced while in use; start the program again",
                    path=self.path,
                )

    def many(self, sql: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        """All lines of an answer."""
        return self.connection.execute(sql, values).fetchall()

    def one(self, sql: str, values: tuple[Any, ...] = ()) -> tuple[Any, ...]:
        """The first line of an answer."""
        found: tuple[Any, ...] = self.connection.execute(sql, values).fetchone()
        return found

    def roll_back(self) -> None:
        """Leave a transaction that failed, if it was begun."""
        with suppress(sqlite3.Error):
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")


def require_folder(folder: Path) -> None:
    """Raise unless this is a database's folder, and its owner's only."""
    try:
        mode = stat.S_IMODE(usable(folder, StoreError).stat().st_mode)
        found = (folder / HEADER).is_file()
    except FileNotFoundError as error:
        raise StoreError(f"{folder} is not a statistical database", path=folder) from error
    except OSError as error:
        raise StoreError(f"{folder} cannot be opened: {error.strerror}", path=folder) from error
    if not found:
        raise StoreError(f"{folder} is not a statistical database", path=folder)
    if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise StoreError(
            f"{folder} can be opened by others than its owner: chmod 700 {folder}", path=folder
        )


def open_private(path: Path, script: str) -> Opened:
    """Open a file to read and write; one that is not there is made by the script.

    Any thread may use the connection, one at a time. The script runs each time, as a transaction.
    """
    _make_private(path)
    connection = _connect(path, "rw")
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.executescript(f"BEGIN IMMEDIATE; {script} COMMIT;")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except BaseException:
        connection.close()
        raise
    names = (str(path), f"{path}-wal")
    return Opened(path, connection, {name: _identity(name) for name in names})


def open_to_read(path: Path) -> Opened:
    """Open a file that is there; a folder that cannot be written to will do."""
    for mode in ("ro", "ro&immutable=1"):
        connection = _connect(path, mode)
        try:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.OperationalError:
            connection.close()
            wal = Path(f"{path}-wal")
            if mode != "ro" or (wal.exists() and wal.stat().st_size):
                raise
        except BaseException:
            connection.close()
            raise
        else:
            return Opened(path, connection, {})
    raise AssertionError  # the second mode returns or raises


def explained(path: Path, error: sqlite3.Error | OSError) -> str:
    """What went wrong with a file, and what would help."""
    if isinstance(error, OSError):
        return f"{path}: {error.strerror}"
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the rest tells where in SQLite
    remedy = _REMEDIES.get(code)
    return f"{path}: {error}" + (f"; {remedy}" if remedy else "")


def _make_private(path: Path) -> None:
    """An empty file for its owner only, unless there is one, which then becomes so."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, _OWNER))
    except FileExistsError:
        for name in (path, Path(f"{path}-wal"), Path(f"{path}-shm")):
            with suppress(FileNotFoundError):
                if stat.S_IMODE(name.stat().st_mode) & ~_OWNER:
                    name.chmod(_OWNER)
    else:
        flush_entry(path.parent)


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(
        f"{path.resolve().as_uri()}?mode={mode}",
        uri=True,
        timeout=_WAIT,
        isolation_level=None,  # transactions begin where they say so
        check_same_thread=False,
    )


def _identity(name: str) -> tuple[int, int]:
    try:
        found = os.stat(name)  # noqa: PTH116 - a Path costs as much again
    except FileNotFoundError:
        return (0, 0)
    return found.st_dev, found.st_ino
