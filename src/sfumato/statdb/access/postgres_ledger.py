"""The ledger of a database in PostgreSQL, which any number of servers append to.

    sfumato.ledger      one line a database: its name, the end of its chain, the generation that
                        holds (generations.py), and how often tokens were changed
    sfumato.record      the records, as in ledger.sqlite
    sfumato.answer      long answers, by their SHA-256
    sfumato.token       who may ask

Whoever appends locks the ledger's line first, so there is one end of the chain at a time; a server
that is killed meanwhile lets go of it. The tables refuse records that do not continue the chain,
and changes. As with the file: what only the owner of the tables could do, a digest that was noted
elsewhere shows.

The folder notes the ledger's name (``postgresql:<name>`` in ledger.name), and goes along with
copies of the folder: it is not served with another ledger, or with none.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from sfumato.errors import LedgerError, StoreError
from sfumato.statdb.access.books import COLUMNS, PAGE, KeptBook, line_of
from sfumato.statdb.access.generations import Ended, announcement, require_current
from sfumato.statdb.access.ledger import Ledger
from sfumato.statdb.access.ledger_files import (
    FORMAT,
    SHARED,
    VERSION,
    note_name,
    require_none_there,
    require_shared,
)
from sfumato.statdb.access.ledger_records import (
    Entry,
    Head,
    Record,
    chained,
    genesis_of,
    referred,
)
from sfumato.statdb.access.places import database_name
from sfumato.statdb.access.postgres import Connection, Link, require_url
from sfumato.statdb.access.postgres_tables import made_if_missing
from sfumato.statdb.access.sqlite_files import require_folder


class Standing(NamedTuple):
    """What a ledger says of its database: the rows that hold, and the tokens that there are."""

    generation: int | None
    tokens: int


class PostgresLedger(KeptBook):
    """The open ledger of a database, under the ``database``'s name."""

    def __init__(self, folder: Path, url: str, *, writes: bool) -> None:
        """Use ``open``."""
        self.folder = folder
        self._writes = writes
        self._last: Head | None = None  # that we have written
        self.database = database_name(folder)
        self._link = Link(url, folder, self._continues)

    @classmethod
    def open(cls, folder: str | Path, url: str, *, read_only: bool = False) -> PostgresLedger:
        """Open the ledger of a database; to write, it is made if there never was one."""
        folder = Path(folder)
        require_folder(folder)
        require_url(url, folder)
        require_shared(folder)
        found = cls(folder, url, writes=not read_only)
        try:
            found.genesis = found._begun(read_only=read_only)
        except BaseException:
            found.close()
            raise
        return found

    @classmethod
    def take_over(
        cls, folder: Path, url: str, ledger: Ledger, tokens: Sequence[tuple[Any, ...]]
    ) -> None:
        """Begin with all that a ledger in the folder holds, unless that was done before."""
        require_url(url, folder)
        found = cls(folder, url, writes=True)
        try:
            found._link.write(made_if_missing)
            known = found._find(read_only=False)
            if known is None:
                found._link.write(lambda connection: found._copy(connection, ledger, tokens))
            elif known != ledger.name or found.head() != ledger.head():
                raise LedgerError(
                    f"there is another ledger of a database called {found.database!r}; rename the "
                    "folder, or take another database of PostgreSQL",
                    path=folder,
                )
        finally:
            found.close()

    def append(self, entries: Sequence[Entry]) -> list[Record]:
        """Add entries at the end, all or none; they are on disk when this returns."""
        if not entries:
            return []
        asking = sorted({one.who for one in entries})

        def work(connection: Connection) -> list[Record]:
            end = connection.execute(_END, (self.database,))
            ended = connection.execute(_ENDED, (self.database, asking))
            head, time, generation = self._end_of(end.fetchone())
            require_current(entries, generation, self.folder)
            found = Ended([line[0] for line in ended.fetchall()], self.folder)
            if any(map(found.concerns, entries)):
                raise found
            return self._added(connection, entries, head, time)

        records = self._written(work)
        # a record about the clock is nobody's
        return records[len(records) - len(entries) :]

    def announced(self) -> int | None:
        """The generation of the rows that hold; None if none was ever announced."""
        return self.standing().generation

    def announce(self, generation: int) -> int:
        """Let later rows hold from now on, and record it; tells which do."""
        before = self.announced()
        if before is not None and before >= generation:
            return before

        def work(connection: Connection) -> list[Record]:
            head, time, before = self._end_of(connection.execute(_END, (self.database,)).fetchone())
            if before is not None and before >= generation:
                return []
            connection.execute(_ANNOUNCE, (generation, self.database))
            if before is None:
                return []
            return self._added(connection, [announcement(generation)], head, time)

        self._written(work)
        return self.announced() or generation

    def change_tokens(self, statements: Sequence[tuple[str, tuple[Any, ...]]], done: Entry) -> None:
        """Change tokens and record it, in one transaction."""

        def work(connection: Connection) -> list[Record]:
            head, time, _ = self._end_of(connection.execute(_END, (self.database,)).fetchone())
            for sql, values in statements:
                connection.execute(sql, values)
            connection.execute(_TOKENS_CHANGED, (self.database,))
            return self._added(connection, [done], head, time)

        self._written(work)

    def standing(self) -> Standing:
        """What it says of its database."""
        found = self._link.read(_STANDING, (self.database,))
        if not found:
            raise self._gone()
        return Standing(*found[0])

    def tokens(self) -> list[tuple[Any, ...]]:
        """The lines of all tokens."""
        return self._link.read(_TOKENS, (self.database,))

    def head(self) -> Head:
        """The number and the digest of the last record: note it elsewhere now and then."""
        found = self._link.read(_LAST, (self.database,))
        return Head(*found[0]) if found else Head(0, self.genesis)

    def require_in_place(self) -> None:
        """Nothing: a connection that is made anew is looked at then."""

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Hold off whoever else wants to change the rows of a copy, until the connection ends."""
        if not self._link.read(_TAKE, (self.database,))[0][0]:
            raise StoreError(
                f"the rows of {self.database} are being changed elsewhere; try again when that "
                "is done, on a copy of what comes of it",
                path=self.folder,
            )
        try:
            yield
        finally:
            with suppress(LedgerError):  # it has ended by itself then
                self._link.read(_LEAVE, (self.database,))

    def interrupt(self, seconds: float) -> None:
        """End what has waited longer than that for PostgreSQL."""
        self._link.interrupt(seconds)

    def can_write(self) -> bool:
        """Whether a record could be written, tried without one."""
        try:
            return bool(self._link.read(_WRITABLE)[0][0])
        except LedgerError:
            return False

    def has_room(self) -> bool:
        """Nobody can ask for that from here."""
        return True

    def close(self) -> None:
        """Let go of the connection."""
        self._link.close()

    @property
    def _path(self) -> Path:
        return self.folder

    def _begun(self, *, read_only: bool) -> str:
        """The digest of its name; one that there never was is begun."""
        if not read_only:
            self._link.write(made_if_missing)
        found = self._find(read_only=read_only)
        if found is None:
            if read_only:
                raise StoreError(
                    f"{self.folder} has no ledger there: nobody has asked through a server",
                    path=self.folder,
                )
            require_none_there(self.folder)
            name = secrets.token_hex(16)
            values = (self.database, FORMAT, VERSION, name, genesis_of(FORMAT, VERSION, name))
            self._link.write(lambda connection: connection.execute(_BEGIN, values))
            found = self._find(read_only=False)
        assert found is not None
        form, version, name = found
        if form != FORMAT or version not in range(1, VERSION + 1):
            raise StoreError(
                f"the ledger of {self.folder} has format {form!r} {version!r}; use the version "
                "of sfumato that wrote it, or a newer one",
                path=self.folder,
            )
        with suppress(OSError):  # a copy that is only read goes without
            note_name(self.folder, f"{SHARED}{name}")
        return genesis_of(form, version, name)

    def _copy(
        self, connection: Connection, ledger: Ledger, tokens: Sequence[tuple[Any, ...]]
    ) -> None:
        connection.execute(_BEGIN, (self.database, *ledger.name, ledger.genesis))
        connection.execute(_ANNOUNCE, (ledger.announced(), self.database))
        kept: set[str] = set()
        records = ledger.records()
        while page := list(islice(records, PAGE)):
            entries = [one.entry for one in page]
            names = {referred(one.answer) for one in entries} - kept - {None}
            texts = {referred(one.answer): ledger.answer(one) for one in entries}
            kept.update(map(str, names))
            self._keep(connection, {str(name): str(texts[name]) for name in names})
            self._put(connection, page)
        for line in tokens:
            connection.execute(_TOKEN, (self.database, *line))

    def _find(self, *, read_only: bool) -> tuple[Any, ...] | None:
        if read_only and not self._link.read("SELECT to_regclass('sfumato.ledger')")[0][0]:
            return None
        found = self._link.read(_FIND, (self.database,))
        return found[0] if found else None

    def _written(self, work: Callable[[Connection], list[Record]]) -> list[Record]:
        if not self._writes:
            raise LedgerError(
                f"the ledger of {self.folder} is not open to be written", path=self.folder
            )
        records = self._link.write(work)
        if records:
            self._last = records[-1].receipt
        return records

    def _added(
        self, connection: Connection, entries: Sequence[Entry], head: Head, time: str
    ) -> list[Record]:
        records = chained(entries, head, time)
        kept = {str(referred(one.answer)): one.kept for one in entries if one.kept is not None}
        self._keep(connection, kept)
        self._put(connection, records)
        return records

    def _keep(self, connection: Connection, answers: Mapping[str, str]) -> None:
        if answers:
            values = (self.database, list(answers), list(answers.values()))
            connection.execute(_KEEP, values)

    def _put(self, connection: Connection, records: Sequence[Record]) -> None:
        columns = zip(*map(line_of, records), strict=True)
        connection.execute(_INSERT, (self.database, *map(list, columns)))
        last = records[-1]
        connection.execute(_MOVE, (last.number, last.digest, last.time, self.database))

    def _continues(self, connection: Connection) -> None:
        """Refuse a server that has lost what was answered, as a replica that came too late."""
        if self._last is None:
            return
        found = connection.execute(_DIGEST, (self.database, self._last.number)).fetchone()
        if found is None or found[0] != self._last.digest:
            raise LedgerError(
                f"the ledger of {self.folder} has lost records that were answered: the last one "
                f"known is {self._last}; go on with a copy that has it",
                path=self.folder,
            )

    def _end_of(self, line: tuple[Any, ...] | None) -> tuple[Head, str, int | None]:
        if line is None:
            raise self._gone()
        number, digest, time, generation = line
        return Head(number, digest), time, generation

    def _gone(self) -> LedgerError:
        return LedgerError(f"the ledger of {self.folder} was removed", path=self.folder)

    def _lines(self, after: int) -> list[tuple[Any, ...]]:
        return self._link.read(_SELECT, (self.database, after, PAGE))

    def _kept(self, name: str) -> str | None:
        found = self._link.read(_ANSWER, (self.database, name))
        return str(found[0][0]) if found else None


_NAMES = ", ".join(f'"{name}"' for name in COLUMNS)
_TYPES = {"number": "bigint", "generation": "bigint"}
_ARRAYS = ", ".join(f"%s::{_TYPES.get(name, 'text')}[]" for name in COLUMNS)
_FIND = "SELECT format, version, name FROM sfumato.ledger WHERE database = %s"
_BEGIN = (
    "INSERT INTO sfumato.ledger (database, format, version, name, digest) "
    "VALUES (%s, %s, %s, %s, %s) ON CONFLICT DO NOTHING"
)
_END = "SELECT number, digest, time, generation FROM sfumato.ledger WHERE database = %s FOR UPDATE"
_MOVE = "UPDATE sfumato.ledger SET number = %s, digest = %s, time = %s WHERE database = %s"
_STANDING = "SELECT generation, tokens FROM sfumato.ledger WHERE database = %s"
_ANNOUNCE = "UPDATE sfumato.ledger SET generation = %s WHERE database = %s"
_INSERT = (
    f"INSERT INTO sfumato.record (database, {_NAMES}) "
    f"SELECT %s, * FROM unnest({_ARRAYS}) AS line ({_NAMES}) ORDER BY line.number"
)
_KEEP = (
    "INSERT INTO sfumato.answer (database, sha256, text) "
    "SELECT %s, * FROM unnest(%s::text[], %s::text[]) ON CONFLICT DO NOTHING"
)
_SELECT = (
    f"SELECT {_NAMES} FROM sfumato.record WHERE database = %s AND number > %s "
    "ORDER BY number LIMIT %s"
)
_LAST = "SELECT number, digest FROM sfumato.record WHERE database = %s ORDER BY number DESC LIMIT 1"
_DIGEST = "SELECT digest FROM sfumato.record WHERE database = %s AND number = %s"
_ANSWER = "SELECT text FROM sfumato.answer WHERE database = %s AND sha256 = %s"
_TAKE = "SELECT pg_try_advisory_lock(hashtextextended('sfumato ' || %s, 0))"
_LEAVE = "SELECT pg_advisory_unlock(hashtextextended('sfumato ' || %s, 0))"
_TOKENS = (
    "SELECT id, name, role, created, expires, revoked, digest FROM sfumato.token "
    "WHERE database = %s ORDER BY created, id"
)
_TOKEN = "INSERT INTO sfumato.token VALUES (%s, %s, %s, %s, %s, %s, %s, %s)"
_TOKENS_CHANGED = "UPDATE sfumato.ledger SET tokens = tokens + 1 WHERE database = %s"
_ENDED = "SELECT id FROM sfumato.token WHERE database = %s AND revoked IS NOT NULL AND id = ANY(%s)"
_WRITABLE = (
    "SELECT NOT pg_is_in_recovery() AND has_table_privilege('sfumato.record', 'INSERT') "
    "AND current_setting('default_transaction_read_only') = 'off'"
)
