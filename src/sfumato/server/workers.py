"""Several processes on one address, each a whole server.

They know nothing of each other: they share the ledger, and the files of a generation, in the same
way as servers on several machines do. The process that was started listens, starts the workers, and
starts one anew that has ended without being told to. Each worker has a socket of its own on the one
address where the system spreads connections among such (Linux); a socket outlives its worker, so
that those who wait there are served by the next one. Elsewhere all share one socket.

A worker is told what to do on its standard input, and stops when that ends: no worker outlives who
has started it, however that ended. On its standard output it says that it is ready, or why not.
"""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import FrameType
from typing import IO, Any

from sfumato.errors import SfumatoError, StoreError
from sfumato.server.limits import Limits
from sfumato.server.logs import Log
from sfumato.server.serving import PATIENCE, create_app, listen, run, stop_quietly, tools

_AGAIN = 1.0  # seconds before a worker that has ended is started anew
_PERIOD = 0.1
_SPREADS = sys.platform.startswith("linux")


@dataclass(frozen=True, slots=True)
class Plan:
    """What every worker does; ``host`` is the address that it listens on."""

    folders: Sequence[str]
    host: str
    require_tokens: bool = False
    proxies: Sequence[str] = ()
    limits: Limits = field(default_factory=Limits)
    ledger: str | None = None
    certificate: Sequence[str | None] = (None, None)  # and its key, for SQL tools

    def text(self) -> str:
        """On one line."""
        return json.dumps(asdict(self))

    @classmethod
    def of(cls, text: str) -> Plan:
        """From that line."""
        told: dict[str, Any] = json.loads(text)
        return cls(**{**told, "limits": Limits(**told["limits"])})


def sockets(host: str, port: int, count: int) -> list[socket.socket]:
    """One for each worker, or one for all of them where the system does not spread connections."""
    if not _SPREADS:
        return [listen(host, port)] * count
    first = listen(host, port, spread=True)
    port = first.getsockname()[1]
    return [first, *(listen(host, port, spread=True) for _ in range(count - 1))]


class Workers:
    """The processes, from ``start`` to ``stop``."""

    def __init__(
        self,
        plan: Plan,
        listening: Sequence[socket.socket],
        log: Log,
        tools: Sequence[socket.socket] = (),
    ) -> None:
        """``tools`` are sockets for SQL tools, one for each worker like the others, or none."""
        self._plan = plan
        self._tools = tools
        self._log = log
        self._listening = listening
        self._processes: list[subprocess.Popen[str]] = []
        self._next: list[float] = [0.0] * len(listening)
        self._stopping = threading.Event()

    def start(self) -> None:
        """Start all; raises what the first one has to say if it cannot."""
        try:
            self._processes.append(first := self._started(0))
            _require_ready(first, self._plan.folders)
            self._processes += map(self._started, range(1, len(self._listening)))
        except BaseException:
            self.stop()
            raise

    def watch(self) -> None:
        """Start anew what ends, until told to stop by a signal."""
        before = {one: signal.signal(one, self._told) for one in (signal.SIGINT, signal.SIGTERM)}
        try:
            while not self._stopping.wait(_PERIOD):
                self.look()
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)
            self.stop()

    def look(self) -> None:
        """Start anew what has ended, once."""
        for at in range(len(self._processes)):
            self._look(at)

    def stop(self) -> None:
        """Let all answer what is under way, and end."""
        for process in self._processes:
            _end(process.stdin)
        until = time.monotonic() + 2 * PATIENCE
        for process in self._processes:
            try:
                process.wait(max(0.1, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(PATIENCE)
            _end(process.stdout)

    def pids(self) -> list[int]:
        """The ids of the processes."""
        return [one.pid for one in self._processes]

    def _look(self, at: int) -> None:
        status = self._processes[at].poll()
        if status is None or time.monotonic() < self._next[at]:
            return
        self._log.write("worker", "error", outcome="started anew", ended=status)
        _end(self._processes[at].stdin)
        _end(self._processes[at].stdout)
        self._next[at] = time.monotonic() + _AGAIN
        self._processes[at] = self._started(at)

    def _started(self, at: int) -> subprocess.Popen[str]:
        handles = [one.fileno() for one in (self._listening[at], *self._tools[at : at + 1])]
        process = subprocess.Popen(
            [sys.executable, "-c", f"from {__name__} import work; work(*{handles})"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            pass_fds=handles,
            start_new_session=True,  # Ctrl-C is for us: we tell them
        )
        assert process.stdin is not None
        process.stdin.write(f"{self._plan.text()}\n")
        process.stdin.flush()
        return process

    def _told(self, _signal: int, _frame: FrameType | None) -> None:
        self._stopping.set()


@contextmanager
def reserved(plan: Plan) -> Iterator[None]:
    """Hold the ledgers of the folders for all workers together, unless others share them."""
    from sfumato.statdb.access.ledger_files import let_go, locked
    from sfumato.statdb.access.sqlite_files import require_folder

    with ExitStack() as held:
        for folder in map(Path, plan.folders if plan.ledger is None else ()):
            require_folder(folder)
            held.callback(let_go, locked(folder))
        yield


def work(handle: int, tools_handle: int | None = None) -> None:
    """The life of a worker, on the sockets that it was given."""
    plan = Plan.of(sys.stdin.readline())
    try:
        app = create_app(
            plan.folders,
            host=plan.host,
            require_tokens=plan.require_tokens,
            proxies=plan.proxies,
            limits=plan.limits,
            ledger=plan.ledger,
            beside=True,
        )
        wire = None
        if tools_handle is not None:
            wire = tools(plan.host, socket.socket(fileno=tools_handle), *plan.certificate)
    except SfumatoError as error:
        print(json.dumps({"problem": str(error)}), flush=True)
        sys.exit(1)
    print(json.dumps({"problem": None}), flush=True)
    threading.Thread(target=_stop_at_end, args=(sys.stdin,), daemon=True).start()
    run(app, socket.socket(fileno=handle), wire)


def _stop_at_end(told: IO[str]) -> None:
    told.read()
    stop_quietly()


def _require_ready(process: subprocess.Popen[str], folders: Sequence[str]) -> None:
    assert process.stdout is not None
    line = process.stdout.readline()
    told = json.loads(line) if line else {"problem": "a worker has ended before it was ready"}
    if told["problem"] is not None:
        raise StoreError(str(told["problem"]), path=Path(folders[0]))


def _end(pipe: IO[str] | None) -> None:
    if pipe is not None and not pipe.closed:
        pipe.close()
