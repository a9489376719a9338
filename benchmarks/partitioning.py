"""Mondrian from codes: against a k-d tree over the same points, and its growth with n."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from scipy.spatial import cKDTree

import sfumato as sf
from benchmarks.data import CENSUS_QUASI, census, uniform_codes
from benchmarks.measure import Line, in_turns, seconds
from sfumato.core.randomness import Randomness
from sfumato.models.base import Model
from sfumato.models.requirements import requirements

K = 10
ROWS = 1_000_000
GROWTH = (100_000, 200_000, 500_000, 1_000_000, 2_000_000, 5_000_000)


def run(folder: Path | None) -> Iterator[Line]:
    """Speed of partitioning."""
    table, source = census(folder, ROWS)
    data = sf.Microdata.from_arrow(table, sf.Schema(quasi=CENSUS_QUASI, sensitive="occupation"))
    yield from _against_tree(data, source)
    yield from _growth()


def _against_tree(data: sf.Microdata, source: str) -> Iterator[Line]:
    points = data.quasi_codes().astype(np.float64)
    plain, tree = in_turns(
        lambda: _partition(data, sf.KAnonymity(K)),
        lambda: cKDTree(points, leafsize=2 * K - 1, balanced_tree=True),
    )
    yield Line(
        f"strict Mondrian k={K} / cKDTree build",
        plain / tree,
        0.35,
        detail=f"{data.n_rows:,} rows of {source}: {plain:.3f} s against {tree:.3f} s",
    )
    for name, model in (
        (f"k={K} and distinct l=5", sf.KAnonymity(K) & sf.DistinctLDiversity(5)),
        ("distinct l=5 alone", sf.DistinctLDiversity(5)),
    ):
        diverse, plain = in_turns(
            lambda model=model: _partition(data, model),  # type: ignore[misc]
            lambda: _partition(data, sf.KAnonymity(K)),
        )
        yield Line(
            f"{name} / k={K}",
            diverse / plain,
            3.0,
            detail=f"{diverse:.3f} s against {plain:.3f} s",
        )


def _growth() -> Iterator[Line]:
    """Seconds per n log n, relative to the smallest table."""
    first = 0.0
    for rows in GROWTH:
        table = uniform_codes(rows)
        data = _microdata(table)
        _partition(data, sf.KAnonymity(K))
        taken = min(seconds(lambda data=data: _partition(data, sf.KAnonymity(K))) for _ in range(3))  # type: ignore[misc]
        unit = taken / (rows * math.log(rows))
        first = first or unit
        yield Line(
            f"n log n growth at n={rows:,}",
            unit / first,
            1.5,
            detail=f"{taken:.3f} s, all rows different; time / (n log n), 1.00 at n={GROWTH[0]:,}",
        )


def _microdata(table: pa.Table) -> sf.Microdata:
    return sf.Microdata.from_arrow(table, sf.Schema(quasi=table.column_names))


def _partition(data: sf.Microdata, model: Model) -> sf.Partition:
    return sf.Mondrian().partition(data, requirements(model, data.schema), Randomness())
