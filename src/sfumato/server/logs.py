"""The server's log: one JSON object a line on standard error, without questions or values.

Failures are told by their kind and place in the code. Their messages stay out: a message may quote
what somebody asked, or what a row holds.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import time
from collections.abc import Callable
from functools import lru_cache
from threading import Lock
from types import TracebackType
from typing import Any, TextIO

_SOON = 0.05  # seconds


class Log:
    """Writes lines; a stream that is gone stops nothing.

    Lines about requests are gathered for a moment: one at a time, they would cost a busy server as
    much as the answers. Everything else is written at once.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._turn = Lock()
        self._gathered: list[str] = []

    def write(self, event: str, level: str = "info", **facts: Any) -> None:
        """One line, and what was gathered before it."""
        self._gathered.append(_line(event, level, facts))
        self.flush()

    def request(
        self, *, request_id: str, method: str, route: str, status: int, ms: float, who: str
    ) -> None:
        """One line about a request, soon; called in the event loop.

        All of its texts are ours, so that none has to be escaped.
        """
        self._gathered.append(
            f'{{"time": "{_now()}", "level": "info", "event": "request", "request_id": '
            f'"{request_id}", "method": "{method}", "route": "{route}", "status": {status}, '
            f'"ms": {ms}, "who": "{who}"}}\n'
        )
        if len(self._gathered) == 1:
            asyncio.get_running_loop().call_later(_SOON, self.flush)

    def flush(self) -> None:
        """Write what was gathered."""
        with self._turn:
            lines, self._gathered = self._gathered, []
            try:
                self._stream.write("".join(lines))
                self._stream.flush()
            except (OSError, ValueError):
                pass

    def failure(self, event: str, error: BaseException, **facts: Any) -> None:
        """Something that should not have happened: what kind of thing, and where."""
        self.write(event, "error", kind=type(error).__name__, at=place(error), **facts)


class Handler(logging.Handler):
    """What libraries log, as lines of ours; their texts only, never a traceback."""

    def __init__(self, log: Log) -> None:
        super().__init__(logging.INFO)
        self._write: Callable[..., None] = log.write

    def emit(self, record: logging.LogRecord) -> None:
        """One line per record."""
        if record.exc_info and record.exc_info[1] is not None:
            error = record.exc_info[1]
            self._write(
                "failure", "error", kind=type(error).__name__, at=place(error), logger=record.name
            )
            return
        self._write("message", record.levelname.lower(), logger=record.name, text=str(record.msg))


def _line(event: str, level: str, facts: dict[str, Any]) -> str:
    return json.dumps({"time": _now(), "level": level, "event": event, **facts}) + "\n"


def _now() -> str:
    now = time.time()
    return f"{_second(int(now))}.{int(now % 1 * 1000):03}Z"


@lru_cache(2)
def _second(moment: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(moment))


def place(error: BaseException) -> str:
    """The innermost of our own lines that an error passed through."""
    found = ""
    trace: TracebackType | None = error.__traceback__
    while trace is not None:
        module = trace.tb_frame.f_globals.get("__name__", "")
        if module.startswith("sfumato") or not found:
            found = f"{module}:{trace.tb_lineno}"
        trace = trace.tb_next
    return found
