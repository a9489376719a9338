"""Several QIDs against all columns together: Mondrian three times, and what shows them all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

import sfumato as sf
from benchmarks.measure import Line, in_turns

ROWS = 1_000_000
_SIZES = (90, 2, 24, 9, 50, 200, 17, 60, 100)
_QIDS = [[f"q{place}" for place in range(first, first + 3)] for first in (0, 3, 6)]


def run(_data: Path | None) -> Iterator[Line]:
    """Three QIDs of three columns."""
    table, model = _table(), sf.KAnonymity(10)
    several = sf.SeveralQIDs(sf.Mondrian(), _QIDS)
    mine, peer = in_turns(
        lambda: sf.publish(table, several, model), lambda: sf.publish(table, sf.Mondrian(), model)
    )
    groups = sf.publish(table, several, model).manifest.groups
    yield Line(
        "Mondrian, three QIDs of 3 columns / all 9 columns",
        mine / peer,
        4.0,
        "x",
        f"{ROWS:,} generated rows, k = 10, {groups:,} different boxes: {mine:.3f} s against "
        f"{peer:.3f} s",
    )


def _table() -> sf.Microdata:
    random = np.random.default_rng(3)
    columns = {f"q{i}": random.integers(0, size, ROWS) for i, size in enumerate(_SIZES)}
    columns["value"] = random.integers(0, 20, ROWS)
    schema = sf.Schema(quasi=[name for name in columns if name != "value"], sensitive="value")
    return sf.Microdata.from_arrow(pa.table(columns), schema)
