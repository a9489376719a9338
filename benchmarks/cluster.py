"""Clusters of two processes on this machine against one process: processor time of all of them.

Processor time is that of the program and of all that it started, looked up while they run. Starting
a cluster is not counted: it takes some seconds whatever the table is. What reaches the driver is
counted as results are pickled, what is exchanged by the files that tasks write (docs/cluster.md has
the model that these counters check). SFUMATO_CLUSTER_ROWS is how many rows there are.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.data import CENSUS_QUASI
from benchmarks.measure import PATIENCE, Line
from benchmarks.regions import write_census

ROWS = int(os.environ.get("SFUMATO_CLUSTER_ROWS", "20000000"))
K = 10
MEMORY = 8 * 2**30 // 5  # bytes for a task: a worker of 2 GiB
WORKER = 2**31
LIMITS = {"dask": 1.8, "spark": 3.5}
WALL = 1.1  # times one process, of the engine that is to keep up with it
DRIVER = 2_000_000  # bytes
SHUFFLED = 1.2  # times the coded table
LIBRARIES = {"dask": "distributed", "spark": "pyspark"}

# SFUMATO_STATE is empty: nothing of a benchmark is remembered.
_CHILD = """
import os, sys
os.environ["SFUMATO_STATE"] = ""
import json, pickle, threading, time, warnings
from pathlib import Path
warnings.simplefilter("ignore")
import sfumato as sf
from sfumato.engines import cluster
from sfumato.engines.pieces import Stored

class Counters:
    def __init__(self):
        self.driver = self.tasks = self.seconds = 0
        self.kinds, self.files, self.stages = {}, {}, []
    def counting(self, run):
        def counted(stages, kind, name, told, items):
            self.kinds[kind.__name__] = self.kinds.get(kind.__name__, 0) + 1
            self.stages.append((name, len(items)))
            for result in run(stages, kind, name, told, items):
                self.tasks += 1
                self.driver += len(pickle.dumps(result))
                if isinstance(result, Stored):
                    size = result.path.stat().st_size
                    self.files[name] = self.files.get(name, 0) + size
                yield result
        return counted

TICK, PAGE = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")

class Watch(threading.Thread):
    def __init__(self):
        super().__init__(daemon=True)
        self.taken, self.peak, self.done = {}, 0, threading.Event()
    def run(self):
        while not self.done.wait(0.3):
            self.look()
    def look(self):
        found = {}
        for entry in Path("/proc").glob("[0-9]*/stat"):
            try:
                name, _, rest = entry.read_text().rpartition(")")
            except OSError:  # it has ended
                continue
            found[int(entry.parent.name)] = [*rest.split(), name]
        ours = {os.getpid()}
        while more := {pid for pid, at in found.items() if int(at[1]) in ours} - ours:
            ours |= more
        for pid in ours:
            self.taken[pid] = (int(found[pid][11]) + int(found[pid][12])) / TICK
            if pid != os.getpid() and "python" in found[pid][-1]:
                self.peak = max(self.peak, int(found[pid][21]) * PAGE)
        return sum(self.taken.values())

def main():
    source, output, engine, memory, k, quasi, sensitive = json.loads(sys.argv[1])
    schema, watch, begun = sf.Schema(quasi=quasi, sensitive=sensitive), Watch(), []
    def tell(stage, share):
        if not begun:
            begun.extend((watch.look(), time.perf_counter(), time.process_time()))
    counters = Counters()
    cluster.Stages.run = counters.counting(cluster.Stages.run)
    watch.start()
    made = sf.publish_file(source, schema, sf.Mondrian(), sf.KAnonymity(k), output, engine=engine,
                           memory_limit=memory, progress=tell, force=True, seed=bytes(range(32)))
    wall = time.perf_counter() - begun[1]
    counters.seconds = time.process_time() - begun[2]
    watch.done.set()
    taken = watch.look() - begun[0]
    again = Watch()
    before = again.look()
    again.start()
    sf.verify(output, engine="memory" if engine == "stream" else engine).require()
    again.done.set()
    print(json.dumps([taken, wall, watch.peak, made.groups, made.metrics["discernibility"],
                      begun[0], again.look() - before, again.peak, vars(counters)]))

main()
"""


class Measured(NamedTuple):
    """Seconds of processor time and on the clock, bytes of the largest worker, the groups, what it
    took to start and to verify, and what was counted: bytes at the driver, tasks, stages of each
    kind, bytes of files by stage.
    """

    taken: float
    wall: float
    peak: int
    groups: int
    discernibility: int
    start: float
    verifying: float
    verifier: int
    counters: dict[str, Any]


def run(folder: Path | None) -> Iterator[Line]:
    """The census repeated with noise."""
    with tempfile.TemporaryDirectory() as place:
        source = Path(place) / "census.parquet"
        name = f"{ROWS:,} rows of {write_census(folder, source, ROWS)}"
        yield from compared(name, source)


def compared(name: str, source: Path) -> Iterator[Line]:
    """Every engine whose library is installed against one process."""
    _measured(source.with_name(f"{source.name}.small.parquet"), "stream")  # compiles the kernels
    stream = _measured(source, "stream")
    for engine, limit in LIMITS.items():
        if find_spec(LIBRARIES[engine]) is None:
            continue
        found = _measured(source, engine)
        yield Line(
            f"{name}: processor time, {engine} / streamed",
            found.taken / stream.taken,
            limit,
            detail=f"{found.taken:.1f} s (and {found.start:.1f} s to start) against "
            f"{stream.taken:.1f} s; {found.wall:.1f} s against {stream.wall:.1f} s on the clock",
        )
        yield Line(f"{name}: time on the clock, {engine} / streamed",
                   found.wall / stream.wall, WALL if engine == "dask" else limit)  # fmt: skip
        yield from _moved(f"{name}, {engine}", found.counters)
        yield Line(f"{name}: memory of a worker, {engine} / 2 GiB", found.peak / WORKER, 1.0)
        yield Line(
            f"{name}: memory of a worker that verifies, {engine} / 2 GiB",
            found.verifier / WORKER,
            1.0,
            detail=f"{found.verifying:.1f} s of processor time with its start, "
            f"{stream.verifying:.1f} s in one process",
        )
        other = (found.groups, found.discernibility) != (stream.groups, stream.discernibility)
        yield Line(f"{name}: other groups, {engine}", float(other), 0.0, unit="")


def _moved(name: str, counters: dict[str, Any]) -> Iterator[Line]:
    """What went where."""
    files, kinds = counters["files"], counters["kinds"]
    stages = ", ".join(f"{stage} {size:,}" for stage, size in files.items())
    yield Line(
        f"{name}: bytes that reach the driver as results / 2 MB",
        counters["driver"] / DRIVER,
        1.0,
        detail=f"{counters['driver']:,} bytes of {counters['tasks']} tasks in "
        f"{sum(kinds.values())} stages: "
        f"{', '.join(f'{n} {stage}' for stage, n in counters['stages'])}; "
        f"{counters['seconds']:.1f} s of processor time at the driver; written: {stages}",
    )
    yield Line(
        f"{name}: rows that change places / the coded table",
        files["region_of"] / files["coded"],
        SHUFFLED,
    )


def _measured(source: Path, engine: str) -> Measured:
    asked: list[Any] = [str(source), str(source.with_suffix(f".{engine}")), engine, MEMORY, K,
                        list(CENSUS_QUASI), "occupation"]  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, json.dumps(asked)],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, text=True, timeout=PATIENCE,
    )  # fmt: skip
    return Measured(*json.loads(done.stdout.splitlines()[-1]))
