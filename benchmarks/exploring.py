"""Forty releases of 200,000 rows side by side: processor time, and the size of the page."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import sfumato as sf
from benchmarks.data import CENSUS_QUASI, census
from benchmarks.measure import Line

ROWS = 200_000
_POINTS, _SECONDS, _MEGABYTES = 40, 30.0, 1.5


def run(data: Path | None) -> Iterator[Line]:
    """A table that is read already, under the usual promises."""
    rows, source = census(data, ROWS)
    table = sf.read(rows, sf.Schema(quasi=list(CENSUS_QUASI), sensitive="occupation"))
    sf.explore(table.take(np.arange(2000)), seed=1)  # the compiler is not what is measured
    start = time.process_time()
    found = sf.explore(table, seed=1)
    seconds = time.process_time() - start
    methods = len({one.setting.method for one in found.points})
    yield Line(
        f"explore {len(found.points)} points ({methods} methods) of {ROWS:,} rows x "
        f"{len(CENSUS_QUASI)} quasi-identifiers, processor seconds",
        seconds, _SECONDS, "s",
        detail=f"{source}, {len(found.feasible)} feasible, {len(found.frontier)} on the frontier",
    )  # fmt: skip
    with TemporaryDirectory() as folder:
        size = found.write_html(Path(folder) / "explore.html").stat().st_size
    yield Line("its page", size / 1e6, _MEGABYTES, "MB", detail="opens offline")
    assert len(found.points) >= _POINTS, "fewer points than the limit is for"
