"""All addresses, in one table: the application, the description and the tests read it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from sfumato.server import pages
from sfumato.server.access import Grant
from sfumato.server.api import info as telling_api
from sfumato.server.api import openapi
from sfumato.server.api import queries as asking_api
from sfumato.server.http import Call, Reply
from sfumato.server.service import Service

Handler: TypeAlias = Callable[[Service, Call, Sequence[Grant]], Awaitable[Reply]]


@dataclass(frozen=True, slots=True)
class Route:
    """An address and what answers there; access.py says to whom, by the name."""

    name: str
    method: str
    path: str
    handler: Handler


ROUTES = (
    Route("page", "GET", "/", pages.page),
    Route("about", "GET", "/about", pages.about),
    Route("static", "GET", "/static/{name}", pages.static),
    Route("health", "GET", "/health", telling_api.health),
    Route("ready", "GET", "/ready", telling_api.ready),
    Route("metrics", "GET", "/metrics", telling_api.metrics),
    Route("openapi", "GET", "/v1/openapi.json", openapi.openapi),
    Route("databases", "GET", "/v1/databases", telling_api.databases),
    Route("schema", "GET", "/v1/schema", telling_api.schema),
    Route("query", "POST", "/v1/query", asking_api.query),
    Route("ask", "GET", "/v1/query", asking_api.ask),
    Route("explain", "POST", "/v1/explain", asking_api.explained),
    Route("ledger", "GET", "/v1/ledger", telling_api.ledger),
    Route("tokens", "GET", "/v1/tokens", telling_api.tokens),
)
