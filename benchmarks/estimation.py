"""COUNT queries answered from QIT and ST: how fast, and how far from the truth.

The workload is that of section 6.1 of "Anatomy" with qd = d, s = 5 % and l = 10.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import sfumato as sf
from benchmarks.data import CENSUS_QUASI, census
from benchmarks.measure import Line, seconds
from sfumato.queries.accuracy import accuracy
from sfumato.queries.anatomized import AnatomizedEstimator
from sfumato.queries.count import CountQuery
from sfumato.queries.estimate import estimator
from sfumato.queries.workloads import anatomy_workload

ROWS = 500_000
QUERIES = 10_000
L = 10
LIMIT_MS = 2.0
LIMIT_ERROR = 0.10
DIMENSIONS = (3, 4, 5, 6, 7)


def run(folder: Path | None) -> Iterator[Line]:
    """Milliseconds per query on OCC-7, and the average relative error on OCC-3 to OCC-7."""
    table, source = census(folder, ROWS)
    lines = []
    for d in DIMENSIONS:
        schema = sf.Schema(quasi=CENSUS_QUASI[:d], sensitive="occupation")
        data = sf.Microdata.from_arrow(table.select([*schema.quasi, "occupation"]), schema)
        prepared = AnatomizedEstimator.of(sf.publish(data, sf.Anatomize(), sf.LDiversity(L)))
        workload = anatomy_workload(data, queries=QUERIES, dimensionality=d, seed=0)
        if d == DIMENSIONS[-1]:
            yield _speed(prepared, workload, source)
        found = accuracy(estimator(data).estimates(workload), prepared.estimates(workload))
        detail = (
            f"{data.n_rows:,} rows of {source}, {found.queries:,} queries, "
            f"{found.zero_truth} with true answer 0 left out, median {found.median:.3f}"
        )
        name = f"average relative error, OCC-{d}, s=5%, l={L}"
        lines.append(Line(name, found.average, LIMIT_ERROR, "", detail))
    yield from lines


def _speed(prepared: AnatomizedEstimator, workload: tuple[CountQuery, ...], source: str) -> Line:
    prepared.estimates(workload[:10])
    wall = seconds(lambda: prepared.estimates(workload))
    cpu = seconds(lambda: prepared.estimates(workload), clock=time.process_time)
    return Line(
        f"COUNT from QIT/ST, OCC-{DIMENSIONS[-1]}, one thread",
        1000 * wall / len(workload),
        LIMIT_MS,
        "ms",
        f"{ROWS:,} rows of {source}, {len(workload):,} queries; CPU time of a second run "
        f"{1000 * cpu / len(workload):.3f} ms",
    )
