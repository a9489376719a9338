"""What the server tells about itself: databases, schema, ledger, tokens, health."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, TypeVar

import pyarrow as pa

from sfumato.core.answer import plain
from sfumato.core.attribute import Attribute, Kind
from sfumato.core.moments import python_values
from sfumato.core.words import Words
from sfumato.errors import ParameterError, StoreError
from sfumato.server.access import ALLOWED, Grant, chosen
from sfumato.server.databases import State
from sfumato.server.errors import ApiError, invalid
from sfumato.server.http import Call, Reply
from sfumato.server.sentences import long_guarantee, short_guarantee
from sfumato.server.service import Service
from sfumato.statdb.access.books import KeptBook
from sfumato.statdb.access.ledger_records import Head, Record, referred
from sfumato.statdb.access.receipts import matching

Result = TypeVar("Result")

_MOST_VALUES = 1_000
_MOST_RECORDS = 1_000


async def databases(service: Service, call: Call, grants: Sequence[Grant]) -> Reply:
    """Those that the request may use."""
    call.parameters()
    service.meter.take(grants[0].who, 1)
    return Reply.of({
        "databases": [
            {
                "name": grant.served.name,
                "rows": grant.served.state.rows,
                "m": grant.served.state.responder.m,
                "generation": grant.served.state.generation,
            }
            for grant in grants
        ]
    })  # fmt: skip


async def schema(service: Service, call: Call, grants: Sequence[Grant]) -> Reply:
    """The public domains of a database, and its guarantee in words."""
    grant = chosen(grants, call.route, call.parameters("database").get("database"))
    service.meter.take(grant.who, 1)
    state = grant.served.state
    return Reply.of(await service.run(lambda: schema_of(state)))


async def ledger(service: Service, call: Call, grants: Sequence[Grant]) -> Reply:
    """Records of the ledger, from a number on."""
    parameters = call.parameters("database", "first", "limit")
    grant = chosen(grants, call.route, parameters.get("database"))
    service.meter.take(grant.who, 1)
    first = _number(parameters, "first", 1, 2**62)
    limit = _number(parameters, "limit", 100, _MOST_RECORDS)

    def read(ledger: KeptBook) -> dict[str, Any]:
        records: list[Record] = list(islice(ledger.records(first), limit))
        answers = {
            name: ledger.answer(one.entry)
            for one in records
            if (name := referred(one.entry.answer)) is not None
        }
        stated = [one.to_dict() for one in records]
        return {"records": stated, "total": len(ledger), "answers": answers}

    return Reply.of(await _read_ledger(service, call, grant, read))


async def receipt(service: Service, call: Call, grants: Sequence[Grant]) -> Reply:
    """The record that a receipt is for, which nobody else can name."""
    parameters = call.parameters("database", "receipt")
    grant = chosen(grants, call.route, parameters.get("database"))
    service.meter.take(grant.who, 1)
    try:
        wanted = Head.of(parameters.get("receipt", ""))
    except ParameterError as error:
        raise invalid(str(error), "it stands in the answer as receipt") from None
    found = await _read_ledger(service, call, grant, lambda ledger: matching(ledger, wanted))
    if found is None or "record" not in found:
        raise ApiError(
            "not_found",
            "the ledger has no such record",
            "look whether the receipt is whole, and of this database; if it is, records were "
            "changed or cut off: tell everybody who relies on the answers",
        )
    return Reply.of(found)


async def _read_ledger(
    service: Service, call: Call, grant: Grant, work: Callable[[KeptBook], Result]
) -> Result:
    place = grant.served.place

    def read() -> Result:
        with place.ledger(read_only=True) as ledger:
            return work(ledger)

    try:
        return await service.run(read)
    except StoreError as error:
        service.log.failure("ledger", error, request_id=call.request_id)
        raise ApiError(
            "ledger_unavailable", "the ledger cannot be read", "the owner finds out with: "
            "sfumato statdb log verify",
        ) from None  # fmt: skip


async def tokens(service: Service, call: Call, grants: Sequence[Grant]) -> Reply:
    """The tokens of a database, without their secrets."""
    grant = chosen(grants, call.route, call.parameters("database").get("database"))
    service.meter.take(grant.who, 1)
    return Reply.of({"tokens": [token.to_dict() for token in grant.served.tokens.all()]})


async def health(service: Service, call: Call, grants: Sequence[Grant]) -> Reply:  # noqa: ARG001
    """The process lives."""
    return Reply.of({"status": "alive"})


async def ready(service: Service, call: Call, grants: Sequence[Grant]) -> Reply:  # noqa: ARG001
    """Whether all databases are open and their ledgers can be written."""

    def problems() -> list[str]:
        found = (served.problem() for served in service.databases.values())
        return [problem for problem in found if problem is not None]

    found = await service.run(problems)
    if not found:
        return Reply.of({"status": "ready", "databases": len(service.databases)})
    if "ledger_unavailable" in found:
        raise ApiError(
            "ledger_unavailable",
            "a ledger cannot be written, so its database answers nothing",
            "the server's log has the reason: make room on the disk, let the folder be written, or "
            "bring the database of the ledger back",
            retry_after=10,
        )
    raise ApiError(
        "not_ready",
        f"a database cannot be used: {found[0]}",
        "sfumato statdb info FOLDER and sfumato statdb token list FOLDER say what is wrong",
        retry_after=10,
    )


async def metrics(service: Service, call: Call, grants: Sequence[Grant]) -> Reply:
    """Numbers for Prometheus; without grants, of the databases that ask for none."""
    call.parameters()
    if grants:
        seen = [grant.served for grant in grants if grant.role in ALLOWED[call.route]]
    else:
        seen = service.door.unguarded()
    text = service.metrics.text({one.name: one for one in seen}, service.meter.running)
    return Reply(text.encode(), "text/plain; version=0.0.4; charset=utf-8")


def schema_of(state: State) -> dict[str, Any]:
    """What everybody who may ask may know of a database."""
    responder = state.responder
    roles = dict.fromkeys(responder.schema.quasi, "quasi") | {responder.sensitive: "sensitive"}
    words = state.words
    texts = {name: getattr(words, name) for name in ("title", "description", "source")}
    return {
        **{name: text for name, text in texts.items() if text},
        "database": state.facts["database"],
        "rows": state.rows,
        "m": responder.m,
        "cohort": responder.cohort,
        "region": responder.region,
        "size": responder.size,
        "framework": responder.framework,
        "generation": state.generation,
        "guarantee": {"short": short_guarantee(responder), "text": long_guarantee(responder)},
        **({"points": dict(responder.schema.points)} if responder.points else {}),
        "attributes": [
            {**_attribute(responder.attributes[name], role), **_called(name, words)}
            for name, role in roles.items()
        ],
    }


def _called(name: str, words: Words) -> dict[str, Any]:
    told = {"label": words.labels, "unit": words.units, "names": words.names}
    return {what: known[name] for what, known in told.items() if name in known}


def _attribute(attribute: Attribute, role: str) -> dict[str, Any]:
    told = {
        "name": attribute.name,
        "role": role,
        "kind": str(attribute.kind),
        "ordered": attribute.ordered,
        "has_missing": attribute.has_missing,
        "size": attribute.size,
    }
    values = attribute.values
    if attribute.kind is Kind.NUMERICAL:
        ends = python_values(pa.concat_arrays([values[:1], values[-1:]])) or [None, None]
        return {**told, "min": plain(ends[0]), "max": plain(ends[1])}
    if len(values) > _MOST_VALUES:
        return told
    return {**told, "values": [plain(value) for value in python_values(values)]}


def _number(parameters: dict[str, str], name: str, default: int, most: int) -> int:
    stated = parameters.get(name)
    if stated is None:
        return default
    if not (stated.isascii() and stated.isdigit() and len(stated) < 20 and int(stated) > 0):
        raise invalid(f"{name} is a whole number from 1", f"{name}={default}")
    return min(int(stated), most)
