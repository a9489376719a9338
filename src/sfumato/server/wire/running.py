"""One statement run to its end: metered, answered, recorded, and turned into rows.

A question takes the way that questions over HTTP take (outcomes.py). What a tool asks about names
and types is answered from the public schema, and is no question: no row is behind it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from sfumato.errors import QueryRefused
from sfumato.queries.columns import Catalog
from sfumato.server import costs
from sfumato.server.access import Grant, Unauthorized
from sfumato.server.api.info import schema_of
from sfumato.server.databases import State
from sfumato.server.errors import ApiError, internal, refused
from sfumato.server.http import next_id, to_json
from sfumato.server.outcomes import Outcome, recalled, recorded, settled
from sfumato.server.questions import Asked
from sfumato.server.repeats import again
from sfumato.server.service import Service
from sfumato.server.wire.answers import Column, Plan, arrow_of, plan_of
from sfumato.server.wire.catalogs import Catalogs
from sfumato.server.wire.errors import NOT_ALLOWED, WireError, told
from sfumato.server.wire.moments import fitted
from sfumato.server.wire.outline import outlined
from sfumato.server.wire.probes import probed
from sfumato.server.wire.settings import RECEIPT, SCHEMA, Settings
from sfumato.server.wire.startup import grant_of
from sfumato.server.wire.statements import Shown, is_about_session, kind_of, tag_of
from sfumato.server.wire.tokens import Token
from sfumato.server.wire.values import INT8, TEXT
from sfumato.server.wire.values import kind_of as kind_of_type

_SETTINGS = 10  # statements about the session cost as much as a question
_PLAN = 400  # bytes that a plan takes for each token, about
_LONG = 4_096  # letters; longer texts are read in a thread


class Rows(NamedTuple):
    """What a statement gives: a table, or nothing but the tag that says it is done."""

    columns: Sequence[Column] | None
    lines: Sequence[Sequence[Any]]
    tag: str
    reported: Iterable[tuple[str, str]] = ()
    notes: Sequence[str] = ()


@dataclass(slots=True, eq=False)
class Running:
    """What one session's statements are run with."""

    service: Service
    secret: str | None
    database: str
    user: str
    catalogs: Callable[[State], Catalogs]
    settings: Settings = field(default_factory=Settings)
    number: int = 0

    def grant(self) -> Grant:
        """What may be asked now: tokens end while sessions are open."""
        try:
            return grant_of(self.service, self.secret, self.database)
        except Unauthorized:
            raise WireError(
                NOT_ALLOWED, "the token has expired or was revoked", fatal=True
            ) from None

    @property
    def names(self) -> Iterable[str]:
        """The columns that there are."""
        return self.service.databases[self.database].state.responder.catalog.columns

    async def run(self, text: str, tokens: Sequence[Token]) -> Rows:
        """Run a statement; nothing of an answer is told before it is in the ledger."""
        service, request_id, started = self.service, next_id(), time.perf_counter()
        status, who = 200, "-"
        try:
            grant = self.grant()
            who = grant.who
            await self._pay(who, text, tokens)
            with service.meter.request(who):
                return await service.with_rows_that_hold(
                    lambda: self._run(grant, request_id, text, tokens)
                )
        except (ApiError, WireError) as problem:
            status = problem.status if isinstance(problem, ApiError) else 400
            raise
        except asyncio.CancelledError:
            status = 499
            raise
        except Exception as error:
            status = 500
            service.log.failure("failure", error, request_id=request_id)
            raise internal() from None
        finally:
            seconds = time.perf_counter() - started
            service.metrics.request("wire", status, seconds)
            service.log.request(
                request_id=request_id, method="-", route="wire", status=status,
                ms=round(1000 * seconds, 2), who=who,
            )  # fmt: skip

    def begun(self, text: str, tokens: Sequence[Token]) -> asyncio.Future[Rows | None] | None:
        """Begin to answer a question whose answer is remembered; None if it has to be run.

        The rows come when they are recorded, or None if it has to be run after all.
        """
        try:
            grant = self.grant()
        except (ApiError, WireError):
            return None
        state = grant.served.state
        plan = self.catalogs(state).plans.get(self._key(text, tokens))
        if plan is None:
            return None
        outcome = recalled(state, plan.asked)
        if outcome.answered is None:
            return None
        lines = plan.lines(outcome.answered)
        done: asyncio.Future[Rows | None] = asyncio.get_running_loop().create_future()

        def settle(rows: Rows | None) -> None:
            if not done.done():  # it was cancelled
                done.set_result(rows)

        def send(_: str, told: Outcome) -> None:
            settle(self._shown(plan, lines, told))

        way = ("wire", "-")
        is_begun = again(self.service, grant, state, outcome, way, send, lambda: settle(None))
        return done if is_begun else None

    async def columns(self, text: str, tokens: Sequence[Token]) -> Sequence[Column] | None:
        """The columns that a statement will show, without running it; None if there are none."""
        if not tokens:
            return None
        grant = self.grant()
        await self._pay(grant.who, text, tokens)
        kind, state = kind_of(tokens, self.database), grant.served.state
        if kind == "session":
            found = tokens[0].word == "SHOW" and tag_of(tokens, self.settings)
            return [_text_column(found.name)] if isinstance(found, Shown) else None
        if kind == "catalog":
            return (await self._from_catalogs(grant, state, text)).columns
        empty = probed(tokens, self.database, state.responder.catalog)
        return empty or (await self._plan(grant, state, text, tokens)).columns

    def parameters(self, tokens: Sequence[Token]) -> list[int]:
        """The types of $1, $2, ...: those of the columns beside them."""
        catalog = self.service.databases[self.database].state.responder.catalog
        return _expected(tokens, catalog)

    async def _run(self, grant: Grant, request_id: str, text: str, tokens: Sequence[Token]) -> Rows:
        state = grant.served.state
        try:
            kind = kind_of(tokens, self.database)
        except WireError as problem:
            await self._record_refusal(grant, request_id, state, text, problem)
            raise
        if kind == "session":
            return self._set(state, tokens)
        if kind == "catalog":
            return await self._from_catalogs(grant, state, text)
        return await self._ask(grant, request_id, state, text, tokens)

    async def _pay(self, who: str, text: str, tokens: Sequence[Token]) -> None:
        """Pay for reading; tools do not ask again later, so they wait here.

        What ends a transaction is never refused.
        """
        meter, price = self.service.meter, costs.of_text(text)
        if is_about_session(tokens):
            meter.charge(who, price / _SETTINGS)
            return
        until = time.monotonic() + self.service.limits.seconds
        while True:
            try:
                meter.take(who, price)
                return
            except ApiError as limited:
                wait = limited.retry_after or 0.0
                if time.monotonic() + wait > until:
                    raise
                await asyncio.sleep(wait)

    def _set(self, state: State, tokens: Sequence[Token]) -> Rows:
        before = dict(self.settings.reported())
        found = tag_of(tokens, self.settings)
        if isinstance(found, Shown) and found.name == SCHEMA:
            return Rows([_text_column(SCHEMA)], [[to_json(schema_of(state)).decode()]], "SHOW")
        if isinstance(found, Shown):
            return Rows([_text_column(found.name)], [[found.value]], "SHOW")
        changed = [one for one in self.settings.reported() if before[one[0]] != one[1]]
        return Rows(None, (), found, changed)

    async def _from_catalogs(self, grant: Grant, state: State, text: str) -> Rows:
        service, catalogs = self.service, self.catalogs(state)
        until = time.monotonic() + service.limits.seconds
        columns, lines, seconds = await service.run_for(
            grant.who,
            lambda: catalogs.answer(text, self.user, self.number, self.settings, until),
        )
        service.meter.charge(grant.who, 1000 * seconds)
        return Rows(columns, lines, f"SELECT {len(lines)}")

    # ----- questions

    async def _ask(
        self, grant: Grant, request_id: str, state: State, text: str, tokens: Sequence[Token]
    ) -> Rows:
        catalog = state.responder.catalog
        try:
            columns = probed(tokens, self.database, catalog)
            if columns is not None:
                return Rows(columns, (), "SELECT 0")
            plan = await self._plan(grant, state, text, tokens)
        except (WireError, QueryRefused) as problem:
            found = (
                told(refused(problem), catalog.columns)
                if isinstance(problem, QueryRefused)
                else problem
            )
            await self._record_refusal(grant, request_id, state, text, found)
            raise found from None
        (outcome,) = await settled(self.service, grant, state, [plan.asked])
        lines = () if outcome.answered is None else plan.lines(outcome.answered)
        await recorded(self.service, grant, request_id, state, [outcome])
        outcome.require_answer()
        return self._shown(plan, lines, outcome)

    def _shown(self, plan: Plan, lines: Sequence[Sequence[Any]], outcome: Outcome) -> Rows:
        self.settings.receipt = outcome.receipt
        reported = [(RECEIPT, outcome.receipt)]
        return Rows(plan.columns, lines, f"SELECT {len(lines)}", reported, outcome.notes)

    def _key(self, text: str, tokens: Sequence[Token]) -> tuple[str, str, int]:
        """What a plan depends on."""
        return self.settings.mode, text, tokens[0].start

    async def _plan(self, grant: Grant, state: State, text: str, tokens: Sequence[Token]) -> Plan:
        """What is asked, and how it is shown; long texts are read in a thread."""
        mode = self.settings.mode
        if mode == "arrow":
            return arrow_of(text)
        plans, key = self.catalogs(state).plans, self._key(text, tokens)
        found = plans.get(key)
        if found is None:
            catalog = state.responder.catalog
            read = partial(outlined, fitted(tokens, catalog), self.database)
            outline = await self.service.run_for(grant.who, read) if len(text) > _LONG else read()
            found = plan_of(text, outline, catalog, mode)
            plans.put(key, found, _PLAN * len(tokens))
        return found

    async def _record_refusal(
        self, grant: Grant, request_id: str, state: State, text: str, problem: WireError
    ) -> None:
        """What is refused before it is a question is recorded as every refusal is."""
        error = ApiError("query_refused", problem.message, problem.hint or "ask otherwise")
        outcome = Outcome(Asked(text, is_sql=True), error=error)
        await recorded(self.service, grant, request_id, state, [outcome])


def _text_column(name: str) -> Column:
    return Column(name, TEXT, lambda line: line)


def _expected(tokens: Sequence[Token], catalog: Catalog) -> list[int]:
    """For each parameter the OID of the column that was named last before it; 0 if none was."""
    known = {name.lower(): kind_of_type(one.type).oid for name, one in catalog.columns.items()}
    found: dict[int, int] = {}
    last = 0
    for token in tokens:
        if token.word in ("LIMIT", "OFFSET"):
            last = INT8.oid
        elif token.is_name:
            last = known.get(token.name.lower(), last)
        elif token.kind == "parameter":
            number = min(int(token.text[1:]), 65_536)
            found[number] = found.get(number) or last
    return [found.get(at, 0) for at in range(1, max(found, default=0) + 1)]
