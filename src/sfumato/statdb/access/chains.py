"""The chain of records, followed from its beginning or from a head that is known.

Whatever keeps such a chain, in a file or in a database that several servers share, is a ``Book``:
checks, receipts and heads need nothing else of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from sfumato.errors import StoreError
from sfumato.statdb.access.ledger_records import Entry, Head, Record, flaw, referred


class Book(Protocol):
    """What holds a chain of records; appending returns when they are safe, all or none."""

    genesis: str

    def append(self, entries: Sequence[Entry]) -> list[Record]:
        """Continue the chain: its end is read in the transaction that does."""
        ...

    def records(self, first: int = 1) -> Iterator[Record]:
        """The records from a number on, in order."""
        ...

    def answer(self, entry: Entry) -> str | None:
        """The whole answer of an entry, also where it is kept beside the records."""
        ...

    def head(self) -> Head:
        """The number and the digest of the last record."""
        ...


@dataclass(frozen=True, slots=True)
class Verified:
    """Whether the chain is whole, how many records are, and what is wrong with the next."""

    ok: bool
    records: int
    problem: str = ""


@dataclass(slots=True)
class Chain:
    """How far a chain was followed, the first thing that is wrong, and what the clock did."""

    head: Head
    problem: str = ""
    turns: int = 0
    turned: int = 0

    @classmethod
    def begun(cls, ledger: Book, since: str | None) -> Chain:
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


def holds(ledger: Book, head: Head) -> bool:
    """Whether a head is, or was, the end of this ledger."""
    if head.number == 0:
        return head.digest == ledger.genesis
    record = next(ledger.records(head.number), None)
    return record is not None and record.receipt == head


def verified(ledger: Book, first: Head | None = None) -> Verified:
    """Compute a chain again, from a place on that is known, or from its beginning."""
    head = Head(0, ledger.genesis) if first is None else first
    seen: set[str] = set()
    try:
        for record in ledger.records(head.number + 1):
            problem = flaw(record, head)
            if problem:
                return Verified(False, head.number, problem)
            head = record.receipt
            name = referred(record.entry.answer)
            if name is not None and name not in seen:
                seen.add(name)
                ledger.answer(record.entry)
    except StoreError as error:
        return Verified(False, head.number, f"after record {head.number}: {error}")
    return Verified(True, head.number)
