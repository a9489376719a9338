"""TopDown on a census of persons: CPU time, growth with n, and what is lost against Mondrian."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import sfumato as sf
from benchmarks.measure import Line, seconds
from sfumato.algorithms.base import Partitioner
from sfumato.algorithms.topdown import TopDown
from sfumato.core.boxes import Boxes, Ranges
from sfumato.core.randomness import Randomness
from sfumato.metrics.information_loss import ncp
from sfumato.models.requirements import requirements

QUASI = ("age", "income_total", "household_size", "years_education")
PERSON = ("household_id", "person_no")
PERSONS = 958_515
SIZES = (10_000, 100_000, PERSONS)
K = 50
LIMITS = {10_000: 0.1, 100_000: 1.0, PERSONS: 5.0}  # seconds of CPU
LOSSES = {5: 0.9, 50: 0.95, 500: 1.0}  # of what Mondrian loses
EVEN_K = 10
TEXTS = {40_000: 0.5, 160_000: 3.0}  # seconds of CPU, five evenly filled columns of 50 texts
MIXED = {640_000: 6.0, 2_000_000: 20.0}  # three columns of numbers, two of texts


def run(folder: Path | None) -> Iterator[Line]:
    """Speed and quality of TopDown."""
    table, source = persons(folder)
    data = {rows: _microdata(table.slice(0, rows)) for rows in SIZES}
    _partition(TopDown(), data[SIZES[0]], K)  # the compiler's time is not measured
    taken: dict[int, float] = {}
    for rows, one in data.items():
        taken[rows] = min(
            seconds(lambda one=one: _partition(TopDown(), one, K), time.process_time)  # type: ignore[misc]
            for _ in range(3)
        )
        detail = f"{one.n_rows:,} rows of {source}"
        yield Line(f"TopDown CPU k={K}, n={rows:,}", taken[rows], LIMITS[rows], "s", detail)
    growth = taken[PERSONS] / taken[100_000]
    yield Line("TopDown growth from 100,000 rows to all", growth, 15.0)
    for rows in (SIZES[0], SIZES[-1]):
        for k, limit in LOSSES.items():
            yield _loss(data[rows], k, limit)
    yield from _even("texts", _texts, TEXTS)
    yield from _even("mixed", _mixed, MIXED)


def _even(name: str, made: Callable[[int], pa.Table], limits: dict[int, float]) -> Iterator[Line]:
    """Evenly filled columns, where nothing clusters and every group has many near neighbours."""
    for rows, limit in limits.items():
        table = made(rows)
        data = sf.Microdata.from_arrow(table, sf.Schema(quasi=table.column_names))
        taken = seconds(lambda data=data: _partition(TopDown(), data, EVEN_K), time.process_time)  # type: ignore[misc]
        yield Line(f"TopDown CPU k={EVEN_K}, even {name}, n={rows:,}", taken, limit, "s")


def _texts(rows: int) -> pa.Table:
    generator = np.random.default_rng(0)
    words = np.array([f"v{i:03d}" for i in range(50)])
    return pa.table({f"q{j}": words[generator.integers(0, 50, rows)] for j in range(5)})


def _mixed(rows: int) -> pa.Table:
    generator = np.random.default_rng(0)
    words = np.array([f"v{i:03d}" for i in range(50)])
    return pa.table(
        {
            "age": generator.integers(0, 100, rows),
            "income": np.round(generator.lognormal(7, 1, rows)).astype(np.int64),
            "job": words[generator.integers(0, 50, rows)],
            "place": words[generator.integers(0, 50, rows)],
            "size": generator.integers(0, 20, rows),
        }
    )


def persons(folder: Path | None) -> tuple[pa.Table, str]:
    """One complete row per person, in random order."""
    path = folder / "eph_2004_2015.parquet" if folder else None
    if path is None or not path.is_file():
        return _stand_in(PERSONS), "generated stand-in"
    table = pq.read_table(path, columns=[*PERSON, *QUASI]).drop_null()
    household, number = (table[name].to_numpy().astype(np.int64) for name in PERSON)
    _, first = np.unique(household * 1000 + number, return_index=True)
    order = np.random.default_rng(0).permutation(first)
    return table.select(QUASI).take(pa.array(order)).replace_schema_metadata(None), "eph_2004_2015"


def _stand_in(rows: int) -> pa.Table:
    """Children without income, heavy-tailed round incomes for the rest."""
    generator = np.random.default_rng(0)
    age = np.minimum(generator.gamma(2.2, 14.5, rows), 98).astype(np.int16)
    earns = (age > 15) & (generator.random(rows) < 0.7)
    income = np.where(earns, generator.lognormal(7.0, 1.0, rows) // 50 * 50, 0).astype(np.int32)
    years = np.clip(np.minimum(age - 6, generator.binomial(19, 0.55, rows)), 0, 19)
    size = 1 + generator.poisson(3.4, rows)
    columns = (age, income, size.astype(np.int16), years.astype(np.int16))
    return pa.table({name: pa.array(column) for name, column in zip(QUASI, columns, strict=True)})


def _loss(data: sf.Microdata, k: int, limit: float) -> Line:
    ours, other = (_ncp(data, _partition(way, data, k)) for way in (TopDown(), sf.Mondrian()))
    return Line(
        f"TopDown NCP / Mondrian NCP, k={k}, n={data.n_rows:,}",
        ours / other,
        limit,
        detail=f"{ours:.5f} against {other:.5f}",
    )


def _ncp(data: sf.Microdata, found: sf.Partition) -> float:
    sides = tuple(Ranges.around(one, data.codes[one.name], found) for one in data.quasi)
    return ncp(Boxes(sides), found.sizes)


def _microdata(table: pa.Table) -> sf.Microdata:
    return sf.Microdata.from_arrow(table, sf.Schema(quasi=QUASI))


def _partition(way: Partitioner, data: sf.Microdata, k: int) -> sf.Partition:
    needs = requirements(sf.KAnonymity(k), data.schema)
    return way.partition(data, needs, Randomness(0))
