"""Workers that are killed in the middle of a stage: the release is that of one process."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.engines import cluster, domains
from sfumato.engines.choice import CLUSTERS
from sfumato.engines.cluster import Workers
from sfumato.engines.opening import open_workers
from sfumato.engines.pieces import Job
from sfumato.errors import SfumatoWarning
from sfumato.verbs import files
from tests.conformance.test_engines_alike import SCHEMA, made, people
from tests.support.clusters import Cluster, Killing
from tests.support.clusters import cluster as real_cluster

pytestmark = pytest.mark.slow

STAGES = ("coded", "divided, bucket_of", "count_nodes", "published, as_it_is", "region_of", "tally")
KILLS = int(os.environ.get("SFUMATO_KILLS", "2"))
MEMORY = 60_000  # bytes: several regions


@pytest.fixture(name="real", scope="module", params=CLUSTERS)
def _real(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    with real_cluster(request.param) as found:
        yield found


@pytest.mark.parametrize("number", range(KILLS))
def test_a_worker_that_is_killed_changes_nothing(
    number: int, real: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When its task is done, and before anybody has heard of it."""
    monkeypatch.setattr(domains, "PART_ROWS", 61)
    monkeypatch.setattr(cluster, "SPLIT_ROWS", 1)
    warnings.simplefilter("ignore", SfumatoWarning)
    source, mark = tmp_path / "in.parquet", tmp_path / "killed"
    pq.write_table(people(), source, row_group_size=61)
    how: dict[str, Any] = {"model": sf.KAnonymity(4), "memory_limit": MEMORY}
    expected = made(source, SCHEMA, tmp_path / "one", engine="stream", **how)
    assert isinstance(expected, dict), expected
    real.complete()

    @contextmanager
    def deadly(*given: Any) -> Iterator[Workers]:
        with open_workers(*given) as workers:
            assert workers is not None
            yield _Deadly(workers, STAGES[number % len(STAGES)], number, mark, real)

    monkeypatch.setattr(files, "open_workers", deadly)
    assert made(source, SCHEMA, tmp_path / "many", **real.how(), **how) == expected
    assert mark.exists()
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == ["in.parquet", "killed", "many", "one"]


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
