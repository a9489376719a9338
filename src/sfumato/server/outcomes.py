"""From questions to recorded answers: the one way, whatever the protocol they came by.

``settled`` finds out what is said, ``recorded`` puts it into the ledger; nothing of it may be sent
before that.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sfumato.errors import QueryRefused
from sfumato.server import costs
from sfumato.server.access import Grant
from sfumato.server.answering import Answered, answer, read, remember, remembered
from sfumato.server.databases import State
from sfumato.server.errors import ApiError, internal, refused
from sfumato.server.http import to_json
from sfumato.server.questions import Asked, QueryTimeout, Question
from sfumato.server.service import Service
from sfumato.statdb.access.ledger_records import Entry, Record


@dataclass(slots=True, eq=False)
class Outcome:
    """What became of one question; an answer, or an error.

    ``cached`` is for the metrics alone: it would tell the asker what others have asked.
    """

    asked: Asked
    question: Question | None = None
    answered: Answered | None = None
    error: ApiError | None = None
    cached: bool = False
    receipt: str = ""
    notes: Sequence[str] = ()

    def require_answer(self) -> Answered:
        """The answer, or the error as it is to be told."""
        if self.error is not None:
            raise self.error
        assert self.answered is not None
        return self.answered


async def settled(
    service: Service, grant: Grant, state: State, questions: Sequence[Asked]
) -> list[Outcome]:
    """What there is to say to questions that were read for; their answers are paid here."""
    outcomes = [recalled(state, asked) for asked in questions]
    await _answer_all(service, grant.who, state, [one for one in outcomes if one.answered is None])
    charge(service, grant.who, state, outcomes)
    return outcomes


async def recorded(
    service: Service, grant: Grant, request_id: str, state: State, outcomes: Sequence[Outcome]
) -> None:
    """Append to the ledger; nothing may be sent before this returns."""
    if not outcomes:
        return
    entries = [entry_of(request_id, grant, state, one) for one in outcomes]
    note(service, grant, outcomes, await grant.served.ledger.append(entries))


def note(
    service: Service, grant: Grant, outcomes: Sequence[Outcome], records: Sequence[Record]
) -> None:
    """Give outcomes the receipts of their records, and count them."""
    questions, name = service.metrics.questions, grant.served.name
    for one, record in zip(outcomes, records, strict=True):
        one.receipt = str(record.receipt)
        became = one.error.code if one.error else "cached" if one.cached else "answered"
        questions[name, became] += 1


def told(request_id: str, state: State, outcome: Outcome) -> bytes:
    """The JSON of one answer that is recorded."""
    return b'{"request_id":"%s",%s,%s}' % (request_id.encode(), state.head, content(outcome))


def content(outcome: Outcome) -> bytes:
    """What is said of one question, without the braces."""
    assert outcome.answered is not None
    notes = b'"notes":%s,' % to_json(outcome.notes) if outcome.notes else b""
    return b'"receipt":"%s",%s%s' % (outcome.receipt.encode(), notes, outcome.answered.content)


def too_slow(service: Service) -> ApiError:
    """A question that took longer than it may."""
    return ApiError(
        "timeout",
        f"the question took longer than {service.limits.seconds:g} seconds",
        "ask for fewer groups, or try again when the server has less to do",
    )


def recalled(state: State, asked: Asked) -> Outcome:
    """What is remembered; an outcome without an answer if nothing is."""
    found = remembered(state, asked)
    if found is None:
        return Outcome(asked)
    answered, notes = found
    return Outcome(asked, answered=answered, cached=True, notes=notes)


def charge(service: Service, who: str, state: State, outcomes: Sequence[Outcome]) -> None:
    """Pay for what was found out by reading; remembered answers cost the same as others."""
    questions = [one.answered.question if one.answered else one.question for one in outcomes]
    known = [one for one in questions if one is not None]
    service.meter.charge(who, sum(costs.of_answering(one, state.rows) for one in known))


async def _answer_all(
    service: Service, who: str, state: State, outcomes: Sequence[Outcome]
) -> None:
    """Ask the responder, and fill in what it says; what takes too long becomes an error."""
    if not outcomes:
        return
    until = time.monotonic() + service.limits.seconds
    found: list[Outcome] = []

    def work() -> None:
        for outcome in outcomes:
            found.append(_answered(service, state, outcome.asked, until))

    try:
        async with asyncio.timeout(service.limits.seconds):
            await service.run_for(who, work)
    except TimeoutError:
        pass
    # a thread that was given up may still add to the list
    done = list(found)
    for place, outcome in enumerate(outcomes):
        if place >= len(done):
            outcome.error = too_slow(service)
            continue
        got = done[place]
        outcome.question, outcome.answered, outcome.error = got.question, got.answered, got.error
        if outcome.answered is not None:
            outcome.cached = got.cached
            outcome.notes = outcome.question.notes if outcome.question else ()
            remember(state, outcome.asked, outcome.answered, outcome.notes)


def _answered(service: Service, state: State, asked: Asked, until: float) -> Outcome:
    """One question in a thread of the pool."""
    outcome = Outcome(asked)
    try:
        if time.monotonic() > until:
            raise QueryTimeout
        outcome.question = read(state, asked, service.limits.groups)
        outcome.answered = state.answers.get(outcome.question.key)
        outcome.cached = outcome.answered is not None
        if outcome.answered is None:
            outcome.answered = answer(state, outcome.question, until)
    except QueryRefused as refusal:
        outcome.error = refused(refusal)
    except ApiError as error:
        outcome.error = error
    except QueryTimeout:
        outcome.error = too_slow(service)
    except Exception as error:
        service.log.failure("failure", error)
        outcome.error = internal()
    return outcome


def entry_of(request_id: str, grant: Grant, state: State, outcome: Outcome) -> Entry:
    """What is to be recorded of one question."""
    kind: Literal["answer", "refusal"] = "answer"
    question, said, kept = outcome.question, "", None
    if outcome.answered is not None:
        question, said = outcome.answered.question, outcome.answered.recorded
        kept = outcome.answered.kept
    elif outcome.error is not None:
        kind, said = "refusal", outcome.error.code
    return Entry(
        request_id=request_id,
        who=grant.who,
        role=grant.role,
        kind=kind,
        question=outcome.asked.text,
        canonical=None if question is None else question.sql,
        answer=said,
        generation=state.generation,
        kept=kept,
    )
