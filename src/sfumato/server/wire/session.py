"""A session: messages come in, statements are run one by one, messages go out.

The protocol's two ways are both here. A text with statements (Query) is run at once. A statement
that is prepared (Parse), given values (Bind) and run (Execute) goes in steps, and what follows an
error is passed over up to the next Sync.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sfumato.server.errors import ApiError
from sfumato.server.wire import messages
from sfumato.server.wire.errors import (
    CANCELLED,
    NO_CURSOR,
    NO_STATEMENT,
    PROTOCOL,
    TOO_LARGE,
    WireError,
    told,
)
from sfumato.server.wire.line import Line
from sfumato.server.wire.messages import Body
from sfumato.server.wire.parameters import literal
from sfumato.server.wire.running import Rows, Running
from sfumato.server.wire.statements import next_status, require_usable
from sfumato.server.wire.tokens import Token, statements_of

Result = TypeVar("Result")
_MOST = 1_000  # statements and portals that are kept, and in all so many bytes
_KEPT = 4_194_304


@dataclass(slots=True)
class Prepared:
    """A statement, its tokens, and the types that the client says its parameters have."""

    text: str
    tokens: Sequence[Token]
    types: Sequence[int]


@dataclass(slots=True)
class Portal:
    """A statement with values in place, and its rows as far as they were not sent yet."""

    text: str
    tokens: Sequence[Token]
    formats: Sequence[int]
    rows: Rows | None = None
    sent: int = 0


@dataclass(slots=True, eq=False)
class Session:
    """One client that was let in."""

    line: Line
    running: Running
    status: bytes = b"I"
    _statements: dict[str, Prepared] = field(default_factory=dict)
    _portals: dict[str, Portal] = field(default_factory=dict)
    _skipping: bool = False
    _waiting: asyncio.Future[Any] | None = None
    _given_up: bool = False

    async def serve(self, kind: bytes, content: bytes) -> None:
        """Do what a message says."""
        if kind == b"S":
            self._skipping = False
            if self.status == b"I":
                self._portals.clear()
            await self._ready()
        elif kind == b"Q":
            self._skipping = False
            await self._query(Body(content))
        elif not self._skipping:
            try:
                await self._step(kind, Body(content))
            except (WireError, ApiError) as problem:
                self._skipping = True
                self._fail(problem)
                await self.line.flush()

    async def _step(self, kind: bytes, body: Body) -> None:
        steps: Mapping[bytes, Callable[[Body], Awaitable[None]]] = {
            b"P": self._parse,
            b"B": self._bind,
            b"D": self._describe,
            b"E": self._execute,
            b"C": self._close,
            b"H": self._flush,
        }
        step = steps.get(kind)
        if step is None:
            raise WireError(PROTOCOL, f"messages of the kind {kind!r} are not known", fatal=True)
        await step(body)

    # ----- a text at once

    async def _query(self, body: Body) -> None:
        try:
            text = body.text()
            body.end()
            statements = statements_of(text)
            if not statements:
                self.line.write(messages.EMPTY)
            for statement in statements:
                rows = await self._run(text, statement)
                if rows.columns is not None:
                    formats = [0] * len(rows.columns)
                    self.line.write(
                        messages.described([one.field for one in rows.columns], formats)
                    )
                    await self._send(rows, formats, 0, len(rows.lines))
                self.line.write(messages.complete(rows.tag))
        except (WireError, ApiError) as problem:
            self._fail(problem)
        await self._ready()

    async def _run(self, text: str, tokens: Sequence[Token]) -> Rows:
        """Run a statement of a text, and keep account of the transaction."""
        require_usable(self.status, tokens)
        rows = await self._awaited(text, tokens)
        if self.status == b"E" and rows.tag == "COMMIT":
            rows = rows._replace(tag="ROLLBACK")
        self.status = next_status(self.status, tokens)
        if rows.tag in ("DISCARD ALL", "DEALLOCATE"):
            self._forget(tokens)
        for name, value in rows.reported:
            self.line.write(messages.parameter(name, value))
        for note in rows.notes:
            self.line.write(messages.notice(note))
        return rows

    async def _awaited(self, text: str, tokens: Sequence[Token]) -> Rows:
        """Wait for a statement; one that is given up goes on to its record."""
        piece = _piece(text, tokens)
        known = self.running.begun(piece, tokens)
        rows = None if known is None else await self._unless_given_up(known)
        if rows is None:
            work = asyncio.ensure_future(self.running.run(piece, tokens))
            rows = await self._unless_given_up(asyncio.shield(work))
        return rows

    async def _unless_given_up(self, waiting: asyncio.Future[Result]) -> Result:
        self._given_up = False
        self._waiting = waiting
        try:
            return await waiting
        except asyncio.CancelledError:
            if not self._given_up:
                raise
            raise WireError(CANCELLED, "canceling statement due to user request") from None
        finally:
            self._waiting = None

    def cancel(self) -> None:
        """Give up the statement that is under way, if one is."""
        if self._waiting is not None:
            self._given_up = True
            self._waiting.cancel()

    def _forget(self, tokens: Sequence[Token]) -> None:
        """DEALLOCATE name, DEALLOCATE ALL, DISCARD ALL."""
        last = tokens[-1]
        if last.word == "ALL":
            self._statements.clear()
        else:
            self._statements.pop(last.name, None)

    # ----- a statement in steps

    async def _parse(self, body: Body) -> None:
        name, text, types = body.text(), body.text(), body.numbers("I")
        body.end()
        statements = statements_of(text)
        if len(statements) > 1:
            raise WireError("42601", "cannot insert multiple commands into a prepared statement")
        if name and name in self._statements:
            raise WireError("42P05", f"prepared statement {name[:63]!r} already exists")
        self._require_room(len(text))
        self._statements[name] = Prepared(text, _first(statements), types)
        self.line.write(messages.PARSED)

    async def _bind(self, body: Body) -> None:
        portal, name = body.text(), body.text()
        formats = body.numbers("H")
        values = [body.value() for _ in range(body.number("H"))]
        shown = body.numbers("H")
        body.end()
        prepared = self._prepared(name)
        expected = self.running.parameters(prepared.tokens)
        wanted = len(expected)
        if len(values) != wanted or len(formats) not in (0, 1, wanted):
            message = f"{len(values)} values for {wanted} parameters"
            raise WireError(PROTOCOL, message)
        literals = [
            literal(
                value,
                prepared.types[at] if at < len(prepared.types) else 0,
                bool(_format(formats, at)),
                expected[at],
            )
            for at, value in enumerate(values)
        ]
        text = _filled(prepared, literals)
        self._require_room(len(text))
        self._portals[portal] = Portal(text, _first(statements_of(text)), shown)
        self.line.write(messages.BOUND)

    async def _describe(self, body: Body) -> None:
        kind, name = body.letter(), body.text()
        body.end()
        if kind == b"S":
            prepared = self._prepared(name)
            expected = self.running.parameters(prepared.tokens)
            given = prepared.types
            types = [given[at] if at < len(given) and given[at] else one or 25
                     for at, one in enumerate(expected)]  # fmt: skip
            self.line.write(messages.parameters(types))
            text = _filled(prepared, ["NULL"] * len(expected))
            tokens = _first(statements_of(text))
            columns = await self.running.columns(_piece(text, tokens) if tokens else "", tokens)
            formats: Sequence[int] = ()
        else:
            portal = self._portal(name)
            columns = await self.running.columns(portal.text, portal.tokens)
            formats = portal.formats
        if columns is None:
            self.line.write(messages.NO_DATA)
        else:
            each = _formats(formats, len(columns))
            self.line.write(messages.described([one.field for one in columns], each))

    async def _execute(self, body: Body) -> None:
        portal, most = self._portal(body.text()), body.number("i")
        body.end()
        if not portal.tokens:
            self.line.write(messages.EMPTY)
            return
        if portal.rows is None:
            portal.rows = await self._run(portal.text, portal.tokens)
        rows = portal.rows
        if rows.columns is None:
            self.line.write(messages.complete(rows.tag))
            return
        end = min(len(rows.lines), portal.sent + most) if most > 0 else len(rows.lines)
        await self._send(rows, _formats(portal.formats, len(rows.columns)), portal.sent, end)
        portal.sent = end
        done = end == len(rows.lines)
        self.line.write(messages.complete(rows.tag) if done else messages.SUSPENDED)

    async def _close(self, body: Body) -> None:
        kind, name = body.letter(), body.text()
        body.end()
        if kind == b"S":
            self._statements.pop(name, None)
        else:
            self._portals.pop(name, None)
        self.line.write(messages.CLOSED)

    async def _flush(self, body: Body) -> None:
        body.end()
        await self.line.flush()

    # ----- what they share

    async def _send(self, rows: Rows, formats: Sequence[int], start: int, end: int) -> None:
        assert rows.columns is not None
        encoders = [
            one.kind.binary if form else one.kind.text
            for one, form in zip(rows.columns, formats, strict=True)
        ]
        for line in rows.lines[start:end]:
            self.line.write(
                messages.row(
                    [
                        None if value is None else encode(value)
                        for encode, value in zip(encoders, line, strict=True)
                    ]
                )
            )
            await self.line.flush_many()

    async def _ready(self) -> None:
        self.line.write(messages.ready(self.status))
        await self.line.flush()

    def _fail(self, problem: WireError | ApiError) -> None:
        found = told(problem, self.running.names) if isinstance(problem, ApiError) else problem
        if found.fatal:
            raise found
        if self.status == b"T":
            self.status = b"E"
        self.line.write(messages.failed(found))

    def _prepared(self, name: str) -> Prepared:
        found = self._statements.get(name)
        if found is None:
            raise WireError(NO_STATEMENT, f"prepared statement {name[:63]!r} does not exist")
        return found

    def _portal(self, name: str) -> Portal:
        found = self._portals.get(name)
        if found is None:
            raise WireError(NO_CURSOR, f"portal {name[:63]!r} does not exist")
        return found

    def _require_room(self, length: int) -> None:
        kept = [len(one.text) for one in self._statements.values()]
        kept += [len(one.text) for one in self._portals.values()]
        if len(kept) >= _MOST or length + sum(kept) > _KEPT:
            raise WireError(TOO_LARGE, "too many prepared statements", "close some of them")


def _first(statements: Sequence[Sequence[Token]]) -> Sequence[Token]:
    return statements[0] if statements else ()


def _piece(text: str, tokens: Sequence[Token]) -> str:
    """One statement of a text."""
    return text[tokens[0].start : tokens[-1].start + len(tokens[-1].text)]


def _format(formats: Sequence[int], at: int) -> int:
    return 0 if not formats else formats[0] if len(formats) == 1 else formats[at]


def _formats(formats: Sequence[int], count: int) -> list[int]:
    if len(formats) not in (0, 1, count) or any(one not in (0, 1) for one in formats):
        raise WireError(PROTOCOL, f"{len(formats)} formats for {count} columns")
    return [_format(formats, at) for at in range(count)]


def _filled(prepared: Prepared, literals: Sequence[str]) -> str:
    """The text with literals in place of $1, $2, ...; a space keeps them from what is beside."""
    parts, at = [], 0
    for token in prepared.tokens:
        if token.kind == "parameter":
            parts += [prepared.text[at : token.start], f" {literals[int(token.text[1:]) - 1]} "]
            at = token.start + len(token.text)
    parts.append(prepared.text[at:])
    return "".join(parts)
