"""The records that receipts are for.

Only those who were sent the answer know the digest, so whoever names it may see the record. The
digest commits to all that the record says: who asked what, and the answer or its SHA-256.
"""

from __future__ import annotations

import hmac
from typing import Any

from sfumato.statdb.access.chains import Book
from sfumato.statdb.access.ledger_records import Head


def matching(ledger: Book, wanted: Head) -> dict[str, Any] | None:
    """The record of a receipt, its whole answer and the end of the chain; None if there is none."""
    told: dict[str, Any] = {"head": str(ledger.head())}
    if wanted.number == 0:
        return told if wanted.digest == ledger.genesis else None
    record = next(ledger.records(wanted.number), None)
    if record is None or not hmac.compare_digest(str(record.receipt), str(wanted)):
        return None
    told["record"] = record.to_dict()
    answer = ledger.answer(record.entry)
    return told if answer is None else {**told, "answer": answer}
