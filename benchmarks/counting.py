"""Counts in a release that is larger than memory, asked where it lies, beside DuckDB's over its
file.

Processor time of all processes, since two workers and two threads of DuckDB share the cores with
whatever else runs. Every question is asked once before it is measured, as a dashboard would: by
then whoever reads a slice has its columns. SFUMATO_CLUSTER_ROWS is how many rows were published.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import duckdb

import sfumato as sf
from benchmarks.cluster import LIBRARIES, MEMORY
from benchmarks.data import CENSUS_QUASI
from benchmarks.measure import Line, in_turns, seconds
from benchmarks.regions import write_census

ROWS = int(os.environ.get("SFUMATO_CLUSTER_ROWS", "50000000"))
K = 10
LIMIT = 1.3
REPEATS = 7
# what is asked of us, and of the published ranges
QUESTIONS = {
    "occupation = 11": "occupation = 11",
    "age BETWEEN 30 AND 45 AND occupation = 11": (
        "age_max >= 30 AND age_min <= 45 AND occupation = 11"
    ),
    "age < 50 AND race = 1 AND education >= 20 AND occupation = 11": (
        "age_min < 50 AND race_min <= 1 AND race_max >= 1 AND education_max >= 20 "
        "AND occupation = 11"
    ),
}


def run(folder: Path | None) -> Iterator[Line]:
    """A release of the census repeated with noise, asked by every engine that is installed."""
    with tempfile.TemporaryDirectory() as place:
        source, out = Path(place) / "census.parquet", Path(place) / "out"
        name = f"{ROWS:,} rows of {write_census(folder, source, ROWS)}"
        schema = sf.Schema(quasi=list(CENSUS_QUASI), sensitive="occupation")
        made = sf.publish_file(source, schema, sf.Mondrian(), sf.KAnonymity(K), out,
                               engine="stream", memory_limit=MEMORY)  # fmt: skip
        source.unlink()
        for engine in ("stream", *LIBRARIES):
            if find_spec(LIBRARIES.get(engine, "sfumato")) is not None:
                yield from _asked(f"{name}, {made.groups:,} groups", out, engine)


def _asked(name: str, out: Path, engine: str) -> Iterator[Line]:
    table = f"read_parquet('{out / 'generalized.parquet'}')"
    with (
        sf.open_release(out, engine=engine, memory_limit=MEMORY) as release,
        duckdb.connect(config={"threads": 2}) as peer,
    ):
        for question, condition in QUESTIONS.items():
            sql = f"SELECT COUNT(*) FROM {table} WHERE {condition}"
            ask, count = partial(release.count, question), partial(_fetched, peer, sql)
            first = seconds(ask, _everybody())
            mine, theirs = in_turns(ask, count, REPEATS, _everybody())
            yield Line(
                f"{name}: {question}: {engine} / DuckDB",
                mine / theirs,
                LIMIT,
                detail=f"{1e3 * mine:.0f} ms against {1e3 * theirs:.0f} ms of processor time; "
                f"{1e3 * seconds(ask):.0f} ms on the clock, {first:.1f} s the first time",
            )


def _fetched(peer: duckdb.DuckDBPyConnection, sql: str) -> object:
    return peer.sql(sql).fetchall()


def _everybody() -> Callable[[], float]:
    """Processor time of this process and of all that it has started."""
    import psutil  # type: ignore[import-untyped]

    here = psutil.Process()

    def taken() -> float:
        return sum(sum(one.cpu_times()[:2]) for one in (here, *here.children(recursive=True)))

    return taken
