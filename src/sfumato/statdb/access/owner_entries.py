"""What the owner does, in the ledger: tokens made and revoked, rows changed.

Commands write such entries themselves, beside a server that may be running.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from sfumato.errors import StoreError
from sfumato.statdb.access.ledger import Ledger
from sfumato.statdb.access.ledger_files import has_ledger
from sfumato.statdb.access.ledger_records import Entry, Kind
from sfumato.statdb.store.header import read_header

OWNER = "owner"


def owner_entry(kind: Kind, done: str, generation: int) -> Entry:
    """Something that the owner did, in words that hold no name and no row."""
    return Entry("-", OWNER, OWNER, kind, done, None, None, generation)


def note(folder: Path, kind: Kind, done: str) -> None:
    """Record something; if that cannot be, it must not be done either."""
    with Ledger.open(folder, beside=True) as ledger:
        ledger.append([owner_entry(kind, done, _generation(folder))])


def ledger_if_any(folder: Path) -> AbstractContextManager[Ledger | None]:
    """The ledger of a database that was ever served; opened first, so that it surely can be."""
    return Ledger.open(folder, beside=True) if has_ledger(folder) else nullcontext()


def _generation(folder: Path) -> int:
    """That of the store; 0 if it is damaged, since tokens can be revoked all the same."""
    try:
        return int(read_header(folder)["generation"])
    except (StoreError, KeyError, ValueError):
        return 0
