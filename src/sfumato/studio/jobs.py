"""Long work in a thread of its own: what it says of itself, and how it is stopped."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from sfumato.algorithms.base import Stages
from sfumato.core.foreign import as_ours
from sfumato.errors import SfumatoError

Work = Callable[[Stages], Any]


class Stopped(KeyboardInterrupt):
    """The owner does not want to wait: what is done is kept, as with Ctrl-C."""


class Job:
    """One piece of work, begun at once; its result is there when ``state`` is ``done``."""

    def __init__(self, kind: str, work: Work, done: Callable[[Any], None]) -> None:
        self.kind = kind
        self.state = "running"
        self.stage = ""
        self.share = 0.0
        self.trouble: str | None = None
        self._begun = time.monotonic()
        self._ended: float | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(work, done), name=kind, daemon=True)
        self._thread.start()

    @property
    def running(self) -> bool:
        """Whether it is under way."""
        return self.state == "running"

    def stop(self) -> None:
        """Ask it to end at the next occasion."""
        self._stop.set()

    def wait(self, seconds: float) -> None:
        """Wait until it has ended, or for so long."""
        self._thread.join(seconds)

    def told(self) -> dict[str, Any]:
        """For the page."""
        return {
            "kind": self.kind,
            "state": self.state,
            "stage": self.stage,
            "share": self.share,
            "stopping": self.running and self._stop.is_set(),
            "seconds": (self._ended or time.monotonic()) - self._begun,
            "trouble": self.trouble,
        }

    def _run(self, work: Work, done: Callable[[Any], None]) -> None:
        state = "failed"
        try:
            done(work(self._tell))
            state = "done"
        except Stopped:
            state = "stopped"
        except SfumatoError as error:
            self.trouble = str(error)
        except Exception as error:
            foreign = as_ours(error, self.kind)
            self.trouble = str(foreign) if foreign else f"a bug of sfumato: {type(error).__name__}"
        finally:
            self._ended = time.monotonic()
            self.state = state

    def _tell(self, stage: str, share: float) -> None:
        if self._stop.is_set():
            raise Stopped
        self.stage, self.share = stage, share
