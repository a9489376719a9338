"""On a cluster a release is byte for byte the one that one process makes.

For every algorithm that can plan, found by looking, in 1, 2 and 7 pieces; first with workers that
run every task twice and compare what came of it, then on real clusters.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.algorithms.base import Partitioner
from sfumato.core.keyed import Key
from sfumato.engines import cluster, domains
from sfumato.engines.choice import CLUSTERS
from sfumato.errors import SfumatoWarning
from sfumato.verbs import files, grouping
from tests.conformance.test_engines import CASES, WRITERS, case
from tests.conformance.test_engines_alike import (
    LEAVING,
    LITTLE,
    SCHEMA,
    SERVING,
    TABLES,
    _plans,
    made,
    planners,
)
from tests.support.algorithms import identify
from tests.support.clusters import Cluster, NotTheSame, Replaying
from tests.support.clusters import cluster as real_cluster

PIECES = (1, 2, 7)
MODELS = (sf.KAnonymity(4), sf.LDiversity(1.75), sf.TCloseness(0.4))
ALGORITHMS = [*planners(), *SERVING, *LEAVING]


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(domains, "PART_ROWS", 61)
    monkeypatch.setattr(cluster, "SPLIT_ROWS", 1)
    monkeypatch.setattr(cluster, "FAN_IN", 3)
    warnings.simplefilter("ignore", SfumatoWarning)


@pytest.fixture(name="replaying")
def _replaying(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], Replaying]:
    """Have such workers stand in for a cluster."""

    def stand_in(memory: int) -> Replaying:
        workers = Replaying(memory)
        at_work = {"dask": workers}
        monkeypatch.setattr(
            files, "open_workers", lambda engine, *_: nullcontext(at_work.get(engine))
        )
        return workers

    return stand_in


@pytest.fixture(name="real", scope="module", params=CLUSTERS)
def _real(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    with real_cluster(request.param) as found:
        yield found


def alike(
    algorithm: Partitioner, number: int, on_cluster: Callable[[int], dict[str, Any]], at: Path
) -> None:
    """Compare releases in some pieces, with the least memory that is enough."""
    table = TABLES["people" if isinstance(algorithm, sf.Mondrian | sf.Anatomize) else "crowd"]()
    models = [model for model in MODELS if _plans(algorithm, model)]
    if isinstance(algorithm, sf.Anatomize):
        models.remove(sf.KAnonymity(4))
    source = at / f"{number}.parquet"
    pq.write_table(table, source, row_group_size=-(-table.num_rows // PIECES[number]))
    how: dict[str, Any] = {"algorithm": algorithm, "model": models[number % len(models)]}
    for memory in (LITTLE, 50 * LITTLE):
        limit = {"memory_limit": memory}
        out = at / f"stream-{number}-{memory}"
        stream = made(source, SCHEMA, out, engine="stream", **limit, **how)
        if isinstance(stream, dict):
            break
    assert isinstance(stream, dict), stream
    assert made(source, SCHEMA, at / f"cluster-{number}", **on_cluster(memory), **how) == stream
    assert not [path for path in at.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=identify)
def test_tasks_that_run_twice_in_any_order_make_the_same_release(
    algorithm: Partitioner, replaying: Callable[[int], Replaying], tmp_path: Path
) -> None:
    seen: list[Replaying] = []

    def on_cluster(memory: int) -> dict[str, Any]:
        seen.append(replaying(memory))
        return {"engine": "dask"}

    for number in range(len(PIECES)):
        alike(algorithm, number, on_cluster, tmp_path)
    assert max(n for workers in seen for _, n in workers.stages) >= PIECES[-1]


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=identify)
def test_a_real_cluster_makes_the_same_release(
    algorithm: Partitioner, real: Cluster, tmp_path: Path
) -> None:
    def on_cluster(memory: int) -> dict[str, Any]:
        return {**real.how(), "memory_limit": memory}

    alike(algorithm, ALGORITHMS.index(algorithm) % len(PIECES), on_cluster, tmp_path)


def test_a_task_with_chance_of_its_own_is_caught(
    replaying: Callable[[int], Replaying], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The control: a task that is run again must not deal other cards."""

    def drawn(part: pa.Table, number: int, recipe: grouping.Recipe) -> pa.Table:
        words = Key(os.urandom(16)).words(part.column(0).to_numpy())
        shuffled = part.set_column(0, part.column_names[0], pa.array(words.view("i8") >> 1))
        return divided(shuffled, number, recipe)

    divided = grouping.divided
    monkeypatch.setattr(grouping, "divided", drawn)
    pq.write_table(TABLES["people"](), tmp_path / "in.parquet")
    replaying(LITTLE)
    with pytest.raises(NotTheSame):
        made(tmp_path / "in.parquet", SCHEMA, tmp_path / "out", engine="dask")
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]


@pytest.mark.parametrize("written", WRITERS)
def test_values_of_every_type_pass_through_workers(
    written: str, real: Cluster, tmp_path: Path
) -> None:
    """Files of a pattern, one of them without rows."""
    table, schema = case("plain", "quasi")
    refused = {"infinite", "binary", "list", "struct", "view"}
    kept = {name: column for name, column in CASES.items() if name not in refused}
    for name, column in kept.items():
        table = table.append_column(name, column)
    schema = sf.Schema(
        quasi=["age", "Age", "it", "date32", "float64", "decimal128", "dictionary"],
        sensitive="ill",
        insensitive=[name for name in kept if name not in ("date32", "float64", "decimal128",
                                                           "dictionary")],
    )  # fmt: skip
    for number, (low, high) in enumerate(((0, 20), (20, 20), (20, 48))):
        path = WRITERS[written](table.slice(low, high - low), tmp_path / f"in-{number}")
    source = tmp_path / f"in-*{path.suffix}"
    how: dict[str, Any] = {"algorithm": sf.Anatomize(), "model": sf.LDiversity(2)}
    if written == "csv":
        how["header"] = True  # some names are like values
    stream = made(source, schema, tmp_path / "stream", engine="stream", **how)
    assert isinstance(stream, dict), stream
    assert made(source, schema, tmp_path / "real", **real.how(), **how) == stream
