"""Records of a database's ledger, each chained to the one before.

A record's digest is SHA-256 of the record as JSON without the digest: keys sorted, no spaces, ASCII
only. The digest of the record before is part of it, and so is the record's number. The first record
names a digest of the ledger's own random number, so records of another ledger do not fit.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from sfumato.errors import ParameterError

LONGEST_QUESTION = 10_000  # letters
Kind: TypeAlias = Literal["answer", "refusal", "denied"]
_KINDS = get_args(Kind)
_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode  # ASCII by default


@dataclass(frozen=True, slots=True)
class Entry:
    """What there is to record of one question.

    ``who`` is the id of a token, or "local". ``question`` is as it was asked, cut off where it is
    very long; ``answer`` is the JSON of what was sent, or the code of the error. Letters that are
    none (half of a surrogate pair, which JSON can bring) are spelled out.
    """

    request_id: str
    who: str
    role: str
    kind: Kind
    question: str
    canonical: str | None
    answer: str | None
    generation: int

    def __post_init__(self) -> None:
        """Make it what the ledger can hold, so that it reads the same afterwards."""
        if self.kind not in _KINDS:
            raise ParameterError(
                f"kind must be one of {', '.join(_KINDS)}, not {self.kind!r}", parameter="kind"
            )
        if len(self.question) > LONGEST_QUESTION:
            object.__setattr__(self, "question", self.question[:LONGEST_QUESTION])
        for name in _TEXTS:
            text = getattr(self, name)
            if text is not None and not text.isascii():
                clean = text.encode("utf-8", "backslashreplace").decode()
                object.__setattr__(self, name, clean)


ENTRY_FIELDS = tuple(field.name for field in fields(Entry))
_TEXTS = tuple(name for name in ENTRY_FIELDS if name != "generation")


@dataclass(frozen=True, slots=True)
class Record:
    """An entry in its place in the chain; ``time`` is UTC, to the microsecond."""

    number: int
    time: str
    entry: Entry
    digest: str
    previous: str

    def to_dict(self) -> dict[str, Any]:
        """One flat object, as it is exported."""
        stated = _stated(self.number, self.time, self.entry, self.previous)
        return {**stated, "digest": self.digest}


class Head(NamedTuple):
    """The end of the chain: the last record's number and digest, 0 and the genesis without any."""

    number: int
    digest: str


def digest_of(stated: dict[str, Any]) -> str:
    """SHA-256 of an object."""
    return hashlib.sha256(_encode(stated).encode("ascii")).hexdigest()


def chained(entries: Sequence[Entry], head: Head) -> list[Record]:
    """The records that continue a chain, as of now."""
    time = datetime.now(UTC).isoformat(timespec="microseconds")
    records = []
    number, previous = head
    for entry in entries:
        number += 1
        digest = digest_of(_stated(number, time, entry, previous))
        records.append(Record(number, time, entry, digest, previous))
        previous = digest
    return records


def flaw(record: Record, head: Head) -> str:
    """How a record does not continue a chain that ends so; nothing if it does."""
    if record.number != head.number + 1:
        return f"record {head.number + 1} is missing"
    stated = _stated(record.number, record.time, record.entry, record.previous)
    if digest_of(stated) != record.digest:
        return f"record {record.number} was changed"
    if record.previous != head.digest:
        before = f"record {head.number}" if head.number else "the beginning of this ledger"
        return f"record {record.number} does not follow {before}: it is from elsewhere"
    return ""


def _stated(number: int, time: str, entry: Entry, previous: str) -> dict[str, Any]:
    """A record but for its digest."""
    stated: dict[str, Any] = {"number": number, "time": time}
    for name in ENTRY_FIELDS:
        stated[name] = getattr(entry, name)
    stated["previous"] = previous
    return stated
