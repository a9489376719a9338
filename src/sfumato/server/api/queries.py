"""POST and GET /v1/query, POST /v1/explain."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any, cast, get_args

from sfumato.errors import QueryRefused
from sfumato.server import costs
from sfumato.server.access import Grant, chosen
from sfumato.server.answering import MEDIA, Form, explain
from sfumato.server.errors import ApiError, invalid, refused
from sfumato.server.http import Call, Reply, to_json
from sfumato.server.outcomes import Outcome, content, recorded, settled, told, too_slow
from sfumato.server.questions import Asked, asked_of
from sfumato.server.repeats import RECEIPT, learn
from sfumato.server.service import Service


async def query(service: Service, call: Call, grants: Sequence[Grant]) -> Reply:
    """A question, or many, in the body."""
    parameters = call.parameters("database", "format")
    body = read_body(call, await call.body(service.limits))
    named = _named(parameters, body)
    grant = chosen(grants, call.route, named)
    if "queries" in body:
        return await _batch(service, call, grant, body, parameters)
    form = _form(call, parameters)
    return await _single(service, call, grant, asked_of(body), form, named)


async def ask(service: Service, call: Call, grants: Sequence[Grant]) -> Reply:
    """A question in the address."""
    parameters = call.parameters("database", "format", "sql")
    named = parameters.get("database")
    grant = chosen(grants, call.route, named)
    form = _form(call, parameters)
    if "sql" not in parameters:
        raise invalid("there is no question", "/v1/query?sql=SELECT+COUNT(*)+FROM+t is one")
    return await _single(service, call, grant, Asked(parameters["sql"], is_sql=True), form, named)


async def explained(service: Service, call: Call, grants: Sequence[Grant]) -> Reply:
    """What would be answered; neither rows nor the ledger are touched."""
    parameters = call.parameters("database")
    body = read_body(call, await call.body(service.limits))
    grant = chosen(grants, call.route, _named(parameters, body))
    asked = asked_of(body)
    service.meter.take(grant.who, costs.of_reading(asked))
    state = grant.served.state
    try:
        async with asyncio.timeout(service.limits.seconds):
            stated = await service.run_for(
                grant.who, lambda: explain(state, asked, service.limits.groups)
            )
    except QueryRefused as refusal:
        raise refused(refusal) from None
    except TimeoutError:
        raise too_slow(service) from None
    return Reply.of({"request_id": call.request_id, "database": grant.served.name, **stated})


async def _single(
    service: Service, call: Call, grant: Grant, asked: Asked, form: Form, named: str | None
) -> Reply:
    service.meter.take(grant.who, costs.of_reading(asked))
    state = grant.served.state
    (outcome,) = await settled(service, grant, state, [asked])
    table = b""
    if form != "json" and (answered := outcome.answered) is not None:
        # made before the ledger says that it was sent
        table = await service.run(lambda: answered.table(form))
    await recorded(service, grant, call.request_id, state, [outcome])
    outcome.require_answer()
    receipt = outcome.receipt
    if form != "json":
        return Reply(table, MEDIA[form], headers=((RECEIPT, receipt),))
    learn(service, call, named, outcome)
    return Reply(told(call.request_id, state, outcome), headers=((RECEIPT, receipt),))


async def _batch(
    service: Service,
    call: Call,
    grant: Grant,
    body: dict[str, Any],
    parameters: dict[str, str],
) -> Reply:
    if _form(call, parameters) != "json":
        raise invalid("many answers come as JSON only", "ask one by one for CSV or Arrow")
    questions = _many(service, body)
    service.meter.take(grant.who, sum(map(costs.of_reading, questions)))
    state = grant.served.state
    outcomes = await settled(service, grant, state, questions)
    await recorded(service, grant, call.request_id, state, outcomes)
    results = b",".join(_result(one, call.request_id) for one in outcomes)
    return Reply(
        b'{"request_id":"%s",%s,"results":[%s]}' % (call.request_id.encode(), state.head, results)
    )


def _result(outcome: Outcome, request_id: str) -> bytes:
    if outcome.answered is None:
        assert outcome.error is not None
        return to_json({"error": outcome.error.stated(request_id)})
    return b"{%s}" % content(outcome)


def read_body(call: Call, raw: bytes) -> dict[str, Any]:
    """The JSON object of a body."""
    media = call.headers.get(b"content-type", b"application/json")
    if media.split(b";")[0].strip().lower() != b"application/json":
        raise ApiError(
            "unsupported_media_type",
            "the body is not said to be JSON",
            "send Content-Type: application/json",
        )
    try:
        body = _DECODER.decode(raw.decode())
    except (ValueError, RecursionError):
        raise invalid("the body is not JSON", 'send {"sql": "SELECT COUNT(*) FROM t"}') from None
    if not isinstance(body, dict):
        raise invalid("the body is not an object", 'send {"sql": "SELECT COUNT(*) FROM t"}')
    return body


def _no_constant(name: str) -> Any:
    raise ValueError(name)


_DECODER = json.JSONDecoder(parse_constant=_no_constant)


def _named(parameters: dict[str, str], body: dict[str, Any]) -> str | None:
    """The database that is named, which is taken out of the body."""
    stated = body.pop("database", None)
    if stated is not None and not isinstance(stated, str):
        raise invalid("the name of the database is a text", "GET /v1/databases lists them")
    named = parameters.get("database")
    if named is not None and stated is not None and named != stated:
        raise invalid("two databases are named", "name one, in the body or in the address")
    return stated if named is None else named


def _many(service: Service, body: dict[str, Any]) -> list[Asked]:
    found = body["queries"]
    if body.keys() != {"queries"} or not isinstance(found, list):
        raise invalid(
            "a batch is an object with queries (a list)",
            '{"queries": [{"sql": "SELECT COUNT(*) FROM t"}]}',
        )
    if len(found) > service.limits.batch:
        raise invalid(
            f"a batch has at most {service.limits.batch:,} questions", "split it into several"
        )
    return [asked_of(one) for one in found]


def _form(call: Call, parameters: dict[str, str]) -> Form:
    stated = parameters.get("format")
    if stated is None:
        accepted = call.headers.get(b"accept", b"")
        forms: tuple[Form, ...] = ("arrow", "csv")
        media = {form: MEDIA[form].partition(";")[0].encode() for form in forms}
        return next((form for form in forms if media[form] in accepted), "json")
    if stated not in get_args(Form):
        raise invalid("there is no such format", f"known are: {', '.join(get_args(Form))}")
    return cast(Form, stated)
