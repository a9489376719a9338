"""Anatomize out of memory: 10 and 50 million rows under a limit of 2 GiB on the process."""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.data import CENSUS_QUASI, CENSUS_SIZES
from benchmarks.measure import PATIENCE, Line

L = 10
VALUES = 50
SMALL, LARGE = 10_000_000, 50_000_000
REPEATS = {SMALL: 3, LARGE: 1}
LIMIT = 2 * 2**30
_BATCH = 1_000_000

# The limit is set before anything is imported: RLIMIT_AS is what `ulimit -v` sets, and counts all
# address space, code and untouched reserves included. A small run first loads the kernels.
_CHILD = """
import resource, sys
limit = int(sys.argv[3])
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
import json, time
import sfumato as sf

schema = sf.Schema(quasi={quasi!r}, sensitive="occupation")

def anatomize(source, output):
    sf.publish_file(
        source, schema, sf.Anatomize({near}), sf.LDiversity({l}), output, engine="stream",
        memory_limit=limit // 2,
    )

anatomize(sys.argv[1] + ".small.parquet", sys.argv[2] + ".small")
start, cpu = time.perf_counter(), time.process_time()
anatomize(sys.argv[1], sys.argv[2])
taken, cpu = time.perf_counter() - start, time.process_time() - cpu
print(json.dumps([taken, cpu, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024]))
"""


def run(folder: Path | None, sizes: tuple[int, ...] = (SMALL, LARGE)) -> Iterator[Line]:
    """Whether it finishes, verifies, and grows linearly; the data are generated in any case."""
    del folder
    for near, name in ((True, "neighbours"), (False, "as in the paper")):
        yield from _way(near, name, sizes)


def _way(near: bool, name: str, sizes: tuple[int, ...]) -> Iterator[Line]:
    """One way to make groups."""
    taken: dict[int, float] = {}
    cpu: dict[int, float] = {}
    for rows in sizes:
        with tempfile.TemporaryDirectory() as place:
            taken[rows], cpu[rows], peak, flaws = _measure(Path(place), rows, near)
        yield Line(
            f"{rows:,} rows streamed, {name}: peak memory",
            peak / LIMIT,
            1.0,
            detail=f"{taken[rows]:.1f} s ({cpu[rows]:.1f} s of processor time), "
            f"{peak / 2**20:,.0f} MiB resident, RLIMIT_AS 2 GiB; "
            "finished and verified" + "".join(f"; FLAW: {flaw}" for flaw in flaws),
        )
        yield Line(f"{rows:,} rows streamed, {name}: flaws", len(flaws), 0.0, unit="")
    if {SMALL, LARGE} <= set(taken):
        yield Line(
            f"streamed time per row, {name}, {LARGE:,} / {SMALL:,} rows",
            taken[LARGE] / taken[SMALL] / (LARGE / SMALL),
            1.15,
            detail=f"{taken[LARGE]:.1f} s against {taken[SMALL]:.1f} s; in processor time "
            f"{cpu[LARGE]:.1f} s against {cpu[SMALL]:.1f} s, "
            f"ratio {cpu[LARGE] / cpu[SMALL] / (LARGE / SMALL):.2f}",
        )


def _measure(place: Path, rows: int, near: bool) -> tuple[float, float, int, list[str]]:
    """Median seconds (clock, processor), highest peak memory in bytes, flaws of the release."""
    source, output = place / "in.parquet", place / "out"
    _generate(source, rows)
    _generate(place / "in.parquet.small.parquet", 100_000)
    program = _CHILD.format(quasi=CENSUS_QUASI, l=L, near=near)
    taken, cpus, peaks = [], [], []
    for _ in range(REPEATS.get(rows, 1)):
        shutil.rmtree(output, ignore_errors=True)
        shutil.rmtree(f"{output}.small", ignore_errors=True)
        done = subprocess.run(
            [sys.executable, "-c", program, str(source), str(output), str(LIMIT)],
            stdout=subprocess.PIPE,
            check=True,
            text=True,
            timeout=PATIENCE,
        )
        seconds, cpu, peak = json.loads(done.stdout.splitlines()[-1])
        taken.append(seconds)
        cpus.append(cpu)
        peaks.append(peak)
    flaws = list(_flaws(source, output))
    return statistics.median(taken), statistics.median(cpus), max(peaks), flaws


def _generate(path: Path, rows: int) -> None:
    """Skewed columns with the census domain sizes, a million rows at a time."""
    generator = np.random.default_rng(rows)
    fields = pa.schema([(name, pa.int16()) for name in (*CENSUS_QUASI, "occupation")])
    with pq.ParquetWriter(path, fields, compression="zstd") as writer:
        for low in range(0, rows, _BATCH):
            n = min(_BATCH, rows - low)
            columns = [
                (size * generator.random(n) ** 1.3).astype(np.int16)
                for size in (*CENSUS_SIZES, VALUES)
            ]
            writer.write_table(pa.table(columns, schema=fields))


def _flaws(source: Path, output: Path) -> Iterator[str]:
    """What is wrong with the release, from its files and the input, batch by batch."""
    if not _is_ordered(output / "qit.parquet"):
        yield "rows of the QIT are not ordered by group"
    if not _is_ordered(output / "st.parquet", "occupation"):
        yield "records of the ST are not strictly ordered by group and value"
    listed = ", ".join(CENSUS_QUASI)
    with duckdb.connect(config={"memory_limit": "2GB"}) as connection:

        def ask(query: str) -> list[tuple[object, ...]]:
            return connection.sql(query).fetchall()

        sums = f"SELECT count(*), sum(hash({listed})), bit_xor(hash({listed})) FROM"
        if ask(f"{sums} '{source}'") != ask(f"{sums} '{output / 'qit.parquet'}'"):
            yield "the QIT has other rows than the input"
        counted = "SELECT occupation, {} FROM '{}' GROUP BY ALL ORDER BY ALL"
        if ask(counted.format("count(*)", source)) != ask(
            counted.format("sum(count)", output / "st.parquet")
        ):
            yield "the ST has other values than the input"
        unfit = (
            f"FROM (SELECT group_id, sum(count) n, max(count) m FROM '{output / 'st.parquet'}' "
            f"GROUP BY 1) s FULL JOIN (SELECT group_id, count(*) n FROM '{output / 'qit.parquet'}' "
            f"GROUP BY 1) q USING (group_id) WHERE s.n IS DISTINCT FROM q.n OR s.m * {L} > s.n"
        )
        if ask(f"SELECT count(*) {unfit}") != [(0,)]:
            yield "QIT and ST do not fit, or a value is too frequent in a group"


def _is_ordered(path: Path, value: str | None = None) -> bool:
    """Whether rows are in the order of groups, or records in that of groups and values."""
    ordered, last = True, -1
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(columns=["group_id", *([value] if value else [])]):
            keys = batch.column("group_id").to_numpy().astype(np.int64)
            if value is not None:
                keys = keys * 2 * VALUES + batch.column(value).to_numpy()
            steps = np.diff(keys, prepend=last)
            ordered = ordered and bool(np.all(steps >= (0 if value is None else 1)))
            last = int(keys[-1])
    return ordered


if __name__ == "__main__":
    for line in run(None, tuple(map(int, sys.argv[1:])) or (SMALL, LARGE)):
        print("ok  " if line.met else "MISS", f"{line.figure:.3f}", line.name, line.detail)
