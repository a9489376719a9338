"""A cluster's engine with workers of this process: calls, errors, secrets, what is left behind."""

from __future__ import annotations

import pickle
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.engines import cluster, domains, pieces
from sfumato.engines.cluster import ClusterEngine, Stages, _pieces, cluster_engine
from sfumato.engines.coded import ROW
from sfumato.engines.pieces import Job, StoredPiece
from sfumato.engines.rows import open_rows
from sfumato.engines.splits import Split, numbered_splits, runs
from sfumato.engines.tally import Tally
from sfumato.errors import (
    DataError,
    MachineError,
    OutOfMemory,
    ParameterError,
    SfumatoError,
    SfumatoWarning,
)
from sfumato.verbs import files
from tests.support.clusters import Replaying, spelled, spied_keys
from tests.support.seeds import long_seed
from tests.unit.engines.test_stream import PARTS, doubled, labelled, parity, total

SCHEMA = sf.Schema(quasi=["age", "town"], sensitive="ill")


def people(rows: int = 90) -> pa.Table:
    towns, ills = ([f"{name}{i % n}" for i in range(rows)] for name, n in (("t", 4), ("d", 5)))
    return pa.table({"age": [i % 30 for i in range(rows)], "town": towns, "ill": ills})


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(domains, "PART_ROWS", 10)
    monkeypatch.setattr(cluster, "SPLIT_ROWS", 10)
    warnings.simplefilter("ignore", SfumatoWarning)


@pytest.fixture(name="workers")
def _workers(monkeypatch: pytest.MonkeyPatch) -> Replaying:
    workers = Replaying(40_000)
    monkeypatch.setattr(files, "open_workers", lambda *_: nullcontext(workers))
    return workers


@pytest.fixture(name="engine")
def _engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ClusterEngine:
    monkeypatch.setattr(cluster, "SPLIT_ROWS", 3)
    stages = Stages(Replaying(1), tmp_path, lambda: None)
    tables = (pa.table({"x": pa.array(part, pa.int64())}) for part in PARTS)
    stored, _ = pieces._written(tmp_path, ((table, None) for table in tables), 1)
    return ClusterEngine(stages, _pieces([stored]))


def publish(source: Path | str, out: Path, **more: Any) -> None:
    sf.publish_file(
        source, SCHEMA, sf.Mondrian(), sf.KAnonymity(3), out, engine="dask", seed=long_seed(3),
        **more,
    )  # fmt: skip


def test_pieces_have_enough_rows(engine: ClusterEngine) -> None:
    batches = [(piece.low, piece.high) for piece in engine.pieces if isinstance(piece, StoredPiece)]
    assert batches == [(0, 1), (1, 4)]
    assert [*runs([5, 0, 2, 9], 6)] == [(0, 3, 7), (3, 4, 9)]
    assert [*runs([], 6)] == []


