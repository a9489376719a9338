"""Parquet in, release folder out: against DuckDB copying the same columns; peak memory."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow.parquet as pq

import sfumato as sf
from benchmarks.data import CENSUS_QUASI, census
from benchmarks.measure import PATIENCE, Line, ratio
from sfumato.core.fingerprint import fingerprint

_MEMORY = """
import resource, sys
import sfumato as sf
schema = sf.Schema(quasi={quasi!r}, sensitive="occupation")
table = sf.read(sys.argv[1], schema)
sf.publish(table, sf.Mondrian(), sf.KAnonymity(10)).write(sys.argv[2])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def run(folder: Path | None) -> Iterator[Line]:
    """The whole way from file to folder."""
    with tempfile.TemporaryDirectory() as place:
        yield _against_copy(folder, Path(place))
        yield _fingerprint(folder, Path(place))
        yield _memory(folder, Path(place))


def _against_copy(folder: Path | None, place: Path) -> Line:
    table, source = census(folder, 1_000_000)
    pq.write_table(table, place / "in.parquet", compression="zstd")
    schema = sf.Schema(quasi=CENSUS_QUASI, sensitive="occupation")

    def ours() -> None:
        release = sf.publish(
            sf.read(place / "in.parquet", schema), sf.Mondrian(), sf.KAnonymity(10)
        )
        release.write(place / "out", force=True)

    def copy() -> None:
        duckdb.connect().execute(
            f"COPY (SELECT * FROM '{place / 'in.parquet'}') "
            f"TO '{place / 'copy.parquet'}' (FORMAT parquet, COMPRESSION zstd)"
        )

    line = ratio("Parquet to release / DuckDB copy", ours, copy, limit=2.8, clock=time.process_time)
    shutil.rmtree(place / "out")
    return Line(
        line.name,
        line.figure,
        line.limit,
        detail=f"1M rows of {source}, processor time: {line.detail}",
    )


def _fingerprint(folder: Path | None, place: Path) -> Line:
    """What it costs to remember which rows were published."""
    rows, source = census(folder, 1_000_000)
    table = sf.read(rows, sf.Schema(quasi=CENSUS_QUASI, sensitive="occupation"))

    def ours() -> None:
        fingerprint(table, bytes(32))

    def publishing() -> None:
        sf.publish(table, sf.Mondrian(), sf.KAnonymity(10)).write(place / "out", force=True)

    line = ratio("fingerprint of the rows / publishing them", ours, publishing, limit=0.2)
    shutil.rmtree(place / "out")
    return Line(line.name, line.figure, line.limit, detail=f"1M rows of {source}: {line.detail}")


def _memory(folder: Path | None, place: Path) -> Line:
    table, source = census(folder, 1_400_000)
    pq.write_table(table, place / "all.parquet", compression="zstd")
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            _MEMORY.format(quasi=CENSUS_QUASI),
            str(place / "all.parquet"),
            str(place / "all"),
        ],
        capture_output=True,
        check=True,
        text=True,
        env=os.environ,
        timeout=PATIENCE,
    )
    gibibytes = int(done.stdout) / 2**20
    detail = f"{table.num_rows:,} rows of {source}, whole process"
    return Line("peak memory, Parquet to release", gibibytes, 1.5, "GiB", detail)
