"""A process that judges cases: it may crash or hang, and that is a finding like others."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import traceback
import warnings
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from fuzzing.judging import Finding

PATIENCE = 120.0  # seconds for one case, on a machine that has other things to do
_WARMING = 10  # so many times longer may the first case of a process take: kernels are compiled
Check = Callable[[Any], str]
_SPAWN = multiprocessing.get_context("spawn")


class Worker:
    """Judges cases in a process of its own, and starts another when it dies."""

    def __init__(self, check: Check, patience: float = PATIENCE) -> None:
        self._check, self._patience = check, patience
        self._process: Any = None
        self._warm = False
        self._pipe: Connection | None = None

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def outcome(self, case: Any) -> str:
        """What comes of a case; raises a Finding."""
        pipe = self._pipe or self._start()
        try:
            pipe.send(case)
            patience = self._patience * (1 if self._warm else _WARMING)
            if not pipe.poll(patience):
                self._end()
                raise Finding(f"no outcome in {patience:.0f} seconds")
            good, said = pipe.recv()
            self._warm = True
        except (EOFError, BrokenPipeError, ConnectionResetError):
            raise Finding(self._death()) from None
        if not good:
            raise Finding(said)
        return str(said)

    def _start(self) -> Connection:
        ours, theirs = _SPAWN.Pipe()
        self._process = _SPAWN.Process(target=_serve, args=(self._check, theirs), daemon=True)
        self._process.start()
        theirs.close()
        self._pipe = ours
        return ours

    def _death(self) -> str:
        process = self._process
        process.join(self._patience)
        code = process.exitcode
        self._end()
        if code is not None and code < 0:
            return f"the process was ended by {signal.Signals(-code).name}"
        return f"the process ended with code {code}"

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join(self._patience)
        if self._pipe is not None:
            self._pipe.close()
        self._process = self._pipe = None
        self._warm = False


def _serve(check: Check, pipe: Connection) -> None:
    """Judge cases until nobody sends any."""
    os.environ["SFUMATO_STATE"] = ""
    warnings.simplefilter("ignore")
    with contextlib.suppress(EOFError, BrokenPipeError):
        while True:
            pipe.send(judged(check, pipe.recv()))


def judged(check: Check, case: Any) -> tuple[bool, str]:
    """Whether a case is good, and its outcome or what is wrong."""
    try:
        return True, check(case)
    except Finding as finding:
        return False, str(finding)
    except BaseException as error:  # whatever is not ours is a finding
        at = traceback.extract_tb(error.__traceback__)[-1]
        return (
            False,
            f"{type(error).__name__}: {error} ({at.filename.split('/src/')[-1]}:{at.lineno})",
        )