@pytest.mark.parametrize("fan_in", [1, 2, 32])
def test_parts_are_reduced(
    fan_in: int, engine: ClusterEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By workers as well, where there are too many pieces for the driver."""
    monkeypatch.setattr(cluster, "FAN_IN", max(2, fan_in))
    many = ClusterEngine(engine.stages, [*engine.pieces] * 5 if fan_in == 2 else engine.pieces)
    assert many.reduce(total, int.__add__, 3) == 3 * 23 * (5 if fan_in == 2 else 1)


def test_what_is_kept_can_be_read_again(engine: ClusterEngine) -> None:
    kept = engine.keep(doubled, 10)
    for _ in range(2):
        shown = [part.column("x").to_pylist() for part in kept.parts()]
        assert shown == [[10 * x for x in part] for part in PARTS]


def test_rows_meet_by_their_number_and_keep_their_order(engine: ClusterEngine) -> None:
    exchanged = engine.exchange(parity, 3, labelled, 7)
    for _ in range(2):
        found = [(part.column("x").to_pylist(), set(part.column("of").to_pylist()))
                 for part in exchanged.parts()]  # fmt: skip
        assert found == [([4, 2, 2], {0}), ([5, 1, 9], {7}), ([], set())]
    assert exchanged.reduce(total, int.__add__, 1) == 23


@pytest.mark.parametrize("n", [1, 40, 90])
def test_rows_are_numbered_as_they_stand_in_files(
    n: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, (low, size) in enumerate(((0, 40), (40, 0), (40, 50))):
        pq.write_table(
            people().slice(low, size), tmp_path / f"in-{number}.parquet", row_group_size=n
        )
    monkeypatch.chdir(tmp_path)
    rows = open_rows("in-*.parquet", SCHEMA)
    splits = numbered_splits(rows.files, 10)
    assert all(one.n_rows and one.split.file.is_absolute() for one in splits)
    with cluster_engine(rows, Replaying(1), tmp_path / "out", lambda: None) as engine:
        found = pa.concat_tables(engine.parts())
    assert found.column(ROW).to_pylist() == list(range(90))
    assert found.drop_columns([ROW]).equals(people())
    assert not [path for path in tmp_path.iterdir() if path.suffix != ".parquet"]


def test_files_without_rows_are_one_empty_split(tmp_path: Path) -> None:
    pq.write_table(people(0), tmp_path / "in.parquet")
    (only,) = numbered_splits(open_rows(tmp_path / "in.parquet", SCHEMA).files, 10)
    assert (only.split, only.n_rows) == (Split(tmp_path / "in.parquet"), 0)


@pytest.mark.usefixtures("workers")
def test_a_table_without_rows_is_refused(tmp_path: Path) -> None:
    pq.write_table(people(0), tmp_path / "in.parquet")
    with pytest.raises(DataError, match="no rows"):
        publish(tmp_path / "in.parquet", tmp_path / "out")


def test_a_region_that_is_too_large_for_a_worker_is_refused_with_its_bytes(
    workers: Replaying, tmp_path: Path
) -> None:
    """The bytes that are named are enough, and one less is not."""
    table = people(900).set_column(0, "age", pa.array([30] * 900))
    pq.write_table(table, tmp_path / "in.parquet")
    with pytest.raises(OutOfMemory, match="cannot be divided further") as refused:
        publish(tmp_path / "in.parquet", tmp_path / "out")
    named = re.search(r"allow ([\d,]+) bytes", str(refused.value))
    assert named is not None
    workers.memory = int(named[1].replace(",", ""))
    publish(tmp_path / "in.parquet", tmp_path / "out")
    workers.memory -= 100
    with pytest.raises(OutOfMemory):
        publish(tmp_path / "in.parquet", tmp_path / "other")


@pytest.mark.parametrize("change", ["other values", "fewer rows", "more rows"])
def test_a_file_that_changes_while_it_is_read_is_refused(
    change: str, workers: Replaying, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "in.parquet"
    pq.write_table(people(), source)
    tables = {
        "other values": people().set_column(0, "age", pa.array([99] * 90)),
        "fewer rows": people(60),
        "more rows": people(120),
    }
    encoded = domains.Counted.encoded

    def changing(self: domains.Counted, engine: Any) -> Any:
        pq.write_table(tables[change], source)
        return encoded(self, engine)

    monkeypatch.setattr(domains.Counted, "encoded", changing)
    with pytest.raises(DataError, match="changed while it was read"):
        publish(source, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]


@pytest.mark.usefixtures("workers")
def test_a_disk_that_fills_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pieces, "_written", full)
    pq.write_table(people(), tmp_path / "in.parquet")
    with pytest.raises(SfumatoError, match="space"):
        publish(tmp_path / "in.parquet", tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]


def test_keys_reach_workers_in_files_of_the_owner_and_nowhere_else(
    workers: Replaying, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secrets = spied_keys(monkeypatch)
    sent: list[bytes] = []
    modes: set[int] = set()
    told: list[bytes] = []
    run = Replaying.run

    def running(self: Replaying, name: str, job: Job, items: Sequence[Any]) -> Iterator[Any]:
        sent.append(pickle.dumps((name, job, items)) + repr((job, items)).encode())
        modes.update(path.stat().st_mode & 0o777 for path in job.folder.iterdir())
        told.extend(path.read_bytes() for path in job.folder.iterdir())
        return run(self, name, job, items)

    monkeypatch.setattr(Replaying, "run", running)
    pq.write_table(people(), tmp_path / "in.parquet")
    publish(tmp_path / "in.parquet", tmp_path / "out")
    assert len(secrets) == 2
    assert modes == {0o600}
    for secret in secrets:
        assert any(secret in one for one in told)  # the control: this is how they look
        assert not any(form in one for form in spelled(secret) for one in sent)


def test_what_cannot_be_removed_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "_PATIENCE", 0.0)
    monkeypatch.setattr("shutil.rmtree", lambda *_, **__: None)
    pq.write_table(people(), tmp_path / "in.parquet")
    rows = open_rows(tmp_path / "in.parquet", SCHEMA)
    with (
        pytest.raises(MachineError, match="remove it"),
        cluster_engine(rows, Replaying(1), tmp_path / "out", lambda: None),
    ):
        pass


def test_only_a_cluster_has_a_scheduler(tmp_path: Path) -> None:
    pq.write_table(people(), tmp_path / "in.parquet")
    with pytest.raises(ParameterError, match="has no scheduler"):
        sf.publish_file(
            tmp_path / "in.parquet", SCHEMA, sf.Mondrian(), sf.KAnonymity(3), tmp_path / "out",
            scheduler="tcp://127.0.0.1:1",
        )  # fmt: skip


def test_progress_is_told_as_by_one_process(workers: Replaying, tmp_path: Path) -> None:
    heard: dict[str, list[float]] = {}
    pq.write_table(people(), tmp_path / "in.parquet", row_group_size=10)
    publish(
        tmp_path / "in.parquet",
        tmp_path / "out",
        progress=lambda stage, share: heard.setdefault(stage, []).append(share),
    )
    assert list(heard) == [
        "counting values", "encoding", "partitioning", "spilling", "dividing", "writing"
    ]  # fmt: skip
    assert all(0 <= share <= 1 for shares in heard.values() for share in shares)
    assert max(heard["encoding"]) > 0.5
    assert [name for name, _ in workers.stages] == [
        "tally", "coded", "part_sum", "count_nodes", "region_of", "divided, bucket_of",
        "published, as_it_is",
    ]  # fmt: skip


def test_the_same_is_told_once(engine: ClusterEngine) -> None:
    plan = list(range(1000))
    first, again = engine.stages.told(plan), engine.stages.told([*plan])
    assert first == again
    plan[0] = 7  # what is told is what it was when it was told
    assert engine.stages.told(plan)() == plan
    assert first()[0] == 0


def test_values_are_sent_once_however_many_parts_have_them() -> None:
    one, many = Tally(pa.int64()), Tally(pa.int64())
    column = pa.chunked_array([list(range(500))])
    one.add(column)
    for _ in range(20):
        many.add(column)
    assert len(pickle.dumps(many)) < 1.1 * len(pickle.dumps(one))
    values, counts = pickle.loads(pickle.dumps(many)).result()
    assert dict(zip(values.to_pylist(), counts, strict=True)) == dict.fromkeys(range(500), 20)
