"""The socket that tools connect to: who comes in, what each may cost, and how all of it ends."""

from __future__ import annotations

import asyncio
import hmac
import re
import secrets
import socket
import ssl
from dataclasses import dataclass, field

from sfumato.server.databases import State
from sfumato.server.edge import BACKLOG, Gate
from sfumato.server.errors import ApiError
from sfumato.server.service import Service
from sfumato.server.wire import messages
from sfumato.server.wire.catalogs import Catalogs
from sfumato.server.wire.errors import INTERNAL, STOPPING, WireError, told
from sfumato.server.wire.line import Gone, Line
from sfumato.server.wire.running import Running
from sfumato.server.wire.session import Session
from sfumato.server.wire.startup import Cancel, Wanted, admitted, wanted

_PATIENCE = 10.0  # seconds that statements under way get at the end
_OPTION = re.compile(r"(?:-c\s*|--)([\w.]+)=((?:\\.|\S)*)")


@dataclass(slots=True, eq=False)
class _Guest:
    """A connection as the gate sees it."""

    line: Line
    session: Session | None = None
    busy: bool = True

    def end(self) -> None:
        """Make room."""
        self.line.transport.abort()

    def refuse(self, error: ApiError) -> None:
        """Say that there is no room."""
        self.tell(told(error))

    def tell(self, problem: WireError) -> None:
        """Say why, and hang up."""
        self.line.transport.write(messages.failed(_fatal(problem)))
        self.line.transport.close()

    def is_silent(self) -> bool:
        """Whether nobody was let in yet."""
        return self.session is None

    def is_idle(self) -> bool:
        """Whether it waits for its client."""
        return not self.busy


@dataclass(slots=True, eq=False)
class Endpoint:
    """A listening socket, and the sessions that came through it."""

    service: Service
    gate: Gate
    sock: socket.socket
    tls: ssl.SSLContext | None = None
    _server: asyncio.Server | None = None
    _guests: dict[int, tuple[int, _Guest]] = field(default_factory=dict)
    _catalogs: dict[str, tuple[State, Catalogs]] = field(default_factory=dict)

    async def start(self) -> None:
        """Begin to listen."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: Line(self._serve, self.service.limits.seconds), sock=self.sock, backlog=BACKLOG
        )

    async def close(self) -> None:
        """Let nobody in any more, and end all sessions when they have their answers."""
        if self._server is not None:
            self._server.close()
        until = asyncio.get_running_loop().time() + _PATIENCE
        while guests := [guest for _, guest in self._guests.values()]:
            late = asyncio.get_running_loop().time() > until
            for guest in guests:
                if late:
                    guest.end()
                elif guest.is_idle():
                    guest.tell(_stopping())
            await asyncio.sleep(0.01)
        for _, catalogs in self._catalogs.values():
            catalogs.close()

    async def _serve(self, line: Line) -> None:
        """One connection, from its first byte to its last."""
        guest = _Guest(line)
        self.gate.enter(guest)
        try:
            if not line.transport.is_closing():
                await self._talk(line, guest)
        except (Gone, ConnectionError, ssl.SSLError):
            pass
        except TimeoutError:
            self.service.metrics.refused["head_too_slow"] += 1
        except (WireError, ApiError) as problem:
            await self._end(
                line, _fatal(told(problem) if isinstance(problem, ApiError) else problem)
            )
        except Exception as error:
            self.service.log.failure("failure", error)
            await self._end(line, WireError(INTERNAL, "the server failed", fatal=True))
        finally:
            self.gate.leave(guest)
            line.transport.close()

    async def _end(self, line: Line, problem: WireError) -> None:
        try:
            line.write(messages.failed(problem))
            await line.flush()
        except (Gone, ConnectionError):
            pass

    async def _talk(self, line: Line, guest: _Guest) -> None:
        limits = self.service.limits
        async with asyncio.timeout(limits.head_seconds):
            found = await wanted(line, self.tls)
            if isinstance(found, Cancel):
                self._cancel(line, found)
                return
            secret, _ = await admitted(line, self.service, found)
        number = self._enter(guest)
        try:
            session = guest.session = await self._opened(line, found, secret, number)
            while True:
                guest.busy = False
                kind, length = await line.head()
                guest.busy = True
                if kind == b"X":
                    return
                await session.serve(kind, await line.body(length, limits.body))
        finally:
            del self._guests[number]

    async def _opened(self, line: Line, found: Wanted, secret: str | None, number: int) -> Session:
        """A session, and what its client is told of it."""
        running = Running(
            self.service, secret, found.database, found.user, self._catalogs_of, number=number
        )
        settings = running.settings
        settings.set("session_authorization", found.user)
        settings.set("ssl", "on" if line.secure else "off")
        for name, value in _stated(found).items():
            settings.set(name, value)
        line.write(messages.AUTHENTICATED)
        for name, value in settings.reported():
            line.write(messages.parameter(name, value))
        line.write(messages.backend_key(number, self._guests[number][0]))
        line.write(messages.ready(b"I"))
        await line.flush()
        return Session(line, running)

    def _enter(self, guest: _Guest) -> int:
        """A number for a session, and a key: whoever has both may cancel what it does."""
        number = secrets.randbelow(2**31 - 1) + 1
        while number in self._guests:
            number = secrets.randbelow(2**31 - 1) + 1
        self._guests[number] = secrets.randbits(32), guest
        return number

    def _cancel(self, line: Line, asked: Cancel) -> None:
        key, guest = self._guests.get(asked.number, (0, None))
        same = hmac.compare_digest(key.to_bytes(4), asked.key.to_bytes(4))
        if guest is None or guest.session is None or not same:
            self.service.meter.fail(self.service.door.proxies.visitor_at(line.peer))
            return
        guest.session.cancel()

    def _catalogs_of(self, state: State) -> Catalogs:
        """What tools are told about names and types; made anew when a database changes."""
        name = state.facts["database"]
        known = self._catalogs.get(name)
        if known is None or known[0].responder.catalog is not state.responder.catalog:
            known = self._catalogs[name] = state, Catalogs(state)
        return known[1]


def _stated(found: Wanted) -> dict[str, str]:
    """The settings that a client begins with: -c name=value among them."""
    settings = dict(found.settings)
    options = settings.pop("options", "")
    stated = {name: value.replace("\\", "") for name, value in _OPTION.findall(options)}
    return {**settings, **stated}


def _fatal(problem: WireError) -> WireError:
    return WireError(problem.state, problem.message, problem.hint, at=problem.at, fatal=True)


def _stopping() -> WireError:
    return WireError(STOPPING, "terminating connection due to administrator command", fatal=True)
