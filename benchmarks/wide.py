"""Thousands of columns, and cells that are long.

Time must follow the columns, not their square; memory must not follow what sets take row by row.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

import sfumato as sf
from benchmarks.measure import PATIENCE, Line, seconds

_ROWS = 300
_COLUMNS = (2_000, 4_000)
_NAMES = 50_000
_PEAK = """
import re, sys, sfumato as sf
assert sf.{verb}(sys.argv[1]) is not None
# not ru_maxrss: a process starts with that of the one that started it
print(int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]) / 1024)
"""


def run(_: Path | None) -> Iterator[Line]:
    """Twice the columns against as many; peak memory by what the groups hold."""
    few, many = (_measured(columns) for columns in _COLUMNS)
    for verb, spent in many.items():
        detail = f"{_ROWS} rows, processor time: {spent:.2f} s against {few[verb]:.2f} s"
        name = f"{verb}, {_COLUMNS[1]:,} / {_COLUMNS[0]:,} columns"
        yield Line(name, spent / few[verb], 2.5, detail=detail)
    yield from _peaks()


def _measured(columns: int) -> dict[str, float]:
    """Processor time of every verb on a table of so many quasi-identifiers."""
    generator = np.random.default_rng(0)
    quasi = [f"q{place}" for place in range(columns)]
    table = pa.table(
        {
            **{name: generator.integers(0, 50, _ROWS) for name in quasi},
            "s": [f"s{value}" for value in generator.integers(0, 8, _ROWS)],
        }
    )
    schema = sf.Schema(quasi=quasi, sensitive="s")
    microdata = sf.read(table, schema)
    made = sf.publish(microdata, sf.Mondrian(), sf.KAnonymity(5))
    with tempfile.TemporaryDirectory() as place:
        folder = made.write(Path(place) / "release")
        verbs: dict[str, Callable[[], object]] = {
            "read": lambda: sf.read(table, schema),
            "publish": lambda: sf.publish(microdata, sf.Mondrian(), sf.KAnonymity(5)),
            "write": lambda: made.write(folder, force=True),
            "verify": lambda: sf.verify(folder).require(),
            "load and count": lambda: sf.load(folder).count("q0 < 20 AND s = 's1'"),
            "evaluate": lambda: sf.evaluate(folder, microdata, queries=20, seed=1),
            "inspect": lambda: sf.guess_schema(sf.profile(table)),
        }
        return {verb: _best(call) for verb, call in verbs.items()}


def _best(call: Callable[[], object]) -> float:
    return min(seconds(call, time.process_time) for _ in range(2))


def _peaks() -> Iterator[Line]:
    """Sets of 500 and of 2,000 different names, in each of 50,000 rows."""
    with tempfile.TemporaryDirectory() as place:
        folders = [_long_sets(k, Path(place) / str(k)) for k in (500, 2_000)]
        for verb in ("verify", "load"):
            short, long = (_peak(verb, folder) for folder in folders)
            detail = f"{_NAMES:,} different texts: {long:.0f} MB against {short:.0f} MB"
            yield Line(f"peak of {verb}, k = 2,000 / 500", long / short, 1.5, detail=detail)


def _long_sets(k: int, folder: Path) -> Path:
    generator = np.random.default_rng(0)
    table = pa.table(
        {
            "job": [f"job number {i}" for i in generator.permutation(_NAMES)],
            "age": generator.integers(0, 90, _NAMES),
            "s": [f"s{value}" for value in generator.integers(0, 20, _NAMES)],
        }
    )
    microdata = sf.read(table, sf.Schema(quasi=["job", "age"], sensitive="s"))
    return sf.publish(microdata, sf.Mondrian(), sf.KAnonymity(k)).write(folder)


def _peak(verb: str, folder: Path) -> float:
    """MB of a process that does nothing else."""
    script = [sys.executable, "-W", "ignore", "-c", _PEAK.format(verb=verb), str(folder)]
    done = subprocess.run(script, capture_output=True, text=True, check=True, timeout=PATIENCE)
    return float(done.stdout)
