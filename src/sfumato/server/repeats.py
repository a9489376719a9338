"""Questions that come again in the same words: answered without being read again.

What the bytes of a request say is the same each time: how it is framed, what it asks, of what, with
which token. What may have changed meanwhile is looked at each time: whom the token lets in, what
that one has left of its limits, which rows hold and what is remembered of them; and no answer
leaves before its record is on disk. Whatever is not the usual case, a refusal of any kind or an
answer that is not remembered, is left to the usual way, which reads the request.

The same holds for statements of SQL tools that were planned before.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sfumato.server import costs
from sfumato.server.access import Grant, chosen, secret_of
from sfumato.server.databases import State
from sfumato.server.errors import ApiError
from sfumato.server.http import Call, next_id
from sfumato.server.outcomes import Outcome, charge, entry_of, note, recalled, told
from sfumato.server.questions import Asked
from sfumato.server.service import Service
from sfumato.statdb.access.ledger_records import Record

RECEIPT = "X-Receipt"
LONGEST = 8_192  # bytes of a request that is known again
_OVERHEAD = 1_000


@dataclass(frozen=True, slots=True)
class Repeat:
    """What the bytes of a request say."""

    route: str
    method: str
    secret: str | None
    database: str | None
    asked: Asked


@dataclass(frozen=True, slots=True)
class Told:
    """An answer in JSON that may leave."""

    request_id: str
    receipt: str
    body: bytes


def learn(service: Service, call: Call, database: str | None, outcome: Outcome) -> None:
    """Know a request when it comes again; one whose answer was not remembered may never do."""
    if call.all_bytes is not None and outcome.cached:
        repeat = Repeat(call.route, call.method, secret_of(call), database, outcome.asked)
        service.repeats.put(call.all_bytes, repeat, 2 * len(call.all_bytes) + _OVERHEAD)


def repeated(
    service: Service, content: bytes, send: Callable[[Told], None], otherwise: Callable[[], None]
) -> bool:
    """Begin to answer a request that is known; False if it has to be read.

    Soon afterwards ``send`` is called with the answer, or ``otherwise`` if it may not leave: then
    the request has to be read after all, to find out what is to be said.
    """
    repeat = service.repeats.get(content)
    if repeat is None:
        return False
    try:
        grant = chosen(service.door.admitted(repeat.secret), repeat.route, repeat.database)
    except ApiError:
        return False
    state = grant.served.state

    def sent(request_id: str, outcome: Outcome) -> None:
        send(Told(request_id, outcome.receipt, told(request_id, state, outcome)))

    known = recalled(state, repeat.asked)
    return again(service, grant, state, known, (repeat.route, repeat.method), sent, otherwise)


def again(
    service: Service,
    grant: Grant,
    state: State,
    outcome: Outcome,
    way: tuple[str, str],
    send: Callable[[str, Outcome], None],
    otherwise: Callable[[], None],
) -> bool:
    """Begin to answer what may be remembered; False if it is not, or may not be asked now.

    ``way`` is the route and the method that it came by, for the log.
    """
    started, who = time.perf_counter(), grant.who
    if outcome.answered is None:
        return False
    request_id = next_id()

    def recorded(records: Sequence[Record], problem: ApiError | None) -> None:
        service.meter.leave(who)
        if problem is not None:
            otherwise()
            return
        note(service, grant, [outcome], records)
        send(request_id, outcome)
        seconds = time.perf_counter() - started
        service.metrics.request(way[0], 200, seconds)
        service.log.request(
            request_id=request_id, method=way[1], route=way[0], status=200,
            ms=round(1000 * seconds, 2), who=who,
        )  # fmt: skip

    try:
        service.meter.enter(who)
    except ApiError:
        return False
    try:
        service.meter.take(who, costs.of_reading(outcome.asked))
        entries = [entry_of(request_id, grant, state, outcome)]
        grant.served.ledger.submit(entries, recorded)
    except ApiError:
        service.meter.leave(who)
        return False
    charge(service, who, state, [outcome])
    return True
