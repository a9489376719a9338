"""Check a database's ledger against its store, independently of the server that wrote it.

    1. the chain of digests is whole, and a digest that was noted elsewhere is in it
    2. no record is of a later state than the store's
    3. one question has one answer, as long as no rows were changed
    4. the store gives every recorded answer of its present state again, to the question in its
       canonical form and to the question as it was asked
    5. of some of these, the versions are made and looked at, see version_checks: they are m-unique,
       keep every row's signature and show the very intervals that were answered

Together: all answers are those of one m-invariant set of versions. What cannot be seen from here:
records that were cut off at the end, unless a later digest was noted; answers of earlier states,
which the store no longer holds, beyond 3.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sfumato.audits.report.text import plural
from sfumato.core.query import Query
from sfumato.core.randomness import Randomness
from sfumato.errors import PromiseBroken, StoreError
from sfumato.statdb.access.asking_again import Asked
from sfumato.statdb.access.books import KeptBook
from sfumato.statdb.access.chains import Chain
from sfumato.statdb.access.ledger_answers import (
    DAMAGES,
    hashed,
    print_of_recorded,
    query_of,
)
from sfumato.statdb.access.ledger_records import LONGEST_QUESTION, Head, Record
from sfumato.statdb.access.near_checks import NearGround
from sfumato.statdb.access.places import Place
from sfumato.statdb.access.version_checks import (
    Ground,
    count_flaw,
    ground_of,
    narrowed,
    version_flaw,
)
from sfumato.statdb.database import StatDB

_SHOWN = 5  # problems of one kind that are told in full
_GROUPS = 3  # groups of a GROUP BY whose versions are made


@dataclass(frozen=True, slots=True)
class Statement:
    """Something that must hold of a ledger, and whether it does."""

    statement: str
    kept: bool
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """All that was checked of a ledger; ``notes`` say what could not be.

    ``not_checked`` counts the answers of earlier generations, which the store no longer holds.
    """

    path: Path
    records: int
    head: Head
    statements: tuple[Statement, ...]
    notes: tuple[str, ...]
    not_checked: int = 0

    @property
    def ok(self) -> bool:
        """Whether everything holds."""
        return all(one.kept for one in self.statements)

    def require(self) -> Check:
        """Raise PromiseBroken unless everything holds."""
        broken = [one for one in self.statements if not one.kept]
        if broken:
            raise PromiseBroken(
                f"the ledger of {self.path} is wrong: "
                + "; ".join(f"not so: {one.statement}: {one.detail}" for one in broken),
                failures=broken,
            )
        return self

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return {
            "path": str(self.path),
            "ok": self.ok,
            "records": self.records,
            "head": str(self.head),
            "checks": [
                {"statement": one.statement, "kept": one.kept, "detail": one.detail}
                for one in self.statements
            ],
            "not_checked": self.not_checked,
            "notes": list(self.notes),
        }

    def lines(self) -> Iterator[str]:
        """For people."""
        yield f"{self.path}: {self.records:,} records, head {self.head}"
        for one in self.statements:
            yield f"  {'kept  ' if one.kept else 'BROKEN'} {one.statement}"
            if one.detail:
                yield f"         {one.detail}"
        yield from self.notes


def check_log(
    folder: str | Path,
    *,
    head: str | None = None,
    since: str | None = None,
    versions: int = 20,
    seed: int | None = None,
    ledger: str | None = None,
) -> Check:
    """Check the ledger of a database; it may be in use meanwhile.

    ``head`` is a head or digest that was noted earlier, and must be in the chain. ``since`` is the
    head of an earlier check: only what came later is read. The versions of so many questions are
    made, of random ones if there are more. ``ledger`` is the URL of one that servers share.
    """
    with Place.of(folder, ledger).ledger(read_only=True) as book:
        end = book.head()
        # opened after the end is known: no record up to there can be of a later state
        database = StatDB.open(folder)
        noted = None if head is None else _digest_of(head)
        reading = _Reading(database, noted, Chain.begun(book, since), found=noted == end.digest)
        unread = reading.read(book, end)
        statements = (
            *reading.statements(),
            _versions(reading, versions, seed),
        )
    notes = [*reading.notes(), *([unread] if unread else [])]
    if since is not None:
        notes.append(f"Records up to {Head.of(since).number:,} were not read again.")
    elif head is None:
        notes.append(
            "Whether records were cut off at the end cannot be seen from here: note the head "
            "elsewhere now and then, and give it at the next check."
        )
    return Check(Path(folder), end.number, end, statements, tuple(notes), reading.earlier)


def _digest_of(head: str) -> str:
    """The digest of a head, which may stand alone."""
    return head.strip().rpartition("-")[2].lower()


@dataclass(slots=True)
class _Problems:
    """What is wrong, as far as anybody wants to read it."""

    texts: list[str] = field(default_factory=list)
    more: int = 0

    def add(self, text: str) -> None:
        if len(self.texts) < _SHOWN:
            self.texts.append(text)
        else:
            self.more += 1

    def statement(self, said: str) -> Statement:
        texts = [*self.texts, *([f"and {self.more:,} more"] if self.more else [])]
        return Statement(said, not texts, "; ".join(texts))


@dataclass(slots=True, eq=False)
class _Reading:
    """What one pass over the records finds."""

    database: StatDB
    noted: str | None
    chain: Chain
    found: bool
    asked: Asked = field(init=False)
    first: dict[tuple[int, bytes], tuple[int, bytes]] = field(default_factory=dict)
    seen: set[bytes] = field(default_factory=set)
    questions: dict[str, int] = field(default_factory=dict)
    later: _Problems = field(default_factory=_Problems)
    twofold: _Problems = field(default_factory=_Problems)
    other: _Problems = field(default_factory=_Problems)
    answers: int = 0
    earlier: int = 0
    unread: int = 0

    def __post_init__(self) -> None:
        self.asked = Asked(self.database.responder)
        self.found = self.found or self.noted == self.chain.head.digest

    def read(self, ledger: KeptBook, end: Head) -> str:
        """Read up to an end; why that was not possible, if it was not."""
        try:
            for record in ledger.records(self.chain.head.number + 1):
                if record.number > end.number:
                    break
                self.chain.follow(record)
                self._take(ledger, record)
        except StoreError as error:
            self.chain.broken(f"after record {self.chain.head.number}: {error}")
            return f"Not all records could be read: {error}"
        return ""

    def statements(self) -> Iterator[Statement]:
        now, chain = self.database.generation, self.chain
        yield Statement("the chain of records is whole", not chain.problem, chain.problem)
        if self.noted is not None:
            lost = "" if self.found else "it is in no record: some were cut off, or all made anew"
            yield Statement("the digest that was noted is in the chain", self.found, lost)
        yield from (
            self.later.statement(f"no record is of a later state than the store's ({now})"),
            self.twofold.statement("one question has one answer, until rows change"),
            self.other.statement(
                f"the store gives every answer of its present state ({now}) again "
                f"({len(self.questions):,} different questions)"
            ),
        )

    def notes(self) -> Iterator[str]:
        if self.earlier:
            yield (
                f"not checked against the store: {self.earlier:,} answers of earlier generations, "
                f"of {self.answers:,}. It no longer holds those rows: these answers were compared "
                "with each other only."
            )
        if self.chain.turns:
            yield (
                f"the clock went back {self.chain.turns:,} times, the last before record "
                f"{self.chain.turned:,}: times of records do not tell what came first there."
            )
        if self.unread:
            yield f"{self.unread:,} questions could not be read again, so not be asked again."

    def _take(self, ledger: KeptBook, record: Record) -> None:
        self.found = self.found or record.digest == self.noted
        entry, now = record.entry, self.database.generation
        if entry.generation > now:
            self.later.add(f"record {record.number} is of state {entry.generation}")
        if entry.kind != "answer":
            return
        self.answers += 1
        self.earlier += entry.generation < now
        asked = entry.canonical or entry.question
        same = hashed(f"{entry.generation}\0{asked}\0{entry.question}\0{entry.answer}")
        if same in self.seen:
            return  # the same question was answered alike, and that was looked at
        self.seen.add(same)
        try:
            told = print_of_recorded(ledger.answer(entry) or "")
        except DAMAGES:
            self.other.add(f"record {record.number} has an answer that is none")
            return
        number, before = self.first.setdefault(
            (entry.generation, hashed(asked)), (record.number, told)
        )
        if before != told:
            self.twofold.add(f"records {number} and {record.number} answer one question otherwise")
        if entry.generation == now:
            self._ask_again(record, asked, told)

    def _ask_again(self, record: Record, asked: str, told: bytes) -> None:
        texts = [asked]
        if len(record.entry.question) < LONGEST_QUESTION and record.entry.question != asked:
            texts.append(record.entry.question)
        found = [self.asked.print_of(text) for text in texts]
        if any(one is not None and one != told for one in found):
            self.other.add(f"record {record.number} has another answer than the store's")
        if found[0] is not None:
            self.questions.setdefault(asked, record.number)
        elif not any(found):
            self.unread += 1


def _versions(reading: _Reading, most: int, seed: int | None) -> Statement:
    """Make the versions of some of the questions."""
    problems, randomness, made = _Problems(), Randomness(seed), 0
    questions = list(reading.questions.items())
    ground = ground_of(reading.database)
    drawn = randomness.permutation(len(questions))[: max(0, most)].tolist()
    for place in drawn:
        text, number = questions[place]
        for problem in _flaws(ground, query_of(text), randomness):
            made += 1
            if problem:
                problems.add(f"record {number}: {problem}")
    return problems.statement(
        f"versions are {reading.database.responder.m}-unique, keep every signature and show what "
        f"was answered ({plural(made, 'version')} made again, of {len(drawn):,} of "
        f"{plural(len(questions), 'question')})"
    )


def _flaws(ground: Ground | NearGround, query: Query, randomness: Randomness) -> Iterator[str]:
    """For every version that is made for a question, what is wrong with it."""
    result = ground.database.query(query)
    for place in randomness.permutation(len(result))[:_GROUPS].tolist():
        for aggregate, answer in zip(query.select, result.answers[place], strict=True):
            asked = narrowed(query, result.by, result.keys[place], aggregate)
            if aggregate.function == "count":
                yield count_flaw(ground, asked, answer.lo, answer.hi)
            else:
                yield version_flaw(ground, ground.database.version(asked))
