"""Which rows are answered from: the ledger says so, and no answer passes it otherwise.

Any number of servers may answer from one folder, or from copies of it: the files of a generation
never change. What makes them one is the ledger.

    1. ``apply`` makes the next generation in a folder, and then announces it: in one transaction
       the ledger's generation becomes that one, and a record says so.
    2. Whoever appends the record of an answer holds the end of the chain, and compares the
       generation that was answered from with the announced one. If they differ, nothing is
       appended, so nothing leaves; the server opens the new files and asks them instead.

Appends and announcements come one after the other, whatever the number of servers, so the chain is
cut in two: all answers before the announcement are of the old rows, all after it of the new. A
question that is asked after the announcement has its record after it. So at no time do two servers
give answers of different generations, and whoever has seen the new rows is never shown the old ones
again, whichever server is asked. No clock takes part. A lease would need one, and a server that was
stopped for longer than its lease would send what it has at hand when it goes on; here it finds that
it cannot append. What was recorded just before the announcement may arrive just after it: the
numbers of receipts tell the order.

A server whose files are older than what was announced, such as a copy that has not come yet,
answers nothing until they are there. One whose files are newer announces them: ``apply`` was killed
between 1. and 2., or is about to. Until then everybody answers from the old rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.errors import StoreError
from sfumato.statdb.access.ledger_records import Entry, Kind

if TYPE_CHECKING:
    from sfumato.statdb.access.books import KeptBook

ASKED = frozenset({"answer", "refusal", "denied"})  # kinds of records that are about questions
OWNER = "owner"


class NotAppended(StoreError):
    """Some of the entries must not be answered, so none was appended."""

    def concerns(self, entry: Entry) -> bool:
        """Whether this entry is one of those."""
        raise NotImplementedError


class Superseded(NotAppended):
    """Other rows hold than those that were asked; ``generation`` is theirs."""

    def __init__(self, generation: int, path: Path) -> None:
        super().__init__(f"the rows of {path} are those of generation {generation}", path=path)
        self.generation = generation

    def concerns(self, entry: Entry) -> bool:
        """Whether an entry is of other rows."""
        return entry.kind in ASKED and entry.generation != self.generation


class Ended(NotAppended):
    """Tokens that were revoked while somebody was asking with them, by their ``ids``."""

    def __init__(self, ids: Collection[str], path: Path) -> None:
        super().__init__(f"tokens of {path} were revoked: {', '.join(sorted(ids))}", path=path)
        self.ids = frozenset(ids)

    def concerns(self, entry: Entry) -> bool:
        """Whether an entry is of such a token."""
        return entry.kind in ASKED and entry.who in self.ids


def require_current(entries: Iterable[Entry], generation: int | None, path: Path) -> None:
    """Refuse entries of other rows than those that were announced, if any were."""
    if generation is None:
        return
    found = Superseded(generation, path)
    if any(map(found.concerns, entries)):
        raise found


def require_latest(book: KeptBook, generation: int, path: Path) -> None:
    """Refuse to change rows that no longer hold, as those of an old copy; they become known."""
    announced = book.announce(generation)
    if announced > generation:
        raise StoreError(
            f"{path} is outdated: its rows are those of generation {generation}, and the ledger "
            f"says that {announced} holds; copy the folder that was changed",
            path=path,
        )


def owner_entry(kind: Kind, done: str, generation: int) -> Entry:
    """Something that the owner did, in words that hold no name and no row."""
    return Entry("-", OWNER, OWNER, kind, done, None, None, generation)


def announcement(generation: int) -> Entry:
    """The record that other rows hold from here on."""
    return owner_entry("apply", f"rows changed: generation {generation}", generation)
