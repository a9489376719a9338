"""Workers for tests: in this process, each task twice; and real clusters of two processes."""

from __future__ import annotations

import base64
import os
import pickle
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import cloudpickle
import pytest

from sfumato.engines.java import LEAST, java_version
from sfumato.engines.pieces import Done, Job, Stored
from sfumato.verbs import grouping
from tests.support.waiting import PATIENCE, eventually

GIGABYTES = 3 * 2**29  # for each worker


class NotTheSame(AssertionError):
    """A task that was run again did something else."""


@dataclass
class Replaying:
    """Workers of this process that run every task twice, in any order, as a cluster may.

    Nothing reaches a task but by pickling. What the first attempt wrote is left to lie there.
    """

    memory: int
    stages: list[tuple[str, int]] = field(default_factory=list)
    chance: random.Random = field(default_factory=lambda: random.Random(4))

    def run(self, name: str, job: Job, items: Sequence[Any]) -> Iterator[Any]:
        self.stages.append((name, len(items)))
        pickled = pickle.dumps(job)
        attempts = [*enumerate(items), *enumerate(items)]
        self.chance.shuffle(attempts)
        done: dict[int, Done] = {}
        for number, item in attempts:
            attempt = pickle.loads(pickled)(pickle.loads(pickle.dumps(item)))
            if number in done and _seen(attempt) != _seen(done[number]):
                raise NotTheSame(name)
            done[number] = pickle.loads(pickle.dumps(attempt))
        return iter([done[number] for number in range(len(items))])

    def dumps(self, value: Any) -> bytes:
        pickled: bytes = cloudpickle.dumps(value)
        return pickled

    def store(self, frame: Any, folder: Path) -> None:
        raise NotImplementedError

    def require_folder(self, folder: Path) -> None:
        assert folder.stat().st_mode & 0o777 == 0o700


def _seen(done: Done) -> object:
    """What came of a task, whatever its files are called."""
    if isinstance(done.result, Stored):
        return done.result.path.read_bytes(), done.result.rows
    if isinstance(done.result, Path):
        return done.result.read_bytes()
    return pickle.dumps(done.result), repr(done.error)


class Cluster(Protocol):
    """A real cluster of two processes."""

    def how(self) -> dict[str, Any]:
        """What to tell publish_file."""
        ...

    def victim(self) -> int:
        """What to kill, asked by a task: the process that runs it, or one that it belongs to."""
        ...

    def complete(self) -> None:
        """Until both processes are there."""
        ...


@dataclass(frozen=True)
class DaskCluster:
    """A scheduler and two workers with their nannies."""

    address: str
    client: Any
    certificates: dict[str, str] = field(default_factory=dict)

    def how(self) -> dict[str, Any]:
        """By its address."""
        return {"engine": "dask", "scheduler": self.address}

    victim = staticmethod(os.getpid)  # the child of a nanny

    def complete(self) -> None:
        """Dask knows."""
        self.client.wait_for_workers(2, timeout=PATIENCE)


@dataclass(frozen=True)
class SparkCluster:
    """A master, two workers and their executors."""

    context: Any

    def how(self) -> dict[str, Any]:
        """The context of this process."""
        return {"engine": "spark"}

    @staticmethod
    def victim() -> int:
        """The virtual machine: it forks a process, which forks those that run tasks."""
        above = os.getppid()
        return int(Path(f"/proc/{above}/stat").read_text().rpartition(")")[2].split()[1])

    def complete(self) -> None:
        """Until tasks are seen on both."""
        eventually(lambda: len(set(self._executors())) == 2, "the second executor")

    def logs(self) -> list[Path]:
        """What executors wrote."""
        return [path for path in self.work.rglob("*") if path.is_file()]

    @property
    def work(self) -> Path:
        """Where Spark lets the executors of this application run: inside of its own package."""
        package = find_spec("pyspark")
        assert package is not None
        assert package.origin is not None
        return Path(package.origin).parent / "work" / str(self.context.applicationId)

    def _executors(self) -> list[int]:
        found: list[int] = self.context.parallelize(range(8), 8).map(_slowly).collect()
        return found


