"""Where the ledger and the tokens of a database are: in its folder, or in PostgreSQL."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from sfumato.statdb.access.books import KeptBook
from sfumato.statdb.access.ledger import Ledger
from sfumato.statdb.access.ledger_files import has_ledger, require_not_shared
from sfumato.statdb.access.tokens import Tokens


@dataclass(frozen=True, slots=True)
class Place:
    """A database's folder, and the URL of the ledger that several servers share, if it has one."""

    folder: Path
    url: str | None = None

    @classmethod
    def of(cls, folder: str | Path, url: str | None = None) -> Place:
        """From what a user says."""
        return cls(Path(folder), url or None)

    def ledger(self, *, read_only: bool = False, beside: bool = False) -> KeptBook:
        """Open the ledger; ``beside`` somebody who writes it, which in PostgreSQL all do."""
        if self.url is None:
            require_not_shared(self.folder)
            return Ledger.open(self.folder, read_only=read_only, beside=beside)
        from sfumato.statdb.access.postgres_ledger import PostgresLedger

        return PostgresLedger.open(self.folder, self.url, read_only=read_only)

    def ledger_if_any(self) -> AbstractContextManager[KeptBook | None]:
        """The ledger of a database that was ever served, to be written beside a server."""
        if self.url is None and not has_ledger(self.folder):
            return nullcontext()
        return self.ledger(beside=True)

    def tokens(self, *, watched: bool = False) -> Tokens:
        """Open the tokens; who keeps them open and ``watched`` has somebody look after them."""
        if self.url is None:
            require_not_shared(self.folder)
            return Tokens.open(self.folder)
        from sfumato.statdb.access.postgres_ledger import PostgresLedger
        from sfumato.statdb.access.postgres_tokens import SharedShelf

        ledger = PostgresLedger.open(self.folder, self.url)
        try:
            return Tokens(SharedShelf(ledger, watched=watched))
        except BaseException:
            ledger.close()
            raise


def database_name(folder: Path) -> str:
    """What a database is called: as its folder, without the ending."""
    return folder.resolve().name.removesuffix(".statdb")
