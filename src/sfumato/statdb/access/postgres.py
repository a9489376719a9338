"""A connection to the PostgreSQL database that several servers share, made anew when it is lost.

What is written is on disk when a transaction has ended: a server that does not promise that is
refused. Every wait has an end, also for a network that swallows what is sent.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from sfumato.errors import LedgerError, MissingExtra, StoreError
from sfumato.io.databases import reason_of, shown_source

if TYPE_CHECKING:
    import psycopg

Result = TypeVar("Result")
Connection: TypeAlias = "psycopg.Connection[tuple[Any, ...]]"

# seconds and milliseconds; what the URL says comes first
_WAITS = {
    "connect_timeout": 5,
    "tcp_user_timeout": 8_000,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 2,
    "application_name": "sfumato",
}
_SESSION = """
SELECT set_config('lock_timeout', '5s', false),
    set_config('statement_timeout', '8s', false),
    set_config('idle_in_transaction_session_timeout', '5s', false),
    set_config('synchronous_commit',
        CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on'
            ELSE current_setting('synchronous_commit') END, false),
    current_setting('fsync'), current_setting('server_encoding')
"""


class Link:
    """One connection. Any thread may use it, one at a time.

    ``known`` looks at every new connection before it is used, and may raise.
    """

    def __init__(
        self, url: str, folder: Path, known: Callable[[Connection], None] = lambda _: None
    ) -> None:
        self._url = url
        self._folder = folder
        self._known = known
        self._turn = threading.Lock()
        self._connection: Connection | None = None
        self._since: float | None = None
        self._interrupted = False

    def read(self, sql: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        """All lines of an answer."""
        return self._tried(lambda connection: connection.execute(sql, values).fetchall())

    def write(self, work: Callable[[Connection], Result]) -> Result:
        """Do something in one transaction, which is on disk afterwards, or never was.

        If the connection is lost at the very end nobody knows which, so it is not tried again.
        """
        ended = False

        def run(connection: Connection) -> Result:
            nonlocal ended
            ended = False
            # several statements travel together: the end of the chain is held for two ways only
            with connection.pipeline(), connection.transaction():
                result = work(connection)
                ended = True
            return result

        return self._tried(run, lambda: not ended)

    def interrupt(self, seconds: float) -> None:
        """End what has waited longer than that; any other thread may say so.

        A server that hangs keeps its connections open, and no limit of its own ends anything.
        """
        connection, since = self._connection, self._since
        if connection is None or since is None or time.monotonic() - since < seconds:
            return
        self._interrupted = True
        with suppress(Exception), socket.socket(fileno=os.dup(connection.fileno())) as end:
            end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Let go of it."""
        with self._turn:
            self._drop()

    def _tried(
        self, work: Callable[[Connection], Result], again: Callable[[], bool] = lambda: True
    ) -> Result:
        """Do it, a second time if what was at hand turns out to be lost."""
        with self._turn, self._explained():
            was_open = self._connection is not None
            self._since, self._interrupted = time.monotonic(), False
            try:
                return work(self._ready())
            except Exception:
                lost = self._connection is not None and self._connection.closed
                if lost:
                    self._drop()
                if not (lost and was_open and again()) or self._interrupted:
                    raise
                self._since = time.monotonic()
                return work(self._ready())
            finally:
                self._since = None

    def _ready(self) -> Connection:
        if self._connection is None:
            connection = self._connected()
            try:
                self._known(connection)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _connected(self) -> Connection:
        psycopg = driver()
        stated = psycopg.conninfo.conninfo_to_dict(self._url)
        connection = psycopg.connect(
            **{**_WAITS, **stated}, autocommit=True, client_encoding="utf-8"
        )
        try:
            *_, synced, encoding = connection.execute(_SESSION).fetchone()
            if synced != "on" or encoding != "UTF8":
                raise LedgerError(
                    f"{shown_source(self._url)} cannot keep a ledger: it must have fsync = on, "
                    f"not {synced}, and the encoding UTF8, not {encoding}",
                    path=self._folder,
                )
        except BaseException:
            connection.close()
            raise
        return connection  # type: ignore[no-any-return]

    def _drop(self) -> None:
        if self._connection is not None:
            with suppress(Exception):
                self._connection.close()
            self._connection = None

    @contextmanager
    def _explained(self) -> Iterator[None]:
        psycopg = driver()
        try:
            yield
        except psycopg.Error as error:
            # the driver's own words can quote the URL, and with it the password
            told = error.diag.message_primary or reason_of(error) or "the connection failed"
            raise LedgerError(
                f"the ledger at {shown_source(self._url)}: {told}", path=self._folder
            ) from error


def driver() -> Any:
    """The library that speaks with PostgreSQL."""
    try:
        import psycopg
    except ImportError as error:
        raise MissingExtra("a ledger in PostgreSQL", "postgres") from error
    return psycopg


def require_url(url: str, folder: Path) -> None:
    """Raise unless a ledger can be at such an address."""
    if not url.startswith(("postgresql://", "postgres://")):
        raise StoreError(
            f"a ledger is in PostgreSQL or in the folder: postgresql://user@host/database, not "
            f"{shown_source(url)[:100]}",
            path=folder,
        )
