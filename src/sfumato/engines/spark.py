"""Executors of a Spark cluster: of the program's own context, of a master, or of this machine.

A stage is one job of Spark with a task for each item; rows go through committed files as with any
cluster (pieces.py), so nothing but names and small results passes through the JVM.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any

from sfumato.engines.memory import memory_or_half, processors
from sfumato.engines.pieces import Job, can_use
from sfumato.engines.spark_context import (
    DOING,
    reason,
    require_address,
    require_answer,
    require_java,
    started,
)
from sfumato.engines.versions import require_alike, versions
from sfumato.errors import MachineError, MissingExtra, ParameterError

_SOON, _FIRST = 15.0, 300.0  # seconds for a first task to end; others may have the executors now
_REMOTE_MEMORY = 2**30  # of a task, where nothing else is said
_MISSING = "ModuleNotFoundError"
_INSTALL = "install it where executors run, or name the Python that has it in PYSPARK_PYTHON"
_ALLOW = "if executors were lost, allow each more memory"
logger = logging.getLogger("sfumato")


@dataclass(frozen=True, slots=True)
class SparkWorkers:
    """The executors of a context."""

    context: Any
    memory: int

    def run(self, name: str, job: Job, items: Sequence[Any]) -> Iterator[Any]:
        """All at once; results come in the order of partitions."""
        self.context.setJobDescription(name)
        try:
            yield from self._collected(job, items)
        finally:
            self.context.setJobDescription(None)

    def dumps(self, value: Any) -> bytes:
        """Also what is defined in the owner's own program."""
        from pyspark import cloudpickle

        pickled: bytes = cloudpickle.dumps(value)
        return pickled

    def store(self, frame: Any, folder: Path) -> None:
        """A file for each partition."""
        frame.write.parquet(folder.as_uri())

    def require_folder(self, folder: Path) -> None:
        """Executors that can be reached look for themselves."""
        if not all(self._everywhere(can_use, folder)):
            raise MachineError(
                f"an executor cannot write to {folder.parent}; choose an output folder (or TMPDIR, "
                "for a frame that is read) on storage that all of them share, and run them as the "
                "same user",
                doing=DOING,
            )

    def require_versions(self) -> None:
        """Raise unless executors have the same libraries as this process."""
        found: list[dict[str, str]] = []

        def ask() -> None:
            found.extend(self._everywhere(versions))

        if not _in_time(ask):
            raise MachineError(
                "the Spark cluster has no executor that runs a task; see its dashboard for why",
                doing=DOING,
            )
        for number, one in enumerate(found):
            require_alike(f"{number} of Spark", one)

    def _everywhere(self, function: Callable[..., Any], *given: Any) -> list[Any]:
        """Often enough for every executor to take part, most likely."""
        return self._collected(_Asked(function, given), range(4 * self.context.defaultParallelism))

    def _collected(self, job: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        from py4j.protocol import Py4JError

        try:
            found: list[Any] = self.context.parallelize(items, len(items)).map(job).collect()
        except Py4JError as error:
            if self.context._jsc.sc().isStopped():
                raise MachineError(
                    f"the Spark master {self.context.master} went away, or never answered; see "
                    "whether it runs, and try again",
                    doing=DOING,
                ) from error
            why = reason(error)
            helps = _INSTALL if _MISSING in why else _ALLOW
            raise MachineError(
                f"a task failed on Spark again and again ({why}); {helps}", doing=DOING
            ) from error
        return found


@dataclass(frozen=True, slots=True)
class _Asked:
    """A function that does not care about the item."""

    function: Callable[..., Any]
    given: tuple[Any, ...]

    def __call__(self, _item: Any) -> Any:
        return self.function(*self.given)


@contextmanager
def spark_workers(master: str | None, memory: int | None) -> Iterator[SparkWorkers]:
    """Those of the context that the program has already, or of a new one that ends with the run.

    ``memory`` is what each task may take.
    """
    try:
        import pyspark
    except ImportError as error:
        raise MissingExtra("the engine spark", "spark") from error
    untyped: Any = pyspark
    running = untyped.SparkContext._active_spark_context
    if running is not None:
        if master not in (None, running.master):
            raise ParameterError(
                f"this program has a Spark context at {running.master}, not at {master}; stop it, "
                "or leave the master out",
                parameter="master",
            )
        yield _checked(running, memory or _REMOTE_MEMORY)
        return
    if master is not None:
        require_address(master)
    require_java()
    if master is not None:
        require_answer(master)
    n = max(1, min(processors(), memory_or_half(None) // (memory or _REMOTE_MEMORY)))
    each = memory or (memory_or_half(None) // n if master is None else _REMOTE_MEMORY)
    with TemporaryDirectory(prefix="sfumato-") as place, started(untyped, master, n, place) as new:
        yield _checked(new, each)


def _checked(context: Any, memory: int) -> SparkWorkers:
    workers = SparkWorkers(context, memory)
    workers.require_versions()
    if context.uiWebUrl is not None:
        logger.warning("dashboard of the cluster: %s", context.uiWebUrl)
    return workers


def _in_time(ask: Callable[[], None]) -> bool:
    """Whether something ends; its error is raised here."""
    errors: list[BaseException] = []

    def asking() -> None:
        try:
            ask()
        except BaseException as error:
            errors.append(error)

    thread = Thread(target=asking, daemon=True)
    thread.start()
    thread.join(_SOON)
    if thread.is_alive():
        logger.warning("waiting for an executor of the Spark cluster")
    thread.join(_FIRST)
    if errors:
        raise errors[0]
    return not thread.is_alive()
