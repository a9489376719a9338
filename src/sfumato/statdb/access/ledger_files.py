"""The files of a ledger: what must be there, who may write, and that a lost one is noticed.

A ledger that is gone must not be begun anew in silence: everything that was asked would be
forgotten. So its name is noted in a file beside it, and a ledger without a name, or a name without
its ledger, is told apart from a database that nobody ever asked.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from contextlib import suppress
from pathlib import Path

from sfumato.errors import LedgerError, StoreError
from sfumato.io.folders import flush_entry
from sfumato.io.locks import Busy, take_lock
from sfumato.statdb.access.sqlite_files import explained

FILE = "ledger.sqlite"
NAME = "ledger.name"
LOCK = "ledger.lock"
FORMAT = "sfumato-ledger"
SHARED = "postgresql:"  # begins the name of a ledger that is not a file of the folder
VERSION = 2  # 1 had no answers beside the records; such a ledger goes on

_PROBE = bytes(2**16)
_ROOM = 2**20  # bytes; with less, the next commits will fail
_DAMAGES = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def has_ledger(folder: Path) -> bool:
    """Whether there is a ledger, or was one."""
    return (folder / FILE).exists() or (folder / NAME).exists()


def note_name(folder: Path, name: str) -> None:
    """Note beside the ledger that there is one, and which; another one is refused."""
    path, known = folder / NAME, _named(folder)
    if known is not None:
        if known != name:
            raise StoreError(
                f"the ledger of {folder} is another one than before; put back the one that is "
                f"missing, from a backup, or remove {path} if you mean to go on with this one",
                path=folder,
            )
        return
    _write_name(folder, name)


def move_name(folder: Path) -> None:
    """Note that the ledger is not a file of the folder any more."""
    name = _named(folder)
    if name is not None and not name.startswith(SHARED):
        _write_name(folder, f"{SHARED}{name}")


def require_none_before(folder: Path) -> None:
    """Raise if a ledger is missing: a new one would hide what was asked before."""
    require_not_shared(folder)
    if _named(folder) is not None:
        raise StoreError(
            f"the ledger of {folder} is missing: {FILE} was there before; put it back, from a "
            f"backup, or remove {folder / NAME} to begin a new one, which knows nothing of what "
            "was asked",
            path=folder,
        )


def require_not_shared(folder: Path) -> None:
    """Raise if the ledger is elsewhere: another one in the folder would know half of it."""
    if (_named(folder) or "").startswith(SHARED):
        raise StoreError(
            f"the ledger of {folder} is in PostgreSQL; say where: --ledger "
            "postgresql://user@host/database, or SFUMATO_LEDGER",
            path=folder,
        )


def require_none_there(folder: Path) -> None:
    """Raise if a ledger that servers share is missing where it should be."""
    if _named(folder) is not None:
        raise StoreError(
            f"the ledger of {folder} is not there, and was before: look whether --ledger names "
            f"the right database; remove {folder / NAME} to begin a new one, which knows nothing "
            "of what was asked",
            path=folder,
        )


def require_shared(folder: Path) -> None:
    """Raise if the ledger is a file: what was asked before would be forgotten elsewhere."""
    if (folder / FILE).exists():
        raise StoreError(
            f"the ledger of {folder} is its file {FILE}; move it to PostgreSQL first: sfumato "
            f"statdb log move {folder} --ledger URL",
            path=folder,
        )


def _write_name(folder: Path, name: str) -> None:
    path = folder / NAME
    fresh = path.with_name(f".{NAME}.{os.getpid()}")
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
        file.write(f"{name}\n")
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
    flush_entry(folder)


def _named(folder: Path) -> str | None:
    try:
        return (folder / NAME).read_text("ascii", "replace").strip()
    except (FileNotFoundError, NotADirectoryError):
        return None


def let_go(lock: int | None) -> None:
    """Let somebody else have it."""
    if lock is not None:
        os.close(lock)


def locked(folder: Path) -> int:
    """The lock of the one that writes; it goes with the process, however that ends."""
    try:
        return take_lock(folder / LOCK)
    except Busy as error:
        raise StoreError(
            f"the ledger of {folder} is being written by another process, such as a server: ask "
            "that server, or stop it first; what was asked can be read meanwhile (sfumato statdb "
            "log)",
            path=folder,
        ) from error
    except OSError as error:
        raise failure(folder / LOCK, error) from error


def can_write(folder: Path) -> bool:
    """Whether a file can be written and flushed there."""
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".probe-") as file:
            file.write(_PROBE)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        return False
    return True


def has_room(folder: Path) -> bool:
    """Whether there is room for some commits."""
    try:
        return shutil.disk_usage(folder).free >= _ROOM
    except OSError:
        return False


def remove(path: Path) -> None:
    """Remove a ledger that could not be begun, as on a full disk; call it with the lock."""
    for name in (path, Path(f"{path}-wal"), Path(f"{path}-shm")):
        with suppress(OSError):
            name.unlink(missing_ok=True)


def failure(path: Path, error: sqlite3.Error | OSError) -> StoreError:
    """What an error of SQLite or of the system means for a ledger."""
    if getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGES:
        return StoreError(explained(path, error), path=path)
    return LedgerError(f"cannot write the ledger: {explained(path, error)}", path=path)


# Guards against mistakes, not against the owner of the file, who can remove them.
SCRIPT = f"""
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
CREATE TABLE IF NOT EXISTS announced (generation INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS answer (sha256 TEXT PRIMARY KEY, text TEXT NOT NULL);
CREATE TRIGGER IF NOT EXISTS answer_stays BEFORE UPDATE ON answer
    BEGIN SELECT RAISE(ABORT, 'answers are never changed'); END;
CREATE TRIGGER IF NOT EXISTS answer_remains BEFORE DELETE ON answer
    BEGIN SELECT RAISE(ABORT, 'answers are never removed'); END;
CREATE TRIGGER IF NOT EXISTS ledger_stays BEFORE UPDATE ON ledger
    BEGIN SELECT RAISE(ABORT, 'a log keeps its name'); END;
CREATE TRIGGER IF NOT EXISTS ledger_remains BEFORE DELETE ON ledger
    BEGIN SELECT RAISE(ABORT, 'a log keeps its name'); END;
"""
