"""Whoever looks at a table by the workers of a cluster sees what one process sees."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.asking import parted
from sfumato.audits import verify
from sfumato.audits.breach import View, everybody
from sfumato.cli import reading
from sfumato.engines import cluster, domains
from sfumato.engines import reading as whole_tables
from sfumato.engines.choice import CLUSTERS, address_of
from sfumato.engines.opening import open_workers
from sfumato.engines.parts import TableParts, Work, open_parts
from sfumato.errors import ParameterError, ReleaseError, SfumatoWarning
from tests.conformance.test_readers_alike import (
    ENOUGH,
    PEOPLE,
    RELEASES,
    SCHEMA,
    people,
)
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


@pytest.fixture(name="workers")
def _workers(monkeypatch: pytest.MonkeyPatch) -> Replaying:
    """Have them stand in for those of Dask, wherever a table is read."""
    workers = Replaying(ENOUGH)
    for module in (reading, verify, whole_tables):
        monkeypatch.setattr(
            module,
            "open_workers",
            lambda engine, *_: nullcontext(workers if engine == "dask" else None),
        )
    return workers


def test_a_table_that_workers_read_is_that_of_memory(workers: Replaying, tmp_path: Path) -> None:
    """And so is all that is made of it, such as a statistical database."""
    table = sf.read(source(tmp_path), SCHEMA, engine="dask")
    assert dict(workers.stages) == {"tally": 9, "merged": 3, "coded": 9}
    require_same_table(table, sf.read(source(tmp_path), SCHEMA, engine="memory"))
    assert [path.name for path in tmp_path.iterdir()] == ["people.parquet"]
    one_column = sf.Schema(quasi=SCHEMA.quasi, sensitive="ill")
    sf.write_schema(tmp_path / "schema.toml", one_column)
    asked = ("statdb", "create", "people.parquet", "-s", "schema.toml", "--m", "2")
    for engine in ("memory", "dask"):
        done = sfumato(tmp_path, *asked, "--seed", "3", "--experiment", "-o", engine,
                       "--engine", engine)  # fmt: skip
        assert done.returncode == 0, done.stderr
    assert stored(tmp_path / "dask") == stored(tmp_path / "memory")


def test_a_real_cluster_reads_the_same_table(real: Cluster, tmp_path: Path) -> None:
    found = sf.read(source(tmp_path), SCHEMA, **real.how())
    require_same_table(found, sf.read(source(tmp_path), SCHEMA, engine="memory"))


def require_same_table(found: sf.Microdata, expected: sf.Microdata) -> None:
    """Domains, codes and whatever is no code."""
    assert found.n_rows == expected.n_rows
    for name, attribute in expected.attributes.items():
        assert found.attributes[name].values.equals(attribute.values)
        assert found.codes[name].tolist() == expected.codes[name].tolist()
    assert found.insensitive.equals(expected.insensitive)


def stored(folder: Path) -> dict[str, bytes]:
    """The files of a database but the one that names their folder, which is called by chance."""
    (state,) = folder.glob("state-*")
    assert len([*state.iterdir()]) > 5
    return {path.name: path.read_bytes() for path in state.iterdir()}


def test_a_worker_verifies_as_this_process_does(workers: Replaying, tmp_path: Path) -> None:
    """A release that is sound, one that is not, and one that is not there."""
    folder = Path(RELEASES["ranges"]().write(tmp_path / "out"))
    assert sf.verify(folder, engine="dask").to_dict() == sf.verify(folder).to_dict()
    (folder / "more.txt").write_text("?")
    refused = sf.verify(folder, engine="dask")
    assert not refused.ok
    assert refused == sf.verify(folder)
    assert workers.stages == [("verify", 1)] * 2
    with pytest.raises(ReleaseError):
        sf.verify(tmp_path, engine="dask")
    with pytest.raises(ParameterError, match="verified as a whole"):
        sf.verify(folder, engine="stream")
    with pytest.raises(ParameterError, match="has no master"):
        sf.verify(folder, engine="dask", master="spark://127.0.0.1:1")


def test_a_real_cluster_verifies(real: Cluster, tmp_path: Path) -> None:
    folder = Path(RELEASES["ranges"]().write(tmp_path / "out"))
    found = sf.verify(folder, **real.how())
    assert found == sf.verify(folder)


def test_a_query_is_not_read_by_workers(tmp_path: Path) -> None:
    work = Work(Replaying(ENOUGH), tmp_path)
    with (
        pytest.raises(ParameterError, match="workers read files"),
        open_parts(source(tmp_path), SCHEMA, ENOUGH, query="SELECT * FROM t", work=work),
    ):
        pass


def _untimed(printed: str) -> str:
    return re.sub(r'"seconds": [^,}]+', '"seconds": 0', printed)


def test_commands_take_an_engine(workers: Replaying, tmp_path: Path) -> None:
    folder = RELEASES["ranges"]().write(tmp_path / "out")
    sf.write_schema(tmp_path / "schema.toml", SCHEMA)
    truth = ("--truth", str(source(tmp_path)), "-s", "schema.toml", "--json")
    commands = (
        ("evaluate", "out", "--seed", "3"),
        ("breach", "out", "--sensitive", "ill"),
        ("audit", "out", "--seed", "3", "--attack", "linkage", "--sensitive", "ill"),
        ("verify", "out"),
    )
    for command in commands:
        beside = ("--json",) if command[0] == "verify" else truth
        one = sfumato(tmp_path, *command, *beside)
        many = sfumato(tmp_path, *command, *beside, "--engine", "dask")
        assert one.returncode == many.returncode == 0, (one.stderr, many.stderr)
        alone, together = (json.loads(_untimed(done.stdout)) for done in (one, many))
        assert without_sets(alone) == without_sets(together)
    assert workers.stages
    refused = sfumato(tmp_path, "breach", str(folder), "--person", "age=30", "--engine", "dask")
    assert refused.returncode == 2
    assert "--engine is for the true table" in refused.stderr
