"""What docs/cluster.md says a release costs is what it takes."""

from __future__ import annotations

import pickle
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from benchmarks import cluster_model
from benchmarks.cluster_model import Wish
from sfumato.engines import cluster, domains
from sfumato.engines.pieces import Job, Stored
from sfumato.engines.room import Room
from sfumato.errors import SfumatoWarning
from sfumato.verbs import files
from tests.support.algorithms import partitioner_classes
from tests.support.clusters import Replaying
from tests.support.seeds import long_seed

ROWS, VALUES = 16_000, 64
SCHEMA = sf.Schema(quasi=["a", "b", "c"], sensitive="ill")


class Counting(Replaying):
    """Workers whose results are counted as they reach the driver."""

    def __init__(self, memory: int) -> None:
        super().__init__(memory)
        self.moved: Counter[str] = Counter()
        self.told: Counter[str] = Counter()

    def run(self, name: str, job: Job, items: Sequence[Any]) -> Iterator[Any]:
        for done in super().run(name, job, items):
            self.told[name] += len(pickle.dumps(done.result))
            if isinstance(done.result, Stored):
                self.moved[name] += done.result.path.stat().st_size
            yield done


KNOWN: dict[str, tuple[dict[str, Any], sf.Model, dict[str, bool]]] = {
    "mondrian": ({}, sf.KAnonymity(30), {}),
    "relaxed": ({"relaxed": True}, sf.KAnonymity(30), {"relaxed": True}),
    "dealt": ({"relaxed": True}, sf.LDiversity(3), {"relaxed": True, "sensitive": True}),
    "workload": ({"workload": [sf.Query({"a": [1, 2]})]}, sf.KAnonymity(30), {"workload": True}),
    "anatomize": ({}, sf.LDiversity(3), {}),
    "blocks": ({"near": False}, sf.LDiversity(3), {"blocks": True}),
}


@pytest.mark.parametrize(
    "case", dict.fromkeys([*KNOWN, *cluster_model.CUTTING, *cluster_model.POINTS])
)
def test_every_method_takes_the_passes_that_the_model_says(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    warnings.simplefilter("ignore", SfumatoWarning)
    monkeypatch.setattr(cluster, "SPLIT_ROWS", 2000)
    monkeypatch.setattr(domains, "PART_ROWS", 1000)
    options, model, known = KNOWN.get(case, ({}, sf.KAnonymity(30), {}))
    by_name = {cls.name: cls for cls in partitioner_classes()}
    method = {"blocks": "anatomize"}.get(case, case if case in by_name else "mondrian")
    chance = np.random.default_rng(6)
    columns = {name: chance.integers(0, 6, ROWS) for name in SCHEMA.quasi}
    table = pa.table({**columns, "ill": chance.integers(0, VALUES, ROWS)})
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=1000)
    row_bytes = Room.of(2**40, len(SCHEMA.quasi)).row_bytes
    workers = Counting(int(4 * row_bytes * ROWS / 3.2))
    monkeypatch.setattr(files, "open_workers", lambda *_: nullcontext(workers))
    sf.publish_file(
        tmp_path / "in.parquet", SCHEMA, by_name[method](**options), model, tmp_path / "out",
        engine="dask", seed=long_seed(3),
    )  # fmt: skip
    found = [name for name, _ in workers.stages if name != "part_sum"]
    cuts = found.count("count_nodes")
    assert (cuts > 1) == (method in cluster_model.CUTTING and case != "blocks")
    assert found == cluster_model.passes(method, cuts, **known)
    moved = cluster_model.cost(Wish(ROWS, len(SCHEMA.quasi), 1, 18, workers.memory)).moved
    assert workers.moved["coded"] == pytest.approx(moved, rel=0.2)
    assert workers.moved["region_of"] == pytest.approx(moved, rel=0.5)


@pytest.mark.parametrize(("share", "fan_in"), [(0.9, 32), (1.6, 32), (3.2, 32), (6.4, 3)])
def test_a_release_costs_what_the_model_says(
    share: float, fan_in: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``share`` times the rows that fit into a worker."""
    warnings.simplefilter("ignore", SfumatoWarning)
    monkeypatch.setattr(cluster, "SPLIT_ROWS", 2000)
    monkeypatch.setattr(domains, "PART_ROWS", 1000)
    monkeypatch.setattr(cluster, "FAN_IN", fan_in)
    chance = np.random.default_rng(6)
    columns = {name: chance.integers(0, VALUES, ROWS) for name in (*SCHEMA.quasi, "ill")}
    pq.write_table(pa.table(columns), tmp_path / "in.parquet", row_group_size=1000)
    memory = int(4 * Room.of(2**40, len(SCHEMA.quasi)).row_bytes * ROWS / share)
    workers = Counting(memory)
    monkeypatch.setattr(files, "open_workers", lambda *_: nullcontext(workers))
    sf.publish_file(
        tmp_path / "in.parquet", SCHEMA, sf.Mondrian(), sf.KAnonymity(3), tmp_path / "out",
        engine="dask", seed=long_seed(3),
    )  # fmt: skip
    wish = Wish(ROWS, len(SCHEMA.quasi), 1, VALUES * len(SCHEMA.quasi), memory)
    said, stages = cluster_model.cost(wish), workers.stages
    assert [n for name, n in stages if name == "region_of"] == [said.tasks]
    assert [n for name, n in stages if name == "divided, bucket_of"] == [said.regions]
    assert [n for name, n in stages if name == "published, as_it_is"] == [said.buckets]
    assert [n for name, n in stages if name == "count_nodes"] == [said.tasks] * said.cuts
    fingerprint = len([name for name, _ in stages if name in ("part_sum", "add")])
    assert len(stages) == said.rounds + fingerprint
    assert workers.moved["coded"] == pytest.approx(said.moved, rel=0.1)
    assert workers.moved["region_of"] == pytest.approx(said.moved, rel=0.5)
    counted = workers.told["add_counts" if fan_in < said.tasks else "count_nodes"]
    assert counted == pytest.approx(said.counts, rel=0.5, abs=2000 * said.cuts)
