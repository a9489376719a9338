"""Anatomize from codes against a sort of the same codes, and end to end against a copy."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sfumato as sf
from benchmarks.data import CENSUS_QUASI, CENSUS_SIZES, skewed
from benchmarks.measure import Line, ratio
from sfumato.algorithms.anatomize.dealing import anatomize
from sfumato.core.randomness import Randomness

ROWS, VALUES, L = 5_000_000, 50, 10


def run(folder: Path | None) -> Iterator[Line]:  # noqa: ARG001
    """Speed of Anatomize on five million generated rows."""
    generator = np.random.default_rng(0)
    weights = 1 / np.sqrt(np.arange(1, VALUES + 1))
    codes = generator.choice(VALUES, ROWS, p=weights / weights.sum()).astype(np.int16)
    yield ratio(
        f"Anatomize l={L} / stable argsort of the codes",
        lambda: anatomize(codes.astype(np.int32), VALUES, L, Randomness()),
        lambda: np.argsort(codes, kind="stable"),
        limit=5.0,
    )
    with tempfile.TemporaryDirectory() as place:
        yield _end_to_end(codes, generator, Path(place))


def _end_to_end(
    codes: np.ndarray[tuple[int, ...], np.dtype[np.int16]],
    generator: np.random.Generator,
    place: Path,
) -> Line:
    columns = {
        name: pa.array(skewed(generator, size, ROWS))
        for name, size in zip(CENSUS_QUASI, CENSUS_SIZES, strict=True)
    }
    pq.write_table(pa.table({**columns, "occupation": codes}), place / "in.parquet")
    schema = sf.Schema(quasi=CENSUS_QUASI, sensitive="occupation")

    def ours() -> None:
        table = sf.read(place / "in.parquet", schema)
        release = sf.publish(table, sf.Anatomize(near=False), sf.LDiversity(L))
        release.write(place / "out", force=True)

    def copy() -> None:
        duckdb.connect().execute(
            f"COPY (SELECT * FROM '{place / 'in.parquet'}') "
            f"TO '{place / 'copy.parquet'}' (FORMAT parquet, COMPRESSION zstd)"
        )

    name = "Parquet to QIT + ST / DuckDB copy, 5M rows, processor time"
    return ratio(name, ours, copy, limit=3.0, repeats=5, clock=time.process_time)
