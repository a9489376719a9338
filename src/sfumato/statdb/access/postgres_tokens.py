"""Tokens beside the ledger that several servers share.

A server never asks for them while somebody waits: it looks four times a second, in the background,
whether they have changed, and lets nobody in when it could not look for some seconds. An answer
needs no such look: the transaction that records it refuses tokens that were revoked (Ended).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sfumato.errors import StoreError
from sfumato.statdb.access.generations import owner_entry
from sfumato.statdb.access.owner_entries import generation_of
from sfumato.statdb.access.postgres_ledger import PostgresLedger
from sfumato.statdb.access.token_files import Pen
from sfumato.statdb.access.token_records import Known, known_of, line_of

_OLD = 5.0  # seconds


class SharedShelf:
    """The tokens of one database. If they are ``watched``, somebody else calls ``look``."""

    def __init__(self, ledger: PostgresLedger, *, watched: bool) -> None:
        """Look at them; the ledger is closed with them."""
        self._ledger = ledger
        self._watched = watched
        self._known: dict[str, Known] = {}
        self._version: int | None = None
        self._looked = 0.0
        self.look()

    def current(self) -> Mapping[str, Known]:
        """All tokens by id, the oldest first."""
        if not self._watched:
            self.look()
        self.require_in_place()
        return self._known

    def seen(self) -> Mapping[str, Known]:
        """Those that were read last."""
        return self._known

    def look(self) -> None:
        """Read them again if somebody has changed them."""
        now, version = time.monotonic(), self._ledger.standing().tokens
        if version != self._version:
            try:
                self._known = {line[0]: known_of(line) for line in self._ledger.tokens()}
            except (ValueError, TypeError) as error:
                raise StoreError(
                    f"the tokens in the ledger are damaged: {error}", path=self._ledger.folder
                ) from error
            self._version = version
        self._looked = now

    def interrupt(self, seconds: float) -> None:
        """End what has waited longer than that for PostgreSQL."""
        self._ledger.interrupt(seconds)

    @contextmanager
    def changing(self, done: str) -> Iterator[Pen]:
        """Change them; the ledger's record is of the same transaction."""
        pen = _SharedPen(self._ledger.database)
        yield pen
        generation = generation_of(self._ledger.folder)
        self._ledger.change_tokens(pen.statements, owner_entry("token", done, generation))
        self.look()

    def require_in_place(self) -> None:
        """Raise if nobody could look for some seconds."""
        if time.monotonic() - self._looked > _OLD:
            raise StoreError(
                "the tokens cannot be read: the ledger is out of reach", path=self._ledger.folder
            )

    def close(self) -> None:
        """Let go of the connection."""
        self._ledger.close()


class _SharedPen:
    def __init__(self, database: str) -> None:
        self._database = database
        self.statements: list[tuple[str, tuple[Any, ...]]] = []

    def insert(self, known: Known) -> None:
        values = (self._database, *line_of(known.token), known.digest)
        self.statements.append((_INSERT, values))

    def revoke(self, id: str, at: str) -> None:
        self.statements.append((_REVOKE, (at, self._database, id)))


_INSERT = "INSERT INTO sfumato.token VALUES (%s, %s, %s, %s, %s, %s, %s, %s)"
_REVOKE = (
    "UPDATE sfumato.token SET revoked = %s WHERE database = %s AND id = %s AND revoked IS NULL"
)
