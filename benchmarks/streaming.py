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
from sfumato.core.arrays import Counts

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
from sfumato.algorithms.anatomize import Anatomize
from sfumato.algorithms.anatomize.stream import divide_file
from sfumato.algorithms.base import describe
from sfumato.core.randomness import Randomness
from sfumato.forms.anatomized.stream import write_divided

schema = sf.Schema(quasi={quasi!r}, sensitive="occupation")

def anatomize(source, output):
    randomness = Randomness()
    write_divided(
        output, schema,
        lambda scratch: divide_file(source, schema, sf.LDiversity({l}), scratch, randomness),
        describe(Anatomize()), randomness,
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
    taken: dict[int, float] = {}
    cpu: dict[int, float] = {}
    for rows in sizes:
        with tempfile.TemporaryDirectory() as place:
            taken[rows], cpu[rows], peak, flaws = _measure(Path(place), rows)
        yield Line(
            f"{rows:,} rows streamed: peak memory",
            peak / LIMIT,
            1.0,
            detail=f"{taken[rows]:.1f} s ({cpu[rows]:.1f} s of processor time), "
            f"{peak / 2**20:,.0f} MiB resident, RLIMIT_AS 2 GiB; "
            "finished and verified" + "".join(f"; FLAW: {flaw}" for flaw in flaws),
        )
        yield Line(f"{rows:,} rows streamed: flaws", len(flaws), 0.0, unit="")
    if {SMALL, LARGE} <= set(taken):
        yield Line(
            f"streamed time per row, {LARGE:,} / {SMALL:,} rows",
            taken[LARGE] / taken[SMALL] / (LARGE / SMALL),
            1.15,
            detail=f"{taken[LARGE]:.1f} s against {taken[SMALL]:.1f} s; in processor time "
            f"{cpu[LARGE]:.1f} s against {cpu[SMALL]:.1f} s, "
            f"ratio {cpu[LARGE] / cpu[SMALL] / (LARGE / SMALL):.2f}",
        )


def _measure(place: Path, rows: int) -> tuple[float, float, int, list[str]]:
    """Median seconds (clock, processor), highest peak memory in bytes, flaws of the release."""
    source, output = place / "in.parquet", place / "out"
    _generate(source, rows)
    _generate(place / "in.parquet.small.parquet", 100_000)
    program = _CHILD.format(quasi=CENSUS_QUASI, l=L)
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
    flaws = list(_flaws(source, output, rows))
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


def _flaws(source: Path, output: Path, rows: int) -> Iterator[str]:
    """What is wrong with the release, from its files and the input, batch by batch."""
    sizes, ordered = _group_sizes(output / "qit.parquet", rows)
    if not ordered:
        yield "rows of the QIT are not ordered by group"
    records, ordered = _group_sizes(output / "st.parquet", rows, "occupation")
    if not ordered:
        yield "records of the ST are not strictly ordered by group and value"
    if not np.array_equal(sizes, records):
        yield "QIT and ST do not fit"
    # counts are 1 (asked below) and values differ, so l records are l-diverse
    if sizes[0] or sizes[1:].min() < L or sizes.sum() != rows:
        yield f"a group has fewer than {L} rows, or rows are missing"
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
        if ask(f"SELECT max(count) FROM '{output / 'st.parquet'}'") != [(1,)]:
            yield "a value occurs twice in a group"


def _group_sizes(path: Path, rows: int, value: str | None = None) -> tuple[Counts, bool]:
    """Rows per group number, and whether they are in the order of groups (and values)."""
    sizes = np.zeros(rows // L + 1, np.int64)
    ordered, last = True, -1
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(columns=["group_id", *([value] if value else [])]):
            keys = batch.column("group_id").to_numpy().astype(np.int64)
            sizes += np.bincount(keys, minlength=len(sizes))
            if value is not None:
                keys = keys * 2 * VALUES + batch.column(value).to_numpy()
            steps = np.diff(keys, prepend=last)
            ordered = ordered and bool(np.all(steps >= (0 if value is None else 1)))
            last = int(keys[-1])
    return sizes, ordered


if __name__ == "__main__":
    for line in run(None, tuple(map(int, sys.argv[1:])) or (SMALL, LARGE)):
        print("ok  " if line.met else "MISS", f"{line.figure:.3f}", line.name, line.detail)
