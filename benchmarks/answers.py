"""Questions to releases: how fast they are answered, and how far estimates are from the truth.

Speed: a million rows, one thread, after the first question. Accuracy: the workload of section 6.1
of "Anatomy" with qd = d, s = 5 % and l = 10.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import duckdb

import sfumato as sf
from benchmarks.data import CENSUS_QUASI, census
from benchmarks.measure import Line, ratio, seconds

ROWS, FEWER = 1_000_000, 500_000
L, K = 10, 11  # k = 11 makes about 33,000 groups of a million census rows
QUERIES, FEW = 10_000, 300
LIMIT_ERROR = 0.10
DIMENSIONS = (3, 4, 5, 6, 7)


def run(folder: Path | None) -> Iterator[Line]:
    """Milliseconds per question, loading against DuckDB, and average relative errors."""
    table, source = census(folder, ROWS)
    data = _microdata(table, len(CENSUS_QUASI))
    questions = sf.anatomy_workload(data, queries=FEW, dimensionality=2, seed=0)
    boxes = sf.publish(data, sf.Mondrian(), sf.KAnonymity(K))
    said = f"{boxes.manifest.groups:,} groups, {data.n_rows:,} rows of {source}"
    yield from _speed("generalized", boxes, questions, 3.0, said)
    yield _loading("generalized", boxes)
    apart = sf.publish(data, sf.Anatomize(), sf.LDiversity(L))
    said = f"{apart.manifest.groups:,} groups, {data.n_rows:,} rows of {source}"
    yield from _speed("anatomized", apart, questions, 10.0, said)
    yield _loading("anatomized", apart)
    del boxes, apart, data
    yield from _errors(table.slice(0, FEWER), source)


def _microdata(table: object, d: int) -> sf.Microdata:
    schema = sf.Schema(quasi=CENSUS_QUASI[:d], sensitive="occupation")
    return sf.read(table, schema)


def _speed(
    form: str,
    release: sf.GeneralizedTable | sf.AnatomizedTables,
    questions: Sequence[sf.Query],
    limit: float,
    said: str,
) -> Iterator[Line]:
    release.counts(questions[:5])
    each = _best(lambda: release.counts(questions)) / len(questions)
    detail = f"{said}, {len(questions)} queries"
    yield Line(f"COUNT with three predicates, {form}", 1000 * each, limit, "ms", detail)
    for by in ("occupation", "age"):
        yield _grouping(form, release, questions[:60], by)


def _grouping(
    form: str,
    release: sf.GeneralizedTable | sf.AnatomizedTables,
    questions: Sequence[sf.Query],
    by: str,
) -> Line:
    """The condition on what is grouped by is left out: as many groups as there are values."""
    conditions = [
        {name: wanted for name, wanted in query.where.items() if name != by} for query in questions
    ]
    plain = [sf.Query(where) for where in conditions]
    grouped = [sf.Query(where, by=[by]) for where in conditions]
    groups = len(release.query(grouped[0]))
    single = _best(lambda: release.counts(plain))
    together = _best(lambda: [release.query(query) for query in grouped])
    n = len(questions)
    detail = f"{1000 * together / n:.2f} ms against {1000 * single / n:.2f} ms"
    name = f"GROUP BY {by} ({groups} values) over one COUNT, {form}"
    return Line(name, together / single, 5.0, "x", detail)


def _best(work: Callable[[], object], repeats: int = 3) -> float:
    return min(seconds(work, time.process_time) for _ in range(repeats))


def _loading(form: str, release: sf.GeneralizedTable | sf.AnatomizedTables) -> Line:
    with tempfile.TemporaryDirectory() as folder:
        path = release.write(Path(folder) / "out")

        def ours() -> None:
            sf.load(path).count()

        def theirs() -> None:
            with duckdb.connect() as connection:
                for file in path.glob("*.parquet"):
                    connection.execute(f"CREATE TABLE {file.stem} AS FROM '{file}'")

        return ratio(f"load and first COUNT over DuckDB reading it, {form}", ours, theirs, 1.5)


def _errors(table: object, source: str) -> Iterator[Line]:
    for d in DIMENSIONS:
        data = _microdata(table, d)
        release = sf.publish(data, sf.Anatomize(), sf.LDiversity(L))
        workload = sf.anatomy_workload(data, queries=QUERIES, dimensionality=d, seed=0)
        if d == DIMENSIONS[-1]:
            release.counts(workload[:10])
            each = _best(lambda: release.counts(workload), repeats=1) / len(workload)  # noqa: B023
            detail = f"{data.n_rows:,} rows of {source}, {len(workload):,} queries"
            yield Line(f"COUNT from QIT/ST, OCC-{d}, one thread", 1000 * each, 2.0, "ms", detail)
        found = sf.compare(release, data, workload)
        detail = (
            f"{data.n_rows:,} rows of {source}, {len(found):,} queries, {found.zero_truth} with "
            f"true answer 0 left out, median {found.median:.3f}, coverage {found.coverage:.0%}"
        )
        name = f"average relative error, OCC-{d}, s=5%, l={L}"
        yield Line(name, found.average, LIMIT_ERROR, "", detail)
