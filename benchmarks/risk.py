"""Risk of a million people: classes, chances, best guesses, and minimal unique sets."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

import sfumato as sf
from benchmarks.measure import Line

ROWS = 1_000_000
_SIZES = (80, 2, 500, 16, 60, 9, 7)
_RISK, _SETS = 2.0, 10.0  # seconds of processor time


def run(_data: Path | None) -> Iterator[Line]:
    """Both of a table that is read already."""
    table = people(ROWS)
    sf.assess(table.take(np.arange(1000)))  # the compiler is not what is measured
    without, risk = _seconds(lambda: sf.assess(table, sets=0))
    name = f"risk of {ROWS:,} rows x {len(_SIZES)} quasi-identifiers, processor seconds"
    yield Line(name, without, _RISK, "s", detail=f"{risk.classes:,} classes")
    whole, found = _seconds(lambda: sf.assess(table))
    assert found.sets is not None
    yield Line(
        f"minimal unique sets of up to {found.sets.largest} columns, processor seconds",
        whole - without, _SETS, "s",
        detail=f"{len(found.sets.sets)} sets, {found.sets.people:,} people",
    )  # fmt: skip


def people(n: int) -> sf.Microdata:
    """Columns of different sizes, each with frequent and rare values."""
    draw = np.random.default_rng(1)
    quasi = {
        f"q{j}": np.minimum(draw.geometric(min(4 / size, 0.5), n), size)
        for j, size in enumerate(_SIZES)
    }
    table = pa.table({**quasi, "pay": draw.integers(0, 50, n)})
    return sf.Microdata.from_arrow(table, sf.Schema(quasi=list(quasi), sensitive="pay"))


def _seconds(work: Callable[[], sf.Risk]) -> tuple[float, sf.Risk]:
    start = time.process_time()
    found = work()
    return time.process_time() - start, found
