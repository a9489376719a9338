"""All addresses, in one table: the application, the description and the tests read it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from sfumato.server import pages
from sfumato.server.access import Grant
from sfumato.server.api import info, openapi, queries
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
    Route("health", "GET", "/health", info.health),
    Route("ready", "GET", "/ready", info.ready),
    Route("metrics", "GET", "/metrics", info.metrics),
    Route("openapi", "GET", "/v1/openapi.json", openapi.openapi),
    Route("databases", "GET", "/v1/databases", info.databases),
    Route("schema", "GET", "/v1/schema", info.schema),
    Route("query", "POST", "/v1/query", queries.query),
    Route("ask", "GET", "/v1/query", queries.ask),
    Route("explain", "POST", "/v1/explain", queries.explained),
    Route("ledger", "GET", "/v1/ledger", info.ledger),
    Route("receipt", "GET", "/v1/receipt", info.receipt),
    Route("tokens", "GET", "/v1/tokens", info.tokens),
)
