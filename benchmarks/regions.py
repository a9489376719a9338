"""Mondrian beyond memory: processor time, memory and groups against the same run in memory."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.data import CENSUS_QUASI, census
from benchmarks.measure import PATIENCE, Line

ROWS, WIDE_ROWS = 50_000_000, 20_000_000
K = 50
MEMORY = 3 * 2**29  # bytes: 1.5 GiB
_BATCH = 1_000_000

# SFUMATO_STATE is empty: nothing of a benchmark is remembered.
_CHILD = """
import os, sys
os.environ["SFUMATO_STATE"] = ""
import json, resource, time, warnings
warnings.simplefilter("ignore")
import sfumato as sf
source, output, engine, memory, k, quasi, sensitive = json.loads(sys.argv[1])
schema = sf.Schema(quasi=quasi, sensitive=sensitive)
def run(source, output):
    return sf.publish_file(source, schema, sf.Mondrian(), sf.KAnonymity(k), output,
                           engine=engine, memory_limit=memory, force=True)
run(source + ".small.parquet", output + ".small")  # loads the kernels
start = time.process_time()
made = run(source, output)
taken = time.process_time() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps([taken, peak, made.groups, made.metrics["discernibility"]]))
"""


def run(folder: Path | None) -> Iterator[Line]:
    """The census repeated with noise, and eight columns in which nearly all vectors differ."""
    with tempfile.TemporaryDirectory() as place:
        source = Path(place) / "census.parquet"
        name = write_census(folder, source, ROWS)
        yield from _compared(
            f"{ROWS:,} rows of {name}", source, list(CENSUS_QUASI), "occupation", K
        )
    with tempfile.TemporaryDirectory() as place:
        source = Path(place) / "wide.parquet"
        _wide(source, WIDE_ROWS)
        quasi = [f"q{i}" for i in range(8)]
        yield from _compared(f"{WIDE_ROWS:,} rows, 8 QIs all different", source, quasi, "s", 10)


def _compared(name: str, source: Path, quasi: list[str], sensitive: str, k: int) -> Iterator[Line]:
    how = (k, quasi, sensitive)
    memory = _published(source, "memory", None, how)
    stream = _published(source, "stream", MEMORY, how)
    yield Line(
        f"{name}: processor time, streamed / in memory",
        stream[0] / memory[0],
        1.3,
        detail=f"{stream[0]:.1f} s and {stream[1] / 2**20:,.0f} MiB against {memory[0]:.1f} s and "
        f"{memory[1] / 2**20:,.0f} MiB; {stream[2]:,} groups",
    )
    yield Line(f"{name}: peak memory / 1.5 GiB", stream[1] / MEMORY, 1.0)
    yield Line(f"{name}: other groups", float(stream[2:] != memory[2:]), 0.0, unit="")


def _published(
    source: Path, engine: str, memory: int | None, how: tuple[int, list[str], str]
) -> list[Any]:
    asked = [str(source), str(source.with_suffix(".out")), engine, memory, *how]
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, json.dumps(asked)],
        stdout=subprocess.PIPE,
        check=True,
        text=True,
        timeout=PATIENCE,
    )
    found: list[Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def write_census(folder: Path | None, path: Path, rows: int) -> str:
    """The census workers over and over, three in ten values of long domains moved a little."""
    table, name = census(folder, 10**9)
    chance = np.random.default_rng(7)
    codes = {}
    for column in table.column_names:
        values, found = np.unique(table[column].to_numpy(), return_inverse=True)
        codes[column] = (found, len(values))

    def batch(n: int) -> list[pa.Array]:
        pick = chance.integers(0, table.num_rows, n)
        return [pa.array(_moved(found[pick], size, chance)) for found, size in codes.values()]

    _write(path, table.column_names, batch, rows)
    return name


def _moved(codes: Any, size: int, chance: np.random.Generator) -> Any:
    if size > 20:
        near = np.clip(codes + chance.integers(-3, 4, len(codes)), 0, size - 1)
        codes = np.where(chance.random(len(codes)) < 0.3, near, codes)
    return codes.astype(np.int16)


def _wide(path: Path, rows: int) -> None:
    chance = np.random.default_rng(3)

    def batch(n: int) -> list[pa.Array]:
        quasi = [(100 * chance.random(n) ** 1.3).astype(np.int16) for _ in range(8)]
        return [*map(pa.array, quasi), pa.array(chance.integers(0, 50, n).astype(np.int16))]

    _write(path, [*(f"q{i}" for i in range(8)), "s"], batch, rows)


def _write(path: Path, names: list[str], batch: Any, rows: int) -> None:
    fields = pa.schema([(name, pa.int16()) for name in names])
    for target, size in ((path, rows), (Path(f"{path}.small.parquet"), 50_000)):
        with pq.ParquetWriter(target, fields, compression="zstd") as writer:
            for low in range(0, size, _BATCH):
                writer.write_table(pa.table(batch(min(_BATCH, size - low)), schema=fields))
