"""Workers of a Dask cluster: one that is running, or processes of this machine for the time of a
run.

Keys of tasks are random, with the name of the stage in front: the same task with the same
arguments must still run again. Processes of this machine speak TLS with certificates of the run,
since whoever could reach an open scheduler could run anything here.
"""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import cycle
from multiprocessing import current_process
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sfumato.core.foreign import said
from sfumato.engines.memory import memory_or_half, processors
from sfumato.engines.pieces import Job, can_use, forget
from sfumato.engines.versions import require_alike, versions
from sfumato.errors import MachineError, MissingExtra

# with less a worker would pause for ever, and say nothing
LEAST = 2**30
# of its memory a worker may give so much to a task; Dask ends one that takes nearly all
_SHARE = 0.8
_MOST_LOCAL = 8
_CONNECT, _BEAT, _ALONE, _LATE = 10.0, 2.0, 120.0, 3600.0  # seconds
_DOING = "running on Dask"
_GUARD = (
    "workers read the program that starts them: let what it does stand under "
    'if __name__ == "__main__":'
)
_SETTINGS: dict[str, Any] = {
    # tasks keep to their memory themselves, and what a worker holds for others is tiny
    **{f"distributed.worker.memory.{name}": False for name in ("target", "spill", "pause")},
    # Dask has memory given back to the system at once, to be asked for again by the next array
    "distributed.nanny.pre-spawn-environ": {"OMP_NUM_THREADS": "1"},
    # by default a worker that was killed, and on a busy machine is not back so soon, never comes
    "distributed.deploy.lost-worker-timeout": _LATE,
    "distributed.worker.profile.enabled": False,
}
logger = logging.getLogger("sfumato")


@dataclass(frozen=True, slots=True)
class DaskWorkers:
    """The workers of a cluster, as a client sees them."""

    client: Any
    memory: int

    def run(self, name: str, job: Job, items: Sequence[Any]) -> Iterator[Any]:
        """As futures; those that nobody waits for any more are cancelled."""
        keys = [f"{name}-{uuid.uuid4().hex}" for _ in items]
        futures = deque(self._submitted(job, items, keys))
        try:
            while futures:
                yield self._result(futures[0])
                futures.popleft()
        finally:
            if futures:
                with suppress(OSError):  # the scheduler may be gone
                    self.client.cancel(list(futures), force=True)

    def _submitted(self, job: Job, items: Sequence[Any], keys: Sequence[str]) -> list[Any]:
        """Of a job that returns, every item has a worker that is asked first."""
        first = sorted(self.client.scheduler_info(n_workers=-1)["workers"])
        if not job.returns or not first:
            futures: list[Any] = self.client.map(job, items, key=keys, pure=False)
            return futures
        return [
            self.client.submit(
                job, item, key=key, pure=False, workers=one, allow_other_workers=True
            )
            for item, key, one in zip(items, keys, cycle(first), strict=False)
        ]

    def dumps(self, value: Any) -> bytes:
        """Also what is defined in the owner's own program."""
        import cloudpickle

        pickled: bytes = cloudpickle.dumps(value)
        return pickled

    def store(self, frame: Any, folder: Path) -> None:
        """A file for each partition."""
        with self.client.as_current():
            frame.to_parquet(str(folder), name_function=_part_name, write_index=False)

    def require_folder(self, folder: Path) -> None:
        """Every worker looks for itself."""
        for worker, usable in self._everywhere(can_use, folder).items():
            if not usable:
                raise MachineError(
                    f"worker {worker} cannot write to {folder.parent}; choose an output folder (or "
                    "TMPDIR, for a frame that is read) on storage that all workers share, and run "
                    "them as the same user",
                    doing=_DOING,
                )

    def require_versions(self) -> None:
        """Raise unless all workers have the same libraries as this process."""
        for worker, found in self._everywhere(versions).items():
            require_alike(worker, found)

    def _everywhere(self, function: Any, *given: Any) -> dict[str, Any]:
        try:
            found: dict[str, Any] = self.client.run(function, *given)
        except Exception as error:  # whatever a worker raises that lacks this package
            raise MachineError(
                f"the workers cannot run sfumato ({said(error)}); install the same version there",
                doing=_DOING,
            ) from error
        return found

    def _result(self, future: Any) -> Any:
        from distributed import CancelledError, KilledWorker

        deadline = time.monotonic() + _ALONE
        while True:
            try:
                return future.result(timeout=_BEAT)
            except TimeoutError:
                if _at_work(self.client):
                    deadline = time.monotonic() + _ALONE
                elif time.monotonic() > deadline:
                    raise MachineError(
                        "all workers of the cluster are gone or have paused; give them more "
                        "memory, and run again",
                        doing=_DOING,
                    ) from None
            except KilledWorker as error:
                raise MachineError(
                    "workers died again and again at one task, most likely of too little memory; "
                    f"allow each more than {self.memory:,} bytes",
                    doing=_DOING,
                ) from error
            except CancelledError as error:
                raise MachineError(
                    "the scheduler of the cluster went away; run again", doing=_DOING
                ) from error


def _part_name(number: int) -> str:
    return f"part-{number:09}.parquet"


