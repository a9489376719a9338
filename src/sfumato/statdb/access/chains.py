"""The chain of records, followed from its beginning or from a head that is known."""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.statdb.access.ledger import Ledger
from sfumato.statdb.access.ledger_records import Head, Record, flaw


@dataclass(slots=True)
class Chain:
    """How far a chain was followed, the first thing that is wrong, and what the clock did."""

    head: Head
    problem: str = ""
    turns: int = 0
    turned: int = 0

    @classmethod
    def begun(cls, ledger: Ledger, since: str | None) -> Chain:
        """At the beginning of a ledger, or at a head of it."""
        if since is None:
            return cls(Head(0, ledger.genesis))
        head = Head.of(since)
        return cls(head, "" if holds(ledger, head) else f"record {head.number} is another one")

    def follow(self, record: Record) -> None:
        """Take the next record; after a flaw, only its number and digest."""
        if not self.problem:
            self.problem = flaw(record, self.head)
        if record.entry.kind == "clock":
            self.turns += 1
            self.turned = record.number
        self.head = record.receipt

    def broken(self, why: str) -> None:
        """The records could not be read to their end."""
        self.problem = self.problem or why


def holds(ledger: Ledger, head: Head) -> bool:
    """Whether a head is, or was, the end of this ledger."""
    if head.number == 0:
        return head.digest == ledger.genesis
    record = next(ledger.records(head.number), None)
    return record is not None and record.receipt == head
