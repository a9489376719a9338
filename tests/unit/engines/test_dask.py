"""Dask: TLS, and what it refuses."""

from __future__ import annotations

import importlib.metadata
import logging
import multiprocessing
import os
import pickle
import re
import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.engines import cluster, domains, versions
from sfumato.engines.dask import DaskWorkers
from sfumato.errors import (
    DataError,
    MachineError,
    MissingExtra,
    ParameterError,
    SchemaError,
    SfumatoWarning,
)
from tests.support.clusters import DaskCluster, Killing, dask_cluster, kill, spelled, spied_keys
from tests.support.seeds import long_seed
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.slow

SCHEMA = sf.Schema(quasi=["age", "town", "income"], sensitive="ill")
ROWS = 60_000


@pytest.fixture(name="source", scope="module")
def _source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    chance = np.random.default_rng(5)
    table = pa.table(
        {
            "age": chance.integers(18, 90, ROWS),
            "town": chance.choice([f"t{i}" for i in range(40)], ROWS),
            "income": chance.integers(0, 500, ROWS),
            "ill": chance.choice(["flu", "cold", "gout", "mumps"], ROWS),
        }
    )
    path = tmp_path_factory.mktemp("dask") / "in.parquet"
    pq.write_table(table, path, row_group_size=ROWS // 12)
    return path


@pytest.fixture(name="dask", scope="module")
def _dask() -> Iterator[DaskCluster]:
    with dask_cluster() as found:
        yield found


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(domains, "PART_ROWS", 1000)
    monkeypatch.setattr(cluster, "SPLIT_ROWS", 1000)
    warnings.simplefilter("ignore", SfumatoWarning)


def publish(source: Path, out: Path, **how: Any) -> dict[str, bytes]:
    sf.publish_file(
        source, SCHEMA, sf.Mondrian(), sf.KAnonymity(5), out, seed=long_seed(3), **how
    )  # fmt: skip
    assert not [path for path in out.parent.iterdir() if path.name.startswith(".")]
    return {file.name: file.read_bytes() for file in out.iterdir()}


@pytest.fixture(name="expected", scope="module")
def _expected(source: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SfumatoWarning)
        return publish(source, tmp_path_factory.mktemp("one") / "out", engine="stream")


def test_a_local_cluster_speaks_tls_says_where_it_is_and_ends(
    source: Path,
    expected: dict[str, bytes],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    seen: set[str] = set()

    def watch(*_: Any) -> None:
        import distributed

        seen.update(
            str(client.scheduler.address).partition(":")[0]
            for client in distributed.Client._instances
            if client.scheduler is not None
        )

    with caplog.at_level(logging.WARNING, "sfumato"):
        found = publish(source, tmp_path / "out", engine="dask", progress=watch, memory_limit=2**30)
    assert found == expected
    assert "tls" in seen
    (told,) = (line for line in caplog.messages if "dashboard" in line)
    assert re.search(r"https?://127\.0\.0\.1:\d+/status", told)
    assert multiprocessing.active_children() == []


def test_a_scheduler_with_tls_wants_certificates(
    source: Path, expected: dict[str, bytes], tmp_path: Path
) -> None:
    import dask

    with dask_cluster(secure=True) as found:
        with pytest.raises(MachineError, match="wants certificates"):
            publish(source, tmp_path / "out", **found.how())
        # in files, as the documentation has it
        settings: dict[str, Any] = {"distributed.comm.require-encryption": True}
        for name, text in found.certificates.items():
            (tmp_path / name).write_text(text)
            settings[f"distributed.comm.tls.{name}"] = str(tmp_path / name)
        with dask.config.set(settings):
            assert publish(source, tmp_path / "out", **found.how()) == expected


def test_no_key_is_in_what_scheduler_and_workers_know(
    source: Path, dask: DaskCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tasks as they are held, events, logs, settings and environments, looked up in every stage."""
    secrets, seen, stages = spied_keys(monkeypatch), [], []
    run = DaskWorkers.run

    def running(self: DaskWorkers, name: str, job: Any, items: Any) -> Iterator[Any]:
        stages.append(name)
        for number, done in enumerate(run(self, name, job, items)):
            if not number:
                seen.extend(_known(dask.client))
            yield done

    monkeypatch.setattr(DaskWorkers, "run", running)
    publish(source, tmp_path / "out", **dask.how())
    assert len(secrets) == 2
    assert any(b"divided" in one for one in seen)
    for secret in secrets:
        assert not any(form in one for form in spelled(secret) for one in seen)
    # the control: what a task is given is seen
    future = dask.client.submit(_late, secrets[0], key="late")
    assert any(form in one for form in spelled(secrets[0]) for one in _known(dask.client))
    assert future.result(timeout=PATIENCE)


def _late(_secret: bytes) -> bool:
    time.sleep(2)
    return True


def _known(client: Any) -> list[bytes]:
    """All that a cluster holds and shows."""
    logs = [client.get_scheduler_logs(), client.get_worker_logs()]
    return [
        *client.run_on_scheduler(_known_to_scheduler),
        *client.run(_settings).values(),
        *(repr(one).encode() for one in logs),
    ]


def _known_to_scheduler(dask_scheduler: Any) -> list[bytes]:
    tasks = [
        pickle.dumps((one.key, one.run_spec, one.annotations)) + repr(one.run_spec).encode()
        for one in dask_scheduler.tasks.values()
    ]
    return [*tasks, repr(dask_scheduler.get_events()).encode(), _settings()]


def _settings() -> bytes:
    import dask

    return repr((dask.config.config, dict(os.environ))).encode()


def test_a_scheduler_that_does_not_answer_is_named(source: Path, tmp_path: Path) -> None:
    with pytest.raises(MachineError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:1 "):
        publish(source, tmp_path / "out", engine="dask", scheduler="tcp://127.0.0.1:1")
    assert not (tmp_path / "out").exists()


def test_a_scheduler_that_takes_the_call_and_says_nothing_is_named(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sfumato.engines.dask._CONNECT", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(MachineError, match=r"no Dask scheduler answers at .* in 0\.5 seconds"):
            publish(source, tmp_path / "out", engine="dask", scheduler=address)
    assert not any(tmp_path.iterdir())


def test_whoever_answers_and_is_no_scheduler_is_named(
    source: Path, dask: DaskCluster, tmp_path: Path
) -> None:
    """A worker, and a dashboard, whose first word Dask takes for a length of many gigabytes."""
    worker = min(dask.client.scheduler_info(n_workers=-1)["workers"])
    with pytest.raises(MachineError, match=r"no Dask scheduler answers at .* \(a Worker answers"):
        publish(source, tmp_path / "out", engine="dask", scheduler=worker)
    with socket.create_server(("127.0.0.1", 0)) as other:
        Thread(target=_greet, args=(other,), daemon=True).start()
        address = f"tcp://127.0.0.1:{other.getsockname()[1]}"
        with pytest.raises(MachineError, match=r"answers at .* \(something else answers there"):
            publish(source, tmp_path / "out", engine="dask", scheduler=address)
    assert not any(tmp_path.iterdir())


def _greet(server: socket.socket) -> None:
    with server.accept()[0] as caller:
        caller.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        caller.recv(1)
        caller.settimeout(PATIENCE)
        with suppress(OSError):
            while caller.recv(2**16):
                pass


@pytest.mark.parametrize("settings", [{}, {"distributed.comm.tls.ca-file": "no/such/file"}])
def test_where_certificates_are_named_is_said(
    settings: dict[str, str], source: Path, tmp_path: Path
) -> None:
    import dask

    said = r"wants certificates, .* none that are there: set DASK_DISTRIBUTED__COMM__TLS__CA"
    with dask.config.set(settings), pytest.raises(MachineError, match=said):
        publish(source, tmp_path / "out", engine="dask", scheduler="tls://127.0.0.1:1")


def test_a_program_that_its_workers_would_run_again_is_told(source: Path, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import sfumato as sf\n"
        "schema = sf.Schema(quasi=['age', 'town', 'income'], sensitive='ill')\n"
        f"sf.publish_file({str(source)!r}, schema, sf.Mondrian(), sf.KAnonymity(5),\n"
        f"                {str(tmp_path / 'out')!r}, engine='dask', memory_limit=2**30)\n"
    )
    done = subprocess.run(
        [sys.executable, str(program)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    last = done.stderr.splitlines()[-1]
    assert last.startswith("sfumato.errors.MachineError: no worker starts")
    assert last.endswith('under if __name__ == "__main__":')
    assert not (tmp_path / "out").exists()


def test_an_address_that_is_none_is_named(source: Path, tmp_path: Path) -> None:
    with pytest.raises(MachineError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1: "):
        publish(source, tmp_path / "out", engine="dask", scheduler="tcp://127.0.0.1:")


def test_workers_of_another_version_are_refused(
    source: Path, dask: DaskCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = importlib.metadata.version
    monkeypatch.setattr(versions, "version", lambda of: "1.0" if of == "numpy" else known(of))
    versions.versions.cache_clear()
    try:
        with pytest.raises(MachineError, match=r"has numpy [\d.]+, and this process 1\.0; install"):
            publish(source, tmp_path / "out", **dask.how())
    finally:
        versions.versions.cache_clear()


def test_too_little_memory_is_refused_up_front(source: Path, tmp_path: Path) -> None:
    with pytest.raises(MachineError, match="bytes of memory for a worker are too few"):
        publish(source, tmp_path / "out", engine="dask", memory_limit=2**28)


def test_a_folder_that_workers_do_not_see_is_named(
    source: Path, dask: DaskCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sfumato.engines.dask.can_use", _blind)
    with pytest.raises(MachineError, match="storage that all workers share"):
        publish(source, tmp_path / "out", **dask.how())
    assert not any(tmp_path.iterdir())


def _blind(folder: Path) -> bool:
    return False


def test_without_the_library_the_extra_is_named(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(MissingExtra, match=r"sfumato\[dask\]"):
        publish(source, tmp_path / "out", engine="dask")


def test_a_task_that_kills_every_worker_ends_in_an_error(
    source: Path, dask: DaskCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sfumato.verbs.grouping.divided", _deadly)
    with pytest.raises(MachineError, match="died again and again"):
        publish(source, tmp_path / "out", **dask.how())
    assert not any(tmp_path.iterdir())
    dask.complete()


def _deadly(*_: Any) -> pa.Table:
    kill(os.getpid())
    time.sleep(60)
    return pa.table({})


def test_a_worker_that_is_late_to_come_back_is_waited_for(
    source: Path, expected: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dask gives up those that are not back within some seconds; here it would at once."""
    import dask

    mark, run = tmp_path / "killed", DaskWorkers.run

    def running(self: DaskWorkers, name: str, job: Any, items: Any) -> Iterator[Any]:
        deadly: Any = Killing(job, items[0], mark, os.getpid)
        return run(self, name, deadly, items)

    monkeypatch.setattr(DaskWorkers, "run", running)
    monkeypatch.setattr("sfumato.engines.dask.processors", lambda: 1)
    with dask.config.set({"distributed.deploy.lost-worker-timeout": 0}):
        found = publish(source, tmp_path / "out", engine="dask", memory_limit=2**30)
    assert found == expected
    assert mark.exists()


def test_a_frame_is_published_by_its_own_cluster(
    source: Path, expected: dict[str, bytes], dask: DaskCluster, tmp_path: Path
) -> None:
    """Partitions are read in their order; one of them is empty."""
    from dask import dataframe

    untyped: Any = dataframe
    rows = pq.read_table(source).append_column("name", pa.array(["x"] * ROWS)).to_pandas()
    sizes = [100, 0, 20_000, ROWS - 20_100]
    parts = [rows[end - size : end] for size, end in zip(sizes, np.cumsum(sizes), strict=True)]
    frame = untyped.from_map(lambda part: part, parts, meta=rows[:0])
    schema = sf.Schema(identifiers=["name"], quasi=SCHEMA.quasi, sensitive="ill")
    with dask.client.as_current():
        sf.publish_file(
            frame, schema, sf.Mondrian(), sf.KAnonymity(5), tmp_path / "out", seed=long_seed(3)
        )
        with pytest.raises(ParameterError, match="published by the engine dask"):
            publish(frame, tmp_path / "other", engine="stream")
        with pytest.raises(SchemaError, match="no column 'income'"):
            publish(frame.drop(columns="income"), tmp_path / "other")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    found = {file.name: file.read_bytes() for file in (tmp_path / "out").iterdir()}
    assert found == expected


def test_a_frame_is_read_by_its_own_cluster(
    dask: DaskCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Into the table that memory makes of it, and nothing is left of its rows."""
    from dask import dataframe

    untyped: Any = dataframe
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    ills = ["flu", "cold", "gout"]
    rows = pa.table({"age": [i % 30 for i in range(900)], "ill": [ills[i % 3] for i in range(900)]})
    frame = untyped.from_pandas(rows.to_pandas(), npartitions=3)
    schema = sf.Schema(quasi=["age"], sensitive="ill")
    with dask.client.as_current():
        found = sf.read(frame, schema, missing="gout")
        release = sf.publish(frame, k=5, quasi=["age"], sensitive="ill", seed=long_seed(3))
        with pytest.raises(ParameterError, match="the DataFrame says itself how it is written"):
            sf.read(frame, schema, encoding="latin-1")
    expected = sf.read(rows, schema, missing="gout")
    assert found.codes["age"].tolist() == expected.codes["age"].tolist()
    assert found.codes["ill"].tolist() == expected.codes["ill"].tolist()
    whole = sf.publish(rows, k=5, quasi=["age"], sensitive="ill", seed=long_seed(3))
    assert release.groups.equals(whole.groups)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("change", ["another type", "a column less"])
def test_partitions_that_differ_are_refused(
    change: str, source: Path, dask: DaskCluster, tmp_path: Path
) -> None:
    from dask import dataframe

    untyped: Any = dataframe
    rows = pq.read_table(source).slice(0, 100).to_pandas()
    other = rows.drop(columns="town") if change == "a column less" else rows.assign(age="old")
    frame = untyped.from_map(lambda part: part, [rows, other], meta=rows[:0])
    with dask.client.as_current(), pytest.raises(DataError, match="do not make one table"):
        publish(frame, tmp_path / "out")
    assert not any(tmp_path.iterdir())