@contextmanager
def dask_workers(address: str | None, memory: int | None) -> Iterator[DaskWorkers]:
    """Those of a scheduler, of the client that the program has already, or of this machine: as many
    as it has processors.

    ``memory`` is what each task may take.
    """
    try:
        import distributed
    except ImportError as error:
        raise MissingExtra("the engine dask", "dask") from error
    with ExitStack() as ends:
        where: Any = address
        client = _current(distributed) if address is None else None
        if client is None and address is None:
            where = ends.enter_context(_local(memory))
        if client is None:
            client = ends.enter_context(_connected(distributed, where))
        workers = DaskWorkers(client, _memory(client, memory))
        workers.require_versions()
        logger.warning("dashboard of the cluster: %s", client.dashboard_link)
        try:
            yield workers
        finally:
            if where is address and client.status == "running":
                client.run(forget)


def _current(distributed: Any) -> Any:
    """The client of the program, if it has one."""
    try:
        return distributed.default_client()
    except ValueError:
        return None


@contextmanager
def _local(memory: int | None) -> Iterator[Any]:
    import dask
    import distributed

    _require_guard()
    untyped: Any = distributed
    free = memory_or_half(None)
    each = None if memory is None else int(memory / _SHARE)
    n = max(1, min(processors(), _MOST_LOCAL, free // (each or LEAST)))
    each = each or free // n
    _require_memory(each)
    with (
        TemporaryDirectory(prefix="sfumato-") as place,
        dask.config.set(_SETTINGS),
        ExitStack() as ends,
    ):
        try:
            cluster = untyped.LocalCluster(
                n_workers=n,
                threads_per_worker=1,
                memory_limit=each,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",
                security=untyped.Security.temporary(),
                local_directory=place,
                silence_logs=logging.CRITICAL,
            )
        except RuntimeError as error:  # of a worker that ends before it has begun
            raise MachineError(
                f"no worker starts ({said(error)}); {_GUARD}", doing=_DOING
            ) from error
        yield ends.enter_context(cluster)


def _require_guard() -> None:
    """Raise in a worker that reads the program anew, and so would start workers of its own."""
    if getattr(current_process(), "_inheriting", False):
        raise MachineError(f"a worker is about to start workers; {_GUARD}", doing=_DOING)


@contextmanager
def _connected(distributed: Any, where: Any) -> Iterator[Any]:
    try:
        if isinstance(where, str):
            _require_answer(distributed, where)
        client = distributed.Client(where, timeout=_CONNECT, set_as_default=False)
    except (TypeError, FileNotFoundError) as error:  # none, or files that are not there
        raise MachineError(
            f"{where} wants certificates, and Dask's settings name none that are there: set "
            "DASK_DISTRIBUTED__COMM__TLS__CA_FILE, ..._CLIENT__CERT and ..._CLIENT__KEY "
            "(docs/cluster.md)",
            doing=_DOING,
        ) from error
    except (OSError, ValueError) as error:
        raise MachineError(
            f"no Dask scheduler answers at {where} ({said(error)}); start one with `dask "
            "scheduler`, or leave the address out to use this machine alone",
            doing=_DOING,
        ) from error
    with client:
        if not _infos(client):
            try:
                client.wait_for_workers(1, timeout=_CONNECT)
            except TimeoutError as error:
                raise MachineError(
                    f"the Dask scheduler at {where} has no workers; start some with `dask worker`",
                    doing=_DOING,
                ) from error
        yield client


def _require_answer(distributed: Any, where: str) -> None:
    """A client would wait for ever for whoever takes its call and says nothing, or is a worker."""

    async def ask() -> Any:
        given = distributed.Security().get_connection_args("client")
        comm = await distributed.comm.connect(where, timeout=_CONNECT, **given)
        try:
            await comm.write({"op": "identity", "reply": True})
            return await comm.read()
        finally:
            comm.abort()

    # in a thread of its own: a notebook has a loop already
    with ThreadPoolExecutor(1) as alone:
        answer = alone.submit(asyncio.run, asyncio.wait_for(ask(), _CONNECT))
        try:
            said_there = answer.result()
        except MemoryError as error:  # of other protocols, a first word is taken for a length
            raise ValueError("something else answers there, such as a dashboard") from error
        except TimeoutError as error:
            told = f"nothing was said in {_CONNECT:g} seconds"
            raise TimeoutError(str(error) or told) from error
    kind = said_there.get("type")
    if kind != "Scheduler":
        raise ValueError(f"a {kind} answers there")


def _memory(client: Any, asked: int | None) -> int:
    """The bytes that a task may take on the smallest worker, or fewer if that is asked for."""
    each = [info["memory_limit"] // info["nthreads"] for info in _infos(client)]
    least = min((limit for limit in each if limit), default=memory_or_half(None))
    _require_memory(least)
    most = int(_SHARE * least)
    return min(most, asked or most)


def _require_memory(each: int) -> None:
    if each < LEAST:
        raise MachineError(
            f"{each:,} bytes of memory for a worker are too few: allow each task "
            f"{int(_SHARE * LEAST) + 1:,} bytes, and a worker {LEAST:,} for each of its threads",
            doing=_DOING,
        )


def _infos(client: Any) -> list[dict[str, Any]]:
    return list(client.scheduler_info(n_workers=-1)["workers"].values())


def _at_work(client: Any) -> bool:
    return any(info.get("status") == "running" for info in _infos(client))
