"""Whoever looks at a table by the workers of a cluster sees what one process sees."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.asking import parted
from sfumato.audits.breach import View, everybody
from sfumato.cli import reading
from sfumato.engines import cluster, domains
from sfumato.engines.choice import CLUSTERS, address_of
from sfumato.engines.opening import open_workers
from sfumato.engines.parts import TableParts, Work, open_parts
from sfumato.errors import ParameterError, SfumatoWarning
from tests.conformance.test_readers_alike import ENOUGH, PEOPLE, RELEASES, SCHEMA, people
from tests.support.clusters import Cluster, Replaying
from tests.support.clusters import cluster as real_cluster
from tests.support.commands import sfumato
from tests.support.risks import without_sets

QUESTIONS = (
    "SELECT COUNT(*) FROM t WHERE age < 40 AND ill = 'flu'",
    "SELECT town, COUNT(*), AVG(income) FROM t WHERE debt > 10 GROUP BY town",
    "SELECT MAX(age) FROM t WHERE note = 'x'",
)


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(domains, "PART_ROWS", 61)
    monkeypatch.setattr(cluster, "SPLIT_ROWS", 100)
    monkeypatch.setattr(cluster, "FAN_IN", 3)
    monkeypatch.setattr(parted, "_MOST_WAITING", 20)
    warnings.simplefilter("ignore", SfumatoWarning)


@pytest.fixture(name="real", scope="module", params=CLUSTERS)
def _real(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    with real_cluster(request.param) as found:
        yield found


def source(folder: Path) -> Path:
    pq.write_table(people(), folder / "people.parquet", row_group_size=100)
    return folder / "people.parquet"


def require_alike(truth: TableParts, folder: Path) -> None:
    """Counts, questions, risks and the evaluation are those of memory."""
    whole = TableParts.of(PEOPLE)
    assert without_sets(sf.assess(truth).to_dict()) == without_sets(sf.assess(PEOPLE).to_dict())
    counts = truth.counts(QUESTIONS[:1])
    assert counts.estimate.tolist() == whole.counts(QUESTIONS[:1]).estimate.tolist()
    for question in QUESTIONS:
        found, expected = truth.query(question), PEOPLE.query(question)
        assert (found.keys, found.answers) == (expected.keys, expected.answers)
    seen = View.read(folder, "ill", ENOUGH)
    rows, persons = everybody(seen, truth, None, ENOUGH)
    expected_rows, expected_persons = everybody(seen, whole, None, ENOUGH)
    assert rows.to_dict() == expected_rows.to_dict()
    assert persons.to_dict()["mean"] == pytest.approx(expected_persons.to_dict()["mean"])
    how: dict[str, Any] = {"queries": 20, "seed": 3}
    assert without_sets(sf.evaluate(folder, truth, **how).to_dict()) == (
        without_sets(sf.evaluate(folder, PEOPLE, **how).to_dict())
    )


@pytest.mark.parametrize("name", ["ranges", "anatomized"])
def test_tasks_that_run_twice_see_the_same(name: str, tmp_path: Path) -> None:
    folder = RELEASES[name]().write(tmp_path / "out")
    workers = Replaying(ENOUGH)
    work = Work(workers, folder)
    with open_parts(source(tmp_path), SCHEMA, ENOUGH, work=work) as truth:
        assert truth.engine is not None
        require_alike(truth, folder)
    assert max(n for _, n in workers.stages) > 5
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "people.parquet"]


def test_a_real_cluster_sees_the_same(real: Cluster, tmp_path: Path) -> None:
    folder = RELEASES["ranges"]().write(tmp_path / "out")
    how = real.how()
    address = address_of(how["engine"], how.get("scheduler"), None)
    with open_workers(how["engine"], address, None) as workers:
        assert workers is not None
        work = Work(workers, folder)
        with open_parts(source(tmp_path), SCHEMA, ENOUGH, work=work) as truth:
            require_alike(truth, folder)


def test_a_query_is_not_read_by_workers(tmp_path: Path) -> None:
    work = Work(Replaying(ENOUGH), tmp_path)
    with (
        pytest.raises(ParameterError, match="workers read files"),
        open_parts(source(tmp_path), SCHEMA, ENOUGH, query="SELECT * FROM t", work=work),
    ):
        pass


def test_commands_take_an_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workers = Replaying(ENOUGH)
    monkeypatch.setattr(
        reading,
        "open_workers",
        lambda engine, *_: nullcontext(workers if engine == "dask" else None),
    )
    folder = RELEASES["ranges"]().write(tmp_path / "out")
    sf.write_schema(tmp_path / "schema.toml", SCHEMA)
    truth = ("--truth", str(source(tmp_path)), "-s", "schema.toml", "--json")
    for command in (("evaluate", "out", "--seed", "3"), ("breach", "out", "--sensitive", "ill")):
        one = sfumato(tmp_path, *command, *truth)
        many = sfumato(tmp_path, *command, *truth, "--engine", "dask")
        assert one.returncode == many.returncode == 0, (one.stderr, many.stderr)
        alone, together = (json.loads(done.stdout) for done in (one, many))
        assert without_sets(alone) == without_sets(together)
    assert workers.stages
    refused = sfumato(tmp_path, "breach", str(folder), "--person", "age=30", "--engine", "dask")
    assert refused.returncode == 2
    assert "--engine is for the true table" in refused.stderr
