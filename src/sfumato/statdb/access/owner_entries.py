"""What the owner does, in the ledger: tokens made and revoked, rows changed.

Commands write such entries themselves, beside a server that may be running.
"""

from __future__ import annotations

from pathlib import Path

from sfumato.errors import StoreError
from sfumato.statdb.access.generations import owner_entry
from sfumato.statdb.access.ledger import Ledger
from sfumato.statdb.access.ledger_records import Kind
from sfumato.statdb.store.header import read_header


def note(folder: Path, kind: Kind, done: str) -> None:
    """Record something; if that cannot be, it must not be done either."""
    with Ledger.open(folder, beside=True) as ledger:
        ledger.append([owner_entry(kind, done, generation_of(folder))])


def generation_of(folder: Path) -> int:
    """That of the store; 0 if it is damaged, since tokens can be revoked all the same."""
    try:
        return int(read_header(folder)["generation"])
    except (StoreError, KeyError, ValueError):
        return 0
