"""A ledger and its tokens, moved from the folder to PostgreSQL: the same chain goes on there.

The records are checked and copied in one transaction. Then the folder notes where its ledger is,
and the files get other names, under which nothing takes them for a ledger. A move that was cut off
after the copy is finished by the next try.
"""

from __future__ import annotations

from pathlib import Path

from sfumato.errors import LedgerError, StoreError
from sfumato.statdb.access.ledger import Ledger
from sfumato.statdb.access.ledger_files import FILE, move_name
from sfumato.statdb.access.postgres_ledger import PostgresLedger
from sfumato.statdb.access.tokens import FILE as ACCESS
from sfumato.statdb.access.tokens import Tokens

_MOVED = ".moved"


def move_ledger(folder: str | Path, url: str) -> int:
    """Move it, while no server runs; tells how many records there are."""
    folder = Path(folder)
    if not (folder / FILE).exists():
        raise StoreError(f"{folder} has no {FILE} to move", path=folder)
    with Ledger.open(folder) as ledger, Tokens.open(folder) as tokens:
        checked = ledger.verify()
        if not checked.ok:
            raise LedgerError(
                f"the ledger of {folder} is wrong, and is not moved: {checked.problem}", path=folder
            )
        PostgresLedger.take_over(folder, url, ledger, tokens.lines())
        move_name(folder)
    for name in (FILE, ACCESS):
        (folder / name).rename(folder / f"{name}{_MOVED}")
    return checked.records
