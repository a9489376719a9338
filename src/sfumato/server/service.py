"""What the handlers of one server share."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from sfumato.server.access import Door
from sfumato.server.caching import Cache
from sfumato.server.databases import Served, watch
from sfumato.server.ledger_writer import Outdated
from sfumato.server.limits import Limits, Meter
from sfumato.server.logs import Log
from sfumato.server.metrics import Metrics

if TYPE_CHECKING:
    from sfumato.server.repeats import Repeat

Result = TypeVar("Result")
_REPEATS = 2**23  # bytes


@dataclass(frozen=True, slots=True)
class Service:
    """Databases behind a door; work on them is done in a few threads."""

    door: Door
    limits: Limits
    meter: Meter
    metrics: Metrics
    log: Log
    pool: ThreadPoolExecutor
    # requests that came before, by all of their bytes (repeats.py)
    repeats: Cache[Repeat] = field(default_factory=lambda: Cache(_REPEATS))

    @property
    def databases(self) -> Mapping[str, Served]:
        """What is served, by name."""
        return self.door.databases

    async def run(self, work: Callable[[], Result]) -> Result:
        """Do something long in a thread; kernels leave the interpreter to others."""
        return await asyncio.get_running_loop().run_in_executor(self.pool, work)

    async def run_for(self, who: str, work: Callable[[], Result]) -> Result:
        """The same for somebody who has only some of the threads, in turn.

        A thread that is given up keeps its turn until it ends.
        """
        turns, loop = self.meter.turns(who), asyncio.get_running_loop()
        await turns.acquire()
        working = self.pool.submit(work)

        def give_back(_: object) -> None:
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(turns.release)

        working.add_done_callback(give_back)
        return await asyncio.wrap_future(working)

    async def with_rows_that_hold(self, work: Callable[[], Awaitable[Result]]) -> Result:
        """Ask again what was answered from rows that no longer held, once the new ones are open."""
        until = time.monotonic() + self.limits.seconds
        while True:
            try:
                return await work()
            except Outdated as error:
                if not await self._caught_up(error, until - time.monotonic()):
                    raise

    async def _caught_up(self, error: Outdated, seconds: float) -> bool:
        (served,) = (one for one in self.databases.values() if one.folder == error.folder)
        return seconds > 0 and await served.caught_up(error.generation, seconds)

    async def watch(self) -> None:
        """Look after changes of the databases until cancelled.

        In threads of its own: where a shared ledger hangs, questions still find theirs.
        """
        pool = ThreadPoolExecutor(max(1, len(self.databases)), "watch")
        try:
            await watch(self.databases, pool, self._reloaded)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def close(self) -> None:
        """Commit what waits, and close everything."""
        self.pool.shutdown()
        for served in self.databases.values():
            served.close()
        self.log.flush()

    def _reloaded(self, served: Served) -> None:
        outcome = "failed" if served.damaged else "done"
        self.metrics.reloads[served.name, outcome] += 1
        level = "error" if served.damaged else "info"
        self.log.write(
            "reload",
            level,
            database=served.name,
            outcome=outcome,
            generation=served.state.generation,
        )
