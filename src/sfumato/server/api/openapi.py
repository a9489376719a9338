"""The OpenAPI description of all addresses: what each takes, answers, and refuses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import sfumato
from sfumato.core.aggregates import AGGREGATES
from sfumato.server.access import ALLOWED, Grant
from sfumato.server.errors import STATUS
from sfumato.server.http import JSON, Call, Reply
from sfumato.server.service import Service

_ARROW = "application/vnd.apache.arrow.stream"


class Addressed(Protocol):
    """What the description needs of a route."""

    @property
    def name(self) -> str:
        """Its name here and in access.py."""
        ...

    @property
    def method(self) -> str:
        """GET or POST."""
        ...

    @property
    def path(self) -> str:
        """Its address, parameters in braces."""
        ...


@dataclass(frozen=True, slots=True)
class Operation:
    """What is to be said of a route: ``answers`` are schemas by media type."""

    summary: str
    answers: Mapping[str, Any]
    parameters: tuple[str, ...] = ()
    body: str | None = None
    codes: tuple[str, ...] = ()


async def openapi(service: Service, call: Call, grants: Sequence[Grant]) -> Reply:  # noqa: ARG001
    """The description as JSON."""
    from sfumato.server.routes import ROUTES

    call.parameters()
    return Reply(_described(ROUTES))


def described(routes: Iterable[Addressed]) -> dict[str, Any]:
    """The whole document."""
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "sfumato statistical database",
            "version": sfumato.__version__,
            "description": "Any number of questions, each answered by an interval that contains "
            "the truth. Every question is recorded before it is answered; no address returns rows.",
        },
        "paths": paths,
        "components": {
            "schemas": _SCHEMAS,
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "password": {"type": "http", "scheme": "basic"},
            },
        },
    }


@cache
def _described(routes: tuple[Addressed, ...]) -> bytes:
    return Reply.of(described(routes)).body


def _operation(route: Addressed) -> dict[str, Any]:
    told = OPERATIONS[route.name]
    private = route.name in ALLOWED
    codes = [*told.codes, "forbidden", "internal"]
    if private:
        codes += ["unauthorized", "busy", "rate_limited"]
    if private or told.parameters:
        codes += ["invalid_request", "too_large"]
    stated: dict[str, Any] = {
        "operationId": route.name,
        "summary": told.summary,
        "security": [{}, {"token": []}, {"password": []}] if private else [],
        "responses": {
            "200": {
                "description": "done",
                "headers": _HEADERS,
                "content": {media: {"schema": one} for media, one in told.answers.items()},
            },
            **_errors(codes),
        },
    }
    if private:
        stated["description"] = f"For the roles {', '.join(sorted(ALLOWED[route.name]))}."
    if told.parameters:
        stated["parameters"] = [_PARAMETERS[name] for name in told.parameters]
    if told.body is not None:
        schema = _ref(told.body)
        stated["requestBody"] = {"required": True, "content": {JSON: {"schema": schema}}}
    return stated


def _errors(codes: Iterable[str]) -> dict[str, Any]:
    by_status: dict[int, list[str]] = {}
    for code in codes:
        by_status.setdefault(STATUS[code], []).append(code)
    return {
        str(status): {
            "description": ", ".join(sorted(set(found))),
            "headers": _HEADERS,
            "content": {JSON: {"schema": _ref("Error")}},
        }
        for status, found in sorted(by_status.items())
    }


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def _object(required: Mapping[str, Any], optional: Mapping[str, Any] | None = None) -> Any:
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
    }


def _list(items: Any, **limits: int) -> dict[str, Any]:
    return {"type": "array", "items": items, **limits}


_TEXT = {"type": "string"}
_WHOLE = {"type": "integer", "minimum": 0}
_WHOLE_OR_NONE = {"type": ["integer", "null"]}
_FLAG = {"type": "boolean"}
_ANY: dict[str, Any] = {}  # a value of a column: a number, a text, true or false, or null
_HEADERS = {"X-Request-ID": {"schema": _TEXT, "description": "Names the request in the logs."}}

_RECEIPT = {
    "type": "string", "pattern": "^[0-9]+-[0-9a-f]{64}$",
    "description": "Number and digest of the record in the ledger; GET /v1/receipt checks it.",
}  # fmt: skip
_RECEIVED = {"receipt": _RECEIPT}
_ENVELOPE = {
    "request_id": _TEXT,
    "database": _TEXT,
    "generation": _WHOLE,
    "guarantee": _TEXT,
}
_RESULT = {
    "canonical": _TEXT,
    "in_words": {"type": "string", "description": "The whole question in plain words."},
    "by": _list(_TEXT),
    "aggregates": _list(_TEXT),
    "rows": _list(_ref("Row")),
}
_SENTENCE = {
    "sentence": _TEXT,
    "notes": {"type": "array", "items": _TEXT, "description": "On values that nobody has."},
}
_ONE = {
    "sql": {"type": "string", "examples": ["SELECT sex, COUNT(*) FROM t GROUP BY sex"]},
}
_OTHER = {"query": _ref("Query")}
_NAMED = {"database": _TEXT}
_PREDICATE = {
    "description": 'A list of values, or an object such as {"between": [30, 50]}, {"<=": 30}, '
    '{"not": ...}, {"either": [...]}, {"both": [...]}, {"missing": true}.',
    "anyOf": [{"type": "array"}, {"type": "object", "minProperties": 1, "maxProperties": 1}],
}

_SCHEMAS: dict[str, Any] = {
    "Error": _object({
        "error": _object(
            {
                "code": {"enum": sorted(STATUS)},
                "message": _TEXT,
                "hint": _TEXT,
                "request_id": _TEXT,
            },
            {"position": {"type": "integer", "minimum": 1}},
        )
    }),
    "Query": _object({}, {
        "where": {"type": "object", "additionalProperties": _PREDICATE},
        "select": _list(_object({"function": {"enum": list(AGGREGATES)}},
                                {"of": _TEXT, "as": _TEXT})),
        "by": _list(_TEXT),
    }),
    "Question": {"oneOf": [_object(_ONE), _object(_OTHER)]},
    "Single": {"oneOf": [_object(_ONE, _NAMED), _object(_OTHER, _NAMED)]},
    "Asked": {"oneOf": [
        _object(_ONE, _NAMED), _object(_OTHER, _NAMED),
        _object({"queries": _list(_ref("Question"), maxItems=1_000)}, _NAMED),
    ]},
    "Interval": _object({
        "lo": _ANY, "hi": _ANY, "width": _ANY, "nullable": _FLAG,
        "estimate": {"description": "Nobody vouches for it; lo and hi are certain."},
    }),
    "Row": _object({
        "key": {"type": "object"},
        "answers": {"type": "object", "additionalProperties": _ref("Interval")},
    }),
    "Answer": _object({**_ENVELOPE, **_RECEIVED, **_RESULT}, _SENTENCE),
    "Answers": _object({
        **_ENVELOPE,
        "results": _list({"oneOf": [_object({**_RECEIVED, **_RESULT}, _SENTENCE), _ref("Error")]}),
    }),
    "Explained": _object({
        "request_id": _TEXT, "database": _TEXT, "answerable": {"const": True}, "canonical": _TEXT,
        "by": _list(_TEXT), "aggregates": _list(_TEXT), "groups": _WHOLE, "uses": _list(_TEXT),
    }),
    "Databases": _object({"databases": _list(_object({
        "name": _TEXT, "rows": _WHOLE, "m": _WHOLE, "generation": _WHOLE,
    }))}),
    "Attribute": _object(
        {
            "name": _TEXT, "role": {"enum": ["quasi", "sensitive"]},
            "kind": {"enum": ["numerical", "categorical"]}, "ordered": _FLAG,
            "has_missing": _FLAG, "size": _WHOLE,
        },
        {
            "min": _ANY, "max": _ANY, "values": _list(_ANY), "label": _TEXT, "unit": _TEXT,
            "names": {"type": "object", "additionalProperties": _TEXT},
        },
    ),
    "Schema": _object({
        "database": _TEXT, "rows": _WHOLE, "m": _WHOLE,
        "cohort": _WHOLE_OR_NONE, "region": _WHOLE_OR_NONE, "size": _WHOLE_OR_NONE,
        "framework": _TEXT, "generation": _WHOLE,
        "guarantee": _object({"short": _TEXT, "text": _TEXT}),
        "attributes": _list(_ref("Attribute")),
    }, {
        "title": _TEXT, "description": _TEXT, "source": _TEXT,
        "points": {"type": "object", "additionalProperties": _list(_TEXT)},
    }),
    "Ledger": _object({
        "records": _list({"type": "object"}), "total": _WHOLE,
        "answers": {"type": "object", "additionalProperties": _TEXT,
                    "description": "Long answers, by the SHA-256 that records name."},
    }),
    "Checked": _object({"record": {"type": "object"}, "head": _RECEIPT}, {"answer": _TEXT}),
    "Tokens": _object({"tokens": _list({"type": "object"})}),
    "Health": _object({"status": _TEXT}, {"databases": _WHOLE}),
}  # fmt: skip


def _parameter(name: str, text: str, schema: Any, **facts: Any) -> dict[str, Any]:
    return {"name": name, "in": "query", "description": text, "schema": schema, **facts}


_PARAMETERS = {
    "database": _parameter("database", "Needed if there are several.", _TEXT),
    "format": _parameter(
        "format", "The Accept header works, too.", {"enum": ["json", "csv", "arrow"]}
    ),
    "sql": _parameter("sql", "The question.", _TEXT, required=True),
    "receipt": _parameter("receipt", "It came with an answer.", _RECEIPT, required=True),
    "first": _parameter("first", "Number of a record.", {"type": "integer", "minimum": 1}),
    "limit": _parameter("limit", "At most 1,000 come.", {"type": "integer", "minimum": 1}),
    "name": {
        "name": "name", "in": "path", "required": True, "description": "A file of the page.",
        "schema": {"type": "string", "pattern": "^[A-Za-z0-9_-]+(\\.[A-Za-z0-9_-]+)+$"},
    },
}  # fmt: skip

_HTML = {"text/html": _TEXT}
_ASKING = ("unknown_database", "query_refused", "ledger_unavailable", "timeout")
_BODY = ("request_timeout", "too_large", "unsupported_media_type")

OPERATIONS: Mapping[str, Operation] = {
    "page": Operation("The page.", _HTML, codes=("not_found",)),
    "about": Operation("The guarantee for laypeople.", _HTML, codes=("not_found",)),
    "static": Operation(
        "What the page is made of.", {"*/*": _ANY}, ("name",), codes=("not_found",)
    ),
    "health": Operation("The process lives.", {JSON: _ref("Health")}),
    "ready": Operation(
        "All databases answer.",
        {JSON: _ref("Health")},
        codes=("ledger_unavailable", "not_ready"),
    ),
    "metrics": Operation(
        "Numbers for Prometheus, of the whole server and of the databases that the token is for; "
        "without one, from the same machine, of those that have no tokens.",
        {"text/plain": _TEXT},
    ),
    "openapi": Operation(
        "This description.", {JSON: {"type": "object"}}, codes=("invalid_request",)
    ),
    "databases": Operation("The databases that you may ask.", {JSON: _ref("Databases")}),
    "schema": Operation(
        "Public domains, and the guarantee in words.",
        {JSON: _ref("Schema")},
        ("database",),
        codes=("unknown_database",),
    ),
    "query": Operation(
        "Ask one question, or many.",
        {JSON: {"oneOf": [_ref("Answer"), _ref("Answers")]}, "text/csv": _TEXT, _ARROW: _ANY},
        ("database", "format"),
        "Asked",
        (*_ASKING, *_BODY),
    ),
    "ask": Operation(
        "Ask the question that the address holds.",
        {JSON: _ref("Answer"), "text/csv": _TEXT, _ARROW: _ANY},
        ("database", "format", "sql"),
        codes=_ASKING,
    ),
    "explain": Operation(
        "Whether a question is answerable, and what it uses; reads no rows, records nothing.",
        {JSON: _ref("Explained")},
        ("database",),
        "Single",
        ("unknown_database", "query_refused", "timeout", *_BODY),
    ),
    "ledger": Operation(
        "Records of the ledger.",
        {JSON: _ref("Ledger")},
        ("database", "first", "limit"),
        codes=("unknown_database", "ledger_unavailable"),
    ),
    "receipt": Operation(
        "The record that a receipt is for, and the end of the chain; others are not found.",
        {JSON: _ref("Checked")},
        ("database", "receipt"),
        codes=("unknown_database", "not_found", "ledger_unavailable"),
    ),
    "tokens": Operation(
        "Tokens without their secrets.",
        {JSON: _ref("Tokens")},
        ("database",),
        codes=("unknown_database",),
    ),
}
