"""Where tokens are kept, behind a protocol that a file and a shared database both follow."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

from sfumato.errors import StoreError
from sfumato.statdb.access.owner_entries import note
from sfumato.statdb.access.sqlite_files import Opened, explained, open_private, require_folder
from sfumato.statdb.access.token_records import Known, known_of, line_of

FILE = "access.sqlite"
_PERIOD = (
    1.0  # seconds between looks whether the file is still there: they cost as much as the rest
)


class Pen(Protocol):
    """What may be written in one change."""

    def insert(self, known: Known) -> None:
        """A new token."""
        ...

    def revoke(self, id: str, at: str) -> None:
        """The end of a token, if it has none yet."""
        ...


class Shelf(Protocol):
    """What holds tokens. Any thread may use it; all errors are StoreErrors."""

    def current(self) -> Mapping[str, Known]:
        """All tokens by id, the oldest first."""
        ...

    def seen(self) -> Mapping[str, Known]:
        """Those that were read last, also when they cannot be read again."""
        ...

    def look(self) -> None:
        """Find out what others have written, where that takes long; never in an event loop."""
        ...

    def interrupt(self, seconds: float) -> None:
        """End what has waited longer than that."""
        ...

    def changing(self, done: str) -> AbstractContextManager[Pen]:
        """Change them; what is ``done`` stands in the ledger before it holds."""
        ...

    def require_in_place(self) -> None:
        """Raise unless what is read is what the owner changes."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


class FileShelf:
    """Tokens in a file beside the store.

    It keeps what it has read, and asks SQLite each time whether somebody has written since.
    """

    def __init__(self, opened: Opened) -> None:
        """Use ``open``."""
        self._opened = opened
        self._turn = threading.Lock()
        self._seen: int | None = None
        self._looked = 0.0
        self._known: dict[str, Known] = {}

    @classmethod
    def open(cls, folder: str | Path) -> FileShelf:
        """Open the file of a database; it is made if it is missing."""
        require_folder(Path(folder))
        path = Path(folder) / FILE
        try:
            opened = cls(open_private(path, _SCRIPT))
            opened.current()
            return opened
        except (sqlite3.Error, OSError) as error:
            raise StoreError(explained(path, error), path=path) from error

    def current(self) -> Mapping[str, Known]:
        """All tokens by id, read again if somebody has written meanwhile."""
        opened = self._opened
        with self._turn:
            try:
                self._look()
                (version,) = opened.one("PRAGMA data_version")
                if version != self._seen:
                    lines = opened.many("SELECT * FROM token ORDER BY created, id")
                    self._known = {line[0]: known_of(line) for line in lines}
                    self._seen = version
            except (sqlite3.Error, ValueError, TypeError) as error:
                raise _failure(opened.path, error) from error
            return self._known

    def seen(self) -> Mapping[str, Known]:
        """Those that were read last, also when the file is gone."""
        return self._known

    def look(self) -> None:
        """Nothing: a look at the file is short, and taken when somebody asks."""

    def interrupt(self, seconds: float) -> None:
        """Nothing: a file does not keep one waiting."""

    @contextmanager
    def changing(self, done: str) -> Iterator[Pen]:
        """Change the file; that stands in the ledger before it holds."""
        opened = self._opened
        with self._turn:
            self._seen = None  # one's own changes are none to SQLite
            try:
                opened.require_in_place()
                opened.connection.execute("BEGIN IMMEDIATE")
                yield _FilePen(opened.connection)
                note(opened.path.parent, "token", done)
                opened.connection.execute("COMMIT")
            except BaseException as error:
                opened.roll_back()
                if isinstance(error, sqlite3.Error):
                    raise _failure(opened.path, error) from error
                raise

    def require_in_place(self) -> None:
        """Raise unless the file that is read is still that of the folder."""
        self._opened.require_in_place()

    def close(self) -> None:
        """Let go of the file."""
        with self._turn:
            self._opened.connection.close()

    def _look(self) -> None:
        now = time.monotonic()
        if now - self._looked > _PERIOD:
            self._opened.require_in_place()
            self._looked = now


class _FilePen:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._execute = connection.execute

    def insert(self, known: Known) -> None:
        values = (*line_of(known.token), known.digest)
        self._execute("INSERT INTO token VALUES (?, ?, ?, ?, ?, ?, ?)", values)

    def revoke(self, id: str, at: str) -> None:
        self._execute("UPDATE token SET revoked = ? WHERE id = ? AND revoked IS NULL", (at, id))


_SCRIPT = """
CREATE TABLE IF NOT EXISTS token (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, role TEXT NOT NULL, created TEXT NOT NULL,
    expires TEXT, revoked TEXT, digest BLOB NOT NULL
);
"""


def _failure(path: Path, error: Exception) -> StoreError:
    if isinstance(error, sqlite3.Error):
        return StoreError(explained(path, error), path=path)
    return StoreError(f"{path} is damaged: {error}", path=path)