def _slowly(_item: int) -> int:
    time.sleep(0.2)  # so that the other executor gets tasks too
    return SparkCluster.victim()


@contextmanager
def cluster(engine: str) -> Iterator[Cluster]:
    """One of this kind, if its library is installed."""
    started: AbstractContextManager[Cluster] = (
        dask_cluster() if engine == "dask" else spark_cluster()
    )
    with started as found:
        yield found


@contextmanager
def spark_cluster(settings: Mapping[str, str] | None = None) -> Iterator[SparkCluster]:
    """A master and two workers that are processes of their own, at free ports."""
    if find_spec("pyspark") is None:
        pytest.skip("the extra spark is not installed; make spark has an environment with it")
    if (java_version() or 0) < LEAST:
        pytest.skip("Spark needs a newer Java")
    import pyspark

    untyped: Any = pyspark
    # a virtual machine that an earlier test has started has its own environment
    places = os.pathsep.join(map(str, filter(None, sys.path)))
    conf = untyped.SparkConf().setAppName("tests").setMaster("local-cluster[2,1,1024]")
    conf.setAll({"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1",
                 "spark.executor.memory": "1g", "spark.log.level": "OFF",
                 "spark.executorEnv.PYTHONPATH": places,
                 "spark.ui.showConsoleProgress": "false", **(settings or {})}.items())  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("PYTHONPATH", places)
        context = untyped.SparkContext(conf=conf)
        started = SparkCluster(context)
        work = started.work
        try:
            yield started
        finally:
            context.stop()
            shutil.rmtree(work, ignore_errors=True)


@contextmanager
def dask_cluster(secure: bool = False) -> Iterator[DaskCluster]:
    """Two processes and their nannies, at free ports."""
    if find_spec("distributed") is None:
        pytest.skip("the extra dask is not installed")
    import dask
    import distributed

    untyped: Any = distributed
    security = untyped.Security.temporary() if secure else None
    with (
        # a busy machine takes longer than Dask's 15 seconds to start a killed worker anew
        dask.config.set({"distributed.deploy.lost-worker-timeout": PATIENCE}),
        untyped.LocalCluster(
            n_workers=2, threads_per_worker=1, memory_limit=GIGABYTES, host="127.0.0.1",
            dashboard_address="127.0.0.1:0", silence_logs=50, security=security,
        ) as cluster,
        untyped.Client(cluster, set_as_default=False) as client,
    ):  # fmt: skip
        yield DaskCluster(cluster.scheduler_address, client, _certificates(security))


def _certificates(security: Any) -> dict[str, str]:
    """By the names that Dask's settings have for them."""
    if security is None:
        return {}
    return {
        "ca-file": security.tls_ca_file,
        "client.cert": security.tls_client_cert,
        "client.key": security.tls_client_key,
    }


def spied_keys(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The keys that decide about the order of releases from now on, in a list that grows."""
    secrets: list[bytes] = []
    group = grouping.grouped

    def spying(engine: Any, recipe: Any, *more: Any) -> Any:
        secrets.extend((recipe.groups.secret, recipe.rows.secret))
        return group(engine, recipe, *more)

    monkeypatch.setattr("sfumato.verbs.streaming.grouped", spying)
    return secrets


def spelled(secret: bytes) -> tuple[bytes, ...]:
    """How bytes may look in a log or a message."""
    shown = repr(secret)[2:-1]
    return secret, secret.hex().encode(), base64.b64encode(secret), shown.encode()


@dataclass(frozen=True)
class Killing:
    """A job that ends its worker when one item is done, before anybody hears of it; once."""

    job: Job
    item: Any
    mark: Path
    victim: Callable[[], int]

    @property
    def returns(self) -> bool:
        """As the job does."""
        return self.job.returns

    def __call__(self, item: Any) -> Done:
        done = self.job(item)
        if item == self.item:
            with suppress(FileExistsError):
                self.mark.touch(exist_ok=False)
                kill(self.victim())
                time.sleep(PATIENCE)
        return done


def kill(process: int) -> None:
    """End a process that has no time to say anything."""
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)
