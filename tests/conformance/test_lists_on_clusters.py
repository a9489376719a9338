"""A list that the workers of a cluster read makes the join release that it makes in memory."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.engines import cluster, domains
from sfumato.engines.choice import CLUSTERS
from sfumato.engines.splits import numbered_splits
from sfumato.errors import DataError, ParameterError, SfumatoError, SfumatoWarning
from sfumato.io.tables import read_table
from sfumato.verbs import joining
from tests.conformance.test_engines import CASES, UNWRITABLE, WRITERS, case
from tests.conformance.test_lists_alike import METHODS, REFINED, SEED, listed, patients
from tests.support.clusters import Cluster, Replaying
from tests.support.clusters import cluster as real_cluster

ENOUGH = 2**22  # bytes: several buckets of ids, and all combinations


@pytest.fixture(autouse=True)
def _parts(monkeypatch: pytest.MonkeyPatch) -> None:
    warnings.simplefilter("ignore", SfumatoWarning)
    monkeypatch.setattr(domains, "PART_ROWS", 61)
    monkeypatch.setattr(cluster, "SPLIT_ROWS", 100)
    monkeypatch.setattr(cluster, "FAN_IN", 3)
    monkeypatch.setattr("sfumato.verbs.listing._ROW_BYTES", 40_000)


@pytest.fixture(name="workers")
def _workers(monkeypatch: pytest.MonkeyPatch) -> Replaying:
    workers = Replaying(ENOUGH)
    at_work = {"dask": workers}
    monkeypatch.setattr(
        joining, "open_workers", lambda engine, *_: nullcontext(at_work.get(engine))
    )
    return workers


@pytest.fixture(name="real", scope="module", params=CLUSTERS)
def _real(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    with real_cluster(request.param) as found:
        yield found


def made(table: sf.Microdata, people: Path, out: Path, method: Any = REFINED, **how: Any) -> Any:
    """The files of a release, the owner's figures and all warnings; or a refusal."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always", SfumatoWarning)
        try:
            release = sf.publish_join(table, people, method, sf.KJoinAnonymity(4), seed=SEED, **how)
        except SfumatoError as error:
            return f"{type(error).__name__}: {error}"
    release.write(out)
    files = {file.name: file.read_bytes() for file in out.iterdir()}
    return files, repr(release.own), [str(one.message) for one in heard]


def source(folder: Path, rows: pa.Table | None = None) -> Path:
    path = folder / "list.parquet"
    pq.write_table(listed() if rows is None else rows, path, row_group_size=100)
    return path


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_tasks_that_run_twice_make_the_same_release(
    method: Any, workers: Replaying, tmp_path: Path
) -> None:
    people, table = source(tmp_path), patients(listed())
    memory = made(table, people, tmp_path / "memory", method, engine="memory")
    assert not isinstance(memory, str), memory
    assert made(table, people, tmp_path / "cluster", method, engine="dask") == memory
    assert max(n for _, n in workers.stages) >= 9
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == ["cluster", "list.parquet", "memory"]


def test_a_real_cluster_makes_the_same_release(real: Cluster, tmp_path: Path) -> None:
    people, table = source(tmp_path), patients(listed())
    memory = made(table, people, tmp_path / "memory", engine="memory")
    assert made(table, people, tmp_path / "cluster", **real.how()) == memory


@pytest.mark.usefixtures("workers")
def test_every_type_is_joined_alike(tmp_path: Path) -> None:
    kept = 0
    for number, name in enumerate(CASES):
        if name in UNWRITABLE.get("parquet", ()):
            continue
        table, _ = case(name, "quasi")
        people = WRITERS["parquet"](table, tmp_path / f"in-{number}")
        schema = sf.Schema(identifiers=["person"], quasi=["age", "it"], sensitive="ill")
        try:
            rows = read_table(people, trim=True)
            known = rows.filter(rows["it"].is_valid()).slice(2, 20)
            own = sf.read(known, schema, id="person")
        except SfumatoError:
            continue
        memory = made(own, people, tmp_path / f"memory-{number}", engine="memory")
        assert made(own, people, tmp_path / f"cluster-{number}", engine="dask") == memory, name
        kept += not isinstance(memory, str)
    assert kept > 10


@pytest.mark.usefixtures("workers")
@pytest.mark.parametrize("change", ["no id", "twice", "no rows"])
def test_bad_lists_are_refused_alike(change: str, tmp_path: Path) -> None:
    rows = listed()
    if change == "no id":
        rows = rows.set_column(1, "id", pa.array([None, *rows["id"].to_pylist()[1:]]))
    elif change == "twice":
        rows = pa.concat_tables([rows, rows.slice(5, 2)])
    else:
        rows = rows.slice(0, 0)
    people, table = source(tmp_path, rows), patients(listed())
    memory = made(table, people, tmp_path / "memory", engine="memory")
    assert made(table, people, tmp_path / "cluster", engine="dask") == memory


@pytest.mark.usefixtures("workers")
def test_a_list_that_changes_while_it_is_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    people, table = source(tmp_path), patients(listed())

    def changing(*given: Any) -> Any:
        found = numbered_splits(*given)
        source(tmp_path, listed().slice(0, 850))
        return found

    monkeypatch.setattr("sfumato.engines.lists.numbered_splits", changing)
    with pytest.raises(DataError, match="changed while it was read"):
        sf.publish_join(table, people, REFINED, sf.KJoinAnonymity(4), engine="dask")


@pytest.mark.usefixtures("workers")
def test_what_a_cluster_cannot_join_is_said(tmp_path: Path) -> None:
    table = patients(listed())
    with pytest.raises(ParameterError, match="a list in a file"):
        sf.publish_join(table, listed(), REFINED, sf.KJoinAnonymity(4), engine="dask")
    relaxed = sf.Refinement(sf.Mondrian(relaxed=True))
    with pytest.raises(ParameterError, match="never tell equal people apart"):
        sf.publish_join(table, source(tmp_path), relaxed, sf.KJoinAnonymity(4), engine="dask")
    with pytest.raises(ParameterError, match="has no scheduler"):
        sf.publish_join(
            table, source(tmp_path), REFINED, sf.KJoinAnonymity(4), scheduler="tcp://127.0.0.1:1"
        )
