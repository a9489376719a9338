"""Where records are kept: what the file and the tables that several servers share have in common.

Checks, receipts and heads see a ``Book`` (chains.py). A ``KeptBook`` can be read page by page,
knows which rows hold (generations.py), and is written to.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from operator import attrgetter
from pathlib import Path
from typing import Any, Self

from sfumato.errors import StoreError
from sfumato.statdb.access.chains import Verified, verified
from sfumato.statdb.access.ledger_records import (
    ENTRY_FIELDS,
    Entry,
    Head,
    Record,
    referred,
    sha256_of,
)

COLUMNS = ("number", "time", *ENTRY_FIELDS, "previous", "digest")
PAGE = 500  # records read at a time: writers wait for a reader of the same process this long


class KeptBook(ABC):
    """A chain of records, with long answers beside it. Any thread may use it; close it."""

    genesis: str

    @abstractmethod
    def append(self, entries: Sequence[Entry]) -> list[Record]:
        """Add entries at the end, all or none; they are on disk when this returns."""

    @abstractmethod
    def announced(self) -> int | None:
        """The generation of the rows that hold; None if none was ever announced."""

    @abstractmethod
    def announce(self, generation: int) -> int:
        """Let later rows hold from now on, and record it; tells which do."""

    @abstractmethod
    def head(self) -> Head:
        """The number and the digest of the last record: note it elsewhere now and then."""

    @abstractmethod
    def require_in_place(self) -> None:
        """Raise unless what is written is still where others will find it."""

    @abstractmethod
    def can_write(self) -> bool:
        """Whether a record could be written, tried without one."""

    @abstractmethod
    def has_room(self) -> bool:
        """Whether the next records will fit."""

    def changing(self) -> AbstractContextManager[None]:
        """Hold off whoever else wants to change the rows of a copy."""
        return nullcontext()  # of one folder there is one, and it has a lock of its own

    def interrupt(self, seconds: float) -> None:  # noqa: B027 - a file does not keep one waiting
        """End what has waited longer than that."""

    @abstractmethod
    def close(self) -> None:
        """Let go of it."""

    def records(self, first: int = 1) -> Iterator[Record]:
        """The records from a number on, in order; those that are added meanwhile come, too."""
        after = max(first, 1) - 1
        while lines := self._lines(after):
            yield from map(self._record, lines)
            after = lines[-1][0]

    def answer(self, entry: Entry) -> str | None:
        """The whole answer of an entry that was read."""
        name = referred(entry.answer)
        if name is None:
            return entry.answer
        text = self._kept(name)
        if text is None or sha256_of(text) != name:
            raise StoreError(
                f"{self._path} is damaged: an answer was changed or is missing", path=self._path
            )
        return text

    def verify(self) -> Verified:
        """Compute the chain again."""
        return verified(self)

    def __len__(self) -> int:
        """How many records there are."""
        return self.head().number

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    @abstractmethod
    def _path(self) -> Path:
        """What errors name."""

    @abstractmethod
    def _lines(self, after: int) -> list[tuple[Any, ...]]:
        """The next page of lines."""

    @abstractmethod
    def _kept(self, name: str) -> str | None:
        """A long answer, by its SHA-256."""

    def _record(self, line: tuple[Any, ...]) -> Record:
        number, time, *entry, previous, digest = line
        try:
            if not all(map(isinstance, line, _TYPES)):
                raise TypeError("a column of another type")  # SQLite keeps what it is given
            return Record(number, time, Entry(*entry), digest, previous)
        except (TypeError, ValueError, AttributeError) as error:
            raise StoreError(
                f"{self._path} is damaged: record {number} is none", path=self._path
            ) from error


def line_of(record: Record) -> tuple[Any, ...]:
    """A record as a line of ``COLUMNS``."""
    entry = _FIELDS(record.entry)
    return (record.number, record.time, *entry, record.previous, record.digest)


_OPTIONAL = ("canonical", "answer")
_TYPES = tuple(
    int if name in ("number", "generation") else str | None if name in _OPTIONAL else str
    for name in COLUMNS
)
_FIELDS = attrgetter(*ENTRY_FIELDS)
