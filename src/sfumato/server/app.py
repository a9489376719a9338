"""The application: finds the route, lets in who may, and answers every failure in one shape."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Protocol

from sfumato.server.access import PUBLIC, Denied, Grant, Unauthorized, anywhere
from sfumato.server.errors import ApiError, internal
from sfumato.server.headers import check_origin
from sfumato.server.http import Call, Gone, Receive, Reply, Scope, Send
from sfumato.server.pages import not_found
from sfumato.server.routes import ROUTES, Route
from sfumato.server.service import Service
from sfumato.statdb.access.ledger_records import Entry

_CALL = "sfumato.call"


class Beside(Protocol):
    """What starts and ends with the server, and asks the same databases."""

    async def start(self) -> None:
        """Begin to serve."""

    async def close(self) -> None:
        """Answer what is under way, and end."""


class App:
    """An ASGI application around Starlette's router: request ids, log, metrics."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.beside: Sequence[Beside] = ()
        endpoints = {route: Endpoint(service, route) for route in ROUTES}
        self._router = _router(self, endpoints)
        # most requests are to plain addresses, for which Starlette tries all patterns in turn
        self._plain = {
            (route.method, route.path): endpoint
            for route, endpoint in endpoints.items()
            if "{" not in route.path
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or the start and end of the server."""
        if scope["type"] != "http":
            await self._router(scope, receive, send)
            return
        started = time.perf_counter()
        call = Call(scope, receive)
        scope[_CALL] = call
        status = 0

        async def sending(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            found = self._plain.get((scope["method"], scope["path"]), self._router)
            await found(scope, receive, sending)
        except Exception as error:
            self.service.log.failure("failure", error, request_id=call.request_id)
            if not status:
                await Reply.of_error(internal(), call.request_id).send(call, sending)
        finally:
            self._done(call, status, time.perf_counter() - started)

    def _done(self, call: Call, status: int, seconds: float) -> None:
        self.service.metrics.request(call.route, status, seconds)
        self.service.log.request(
            request_id=call.request_id,
            method=call.method if call.route != "unknown" else "-",
            route=call.route,
            status=status,
            ms=round(1000 * seconds, 2),
            who=call.who,
        )


class Endpoint:
    """One route as an ASGI application."""

    def __init__(self, service: Service, route: Route) -> None:
        self._service = service
        self._route = route

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        """Answer a request, whatever becomes of it."""
        call: Call = scope[_CALL]
        call.route = self._route.name
        try:
            reply = await self._reply(call)
        except Gone:
            return
        except ApiError as error:
            reply = Reply.of_error(error, call.request_id)
        except Exception as error:
            self._service.log.failure("failure", error, request_id=call.request_id)
            reply = Reply.of_error(internal(), call.request_id)
        await reply.send(call, send)

    async def _reply(self, call: Call) -> Reply:
        service, route = self._service, self._route
        call.require_sound()
        service.door.require_expected(call)
        check_origin(call.headers, writes=route.method != "GET")
        if route.name in PUBLIC:
            return await route.handler(service, call, ())
        if route.name == "metrics" and service.door.is_open(call):
            return await route.handler(service, call, ())
        try:
            grants = service.door.grants(call)
        except Unauthorized:
            service.meter.fail(service.door.proxies.visitor(call))
            raise
        with service.meter.request(grants[0].who):
            try:
                anywhere(grants, route.name)
                return await service.with_rows_that_hold(
                    lambda: route.handler(service, call, grants)
                )
            except Denied as denied:
                service.meter.take(denied.grant.who, 1)
                await _log_denied(call, denied.grant)
                raise


async def _log_denied(call: Call, grant: Grant) -> None:
    entry = Entry(
        request_id=call.request_id,
        who=grant.who,
        role=grant.role,
        kind="denied",
        question=f"{call.method} {call.route}",
        canonical=None,
        answer="forbidden",
        generation=grant.served.state.generation,
    )
    await grant.served.ledger.append([entry])


def _router(app: App, endpoints: Mapping[Route, Endpoint]) -> Any:
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.routing import Route as Registered

    routes = [
        Registered(route.path, endpoint, methods=[route.method])
        for route, endpoint in endpoints.items()
    ]
    router = Starlette(
        routes=routes,
        lifespan=_lifespan(app),
        exception_handlers={HTTPException: _unrouted},
    )
    router.router.redirect_slashes = False
    return router


def _lifespan(app: App) -> Any:
    service = app.service

    @asynccontextmanager
    async def lifespan(_app: Any) -> AsyncIterator[None]:
        watching = asyncio.create_task(service.watch())
        try:
            for one in app.beside:
                await one.start()
            yield
        finally:
            for one in app.beside:
                await one.close()
            watching.cancel()
            with suppress(asyncio.CancelledError):
                await watching
            service.close()

    return lifespan


async def _unrouted(request: Any, error: Any) -> Any:
    """What the router cannot place: another address, or another method."""
    call: Call = request.scope[_CALL]
    if error.status_code != 405:
        return _Sent(Reply.of_error(not_found(), call.request_id))
    methods = sorted({route.method for route in ROUTES if _matches(route, request.scope["path"])})
    problem = ApiError(
        "method_not_allowed",
        "this address knows other methods",
        f"use {' or '.join(methods)}",
        headers=(("Allow", ", ".join(methods)),),
    )
    return _Sent(Reply.of_error(problem, call.request_id))


def _matches(route: Route, path: str) -> bool:
    head, _, parameter = route.path.partition("{")
    return path.startswith(head) if parameter else path == head


class _Sent:
    """A reply as Starlette knows them."""

    def __init__(self, reply: Reply) -> None:
        self._reply = reply

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        await self._reply.send(scope[_CALL], send)
