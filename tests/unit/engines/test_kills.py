"""Workers that are killed in the middle of a stage: the release is that of one process."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.core.keyed import KEY_BYTES, Key
from sfumato.engines import cluster, domains
from sfumato.engines.choice import CLUSTERS
from sfumato.engines.cluster import Workers
from sfumato.engines.opening import open_workers
from sfumato.engines.pieces import Job
from sfumato.errors import SfumatoWarning
from sfumato.verbs import files, grouping
from tests.conformance.test_engines_alike import SCHEMA, made, people
from tests.support.clusters import Cluster, Killing
from tests.support.clusters import cluster as real_cluster

pytestmark = pytest.mark.slow

STAGES = ("coded", "divided, bucket_of", "count_nodes", "published, as_it_is", "region_of", "tally")
KILLS = int(os.environ.get("SFUMATO_KILLS", "2"))
MEMORY = 60_000  # bytes: several regions
HOW: dict[str, Any] = {"model": sf.KAnonymity(4), "memory_limit": MEMORY}
Release: TypeAlias = dict[str, bytes]
published = grouping.published


@pytest.fixture(name="real", scope="module", params=CLUSTERS)
def _real(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    with real_cluster(request.param) as found:
        yield found


@pytest.fixture(name="source")
def _source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(domains, "PART_ROWS", 61)
    monkeypatch.setattr(cluster, "SPLIT_ROWS", 1)
    warnings.simplefilter("ignore", SfumatoWarning)
    pq.write_table(people(), tmp_path / "in.parquet", row_group_size=61)
    return tmp_path / "in.parquet"


def alone(source: Path) -> Release:
    """The release of one process."""
    found = made(source, SCHEMA, source.parent / "one", engine="stream", **HOW)
    assert isinstance(found, dict), found
    return found


def killed(
    stage: str, number: int, source: Path, real: Cluster, monkeypatch: pytest.MonkeyPatch
) -> Release:
    """The release of a cluster one of whose workers is killed in a stage, at one of its tasks:
    when it is done, and before anybody has heard of it.
    """
    mark = source.parent / "killed"
    real.complete()

    @contextmanager
    def deadly(*given: Any) -> Iterator[Workers]:
        with open_workers(*given) as workers:
            assert workers is not None
            yield _Deadly(workers, stage, number, mark, real)

    monkeypatch.setattr(files, "open_workers", deadly)
    found = made(source, SCHEMA, source.parent / "many", **real.how(), **HOW)
    assert isinstance(found, dict), found
    assert mark.exists()
    left = sorted(path.name for path in source.parent.iterdir())
    assert left == ["in.parquet", "killed", "many", "one"]
    return found


@pytest.mark.parametrize("number", range(KILLS))
def test_a_worker_that_is_killed_changes_nothing(
    number: int, real: Cluster, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = alone(source)
    assert killed(STAGES[number % len(STAGES)], number, source, real, monkeypatch) == expected


def test_a_task_that_asks_the_system_for_chance_is_caught(
    real: Cluster, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: run again, it deals other cards."""
    expected = alone(source)
    monkeypatch.setattr(grouping, "published", _drawn)
    found = killed("drawn, as_it_is", 0, source, real, monkeypatch)
    assert found.keys() == expected.keys()
    assert found != expected


def _drawn(groups: pa.Table, number: int, recipe: grouping.Recipe) -> pa.Table:
    return published(groups, number, replace(recipe, rows=Key(os.urandom(KEY_BYTES))))


class _Deadly:
    """Workers one of whose tasks kills the process that it runs in."""

    def __init__(
        self, workers: Workers, stage: str, number: int, mark: Path, real: Cluster
    ) -> None:
        self.memory, self.dumps = workers.memory, workers.dumps
        self.require_folder, self.store = workers.require_folder, workers.store
        self._workers, self._stage, self._number = workers, stage, number
        self._mark, self._real = mark, real

    def run(self, name: str, job: Job, items: Sequence[Any]) -> Iterator[Any]:
        deadly: Any = job
        if name == self._stage:
            item = items[self._number % len(items)]
            deadly = Killing(job, item, self._mark, self._real.victim)
        return self._workers.run(name, deadly, items)
