"""Records of a database's ledger, each chained to the one before.

A record's digest is SHA-256 of the record as JSON without the digest: keys sorted, no spaces, ASCII
only. The digest of the record before is part of it, and so is the record's number. The first record
names a digest of the ledger's own random number, so records of another ledger do not fit.

A long answer is kept beside the records, once, and every record of it names its SHA-256:

    "answer": "{\\"sha256\\":\\"9f86d0...\\"}"

so that asking again costs as much room as a short answer. First and later records look alike: none
tells whether somebody has asked before.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from json.encoder import encode_basestring_ascii as _quoted
from typing import Any, Literal, TypeAlias, get_args

from sfumato.core.receipts import Head, digest_of, reference_to, referred, sha256_of
from sfumato.errors import ParameterError

__all__ = [
    "ENTRY_FIELDS",
    "LONGEST_ANSWER",
    "LONGEST_QUESTION",
    "Entry",
    "Head",
    "Kind",
    "Record",
    "chained",
    "clean",
    "digest_of",
    "flaw",
    "genesis_of",
    "reference_to",
    "referred",
    "sha256_of",
]

LONGEST_QUESTION = 10_000  # letters
LONGEST_ANSWER = 300  # letters that stand in a record itself
# what was asked; what the owner did; what the clock did
Kind: TypeAlias = Literal["answer", "refusal", "denied", "start", "stop", "token", "apply", "clock"]
_KINDS = frozenset(get_args(Kind))


@dataclass(frozen=True, slots=True)
class Entry:
    """What there is to record: of one question, or of something that the owner did.

    ``who`` is the id of a token, or "local". ``question`` is as it was asked, cut off where it is
    very long; ``answer`` is the JSON of what was sent, or the code of the error. Letters that are
    none (half of a surrogate pair, which JSON can bring, or a zero) are spelled out. Where an
    answer is long ``answer`` refers to it, and the text is ``kept``.
    """

    request_id: str
    who: str
    role: str
    kind: Kind
    question: str
    canonical: str | None
    answer: str | None
    generation: int
    kept: str | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Make it what the ledger can hold, so that it reads the same afterwards."""
        if self.kind not in _KINDS:
            raise ParameterError(
                f"kind must be one of {', '.join(get_args(Kind))}, not {self.kind!r}",
                parameter="kind",
            )
        if len(self.question) > LONGEST_QUESTION:
            object.__setattr__(self, "question", self.question[:LONGEST_QUESTION])
        for name in _TEXTS:
            text = getattr(self, name)
            if text is not None and (not text.isascii() or "\0" in text):
                object.__setattr__(self, name, clean(text))
        if self.answer is not None and len(self.answer) > LONGEST_ANSWER:
            object.__setattr__(self, "kept", self.answer)
            object.__setattr__(self, "answer", reference_to(self.answer))


ENTRY_FIELDS = tuple(one.name for one in fields(Entry) if one.name != "kept")
_TEXTS = tuple(name for name in ENTRY_FIELDS if name != "generation")


@dataclass(frozen=True, slots=True)
class Record:
    """An entry in its place in the chain; ``time`` is UTC, to the microsecond."""

    number: int
    time: str
    entry: Entry
    digest: str
    previous: str

    @property
    def receipt(self) -> Head:
        """What its receiver keeps to find it again."""
        return Head(self.number, self.digest)

    def to_dict(self) -> dict[str, Any]:
        """One flat object, as it is exported."""
        stated: dict[str, Any] = {"number": self.number, "time": self.time}
        for name in ENTRY_FIELDS:
            stated[name] = getattr(self.entry, name)
        return {**stated, "previous": self.previous, "digest": self.digest}


def genesis_of(form: str, version: int, name: str) -> str:
    """What the first record names as the one before: a digest of what its ledger is called."""
    return digest_of({"format": form, "version": version, "name": name})


def clean(text: str) -> str:
    """A text with halves of letters spelled out, and zeros, which PostgreSQL cannot hold."""
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")


def chained(entries: Sequence[Entry], head: Head, last: str = "") -> list[Record]:
    """The records that continue a chain, as of now; ``last`` is the time of its last record.

    If the clock shows an earlier time than that, a record of its own says so first.
    """
    time = datetime.now(UTC).isoformat(timespec="microseconds")
    if entries and time < last:
        entries = [_turned_back(last, entries[0].generation), *entries]
    records = []
    number, previous = head
    for entry in entries:
        number += 1
        digest = _digest(number, time, entry, previous)
        records.append(Record(number, time, entry, digest, previous))
        previous = digest
    return records


def flaw(record: Record, head: Head) -> str:
    """How a record does not continue a chain that ends so; nothing if it does."""
    if record.number != head.number + 1:
        return f"record {head.number + 1} is missing"
    if _digest(record.number, record.time, record.entry, record.previous) != record.digest:
        return f"record {record.number} was changed"
    if record.previous != head.digest:
        before = f"record {head.number}" if head.number else "the beginning of this ledger"
        return f"record {record.number} does not follow {before}: it is from elsewhere"
    return ""


def _turned_back(last: str, generation: int) -> Entry:
    question = f"the clock went back: the record before is of {last}"
    return Entry("-", "-", "-", "clock", question, None, None, generation)


def _digest(number: int, time: str, entry: Entry, previous: str) -> str:
    """``digest_of`` a record, several times as fast: a check makes a million of them."""
    text = (
        f'{{"answer":{_text(entry.answer)},"canonical":{_text(entry.canonical)},'
        f'"generation":{entry.generation:d},"kind":{_quoted(entry.kind)},'
        f'"number":{number:d},"previous":{_quoted(previous)},'
        f'"question":{_quoted(entry.question)},"request_id":{_quoted(entry.request_id)},'
        f'"role":{_quoted(entry.role)},"time":{_quoted(time)},"who":{_quoted(entry.who)}}}'
    )
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _text(text: str | None) -> str:
    return "null" if text is None else _quoted(text)
