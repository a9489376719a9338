"""Spark: the processes of this machine, and what it refuses."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.engines import cluster, domains, java, spark
from sfumato.errors import MachineError, MissingExtra, ParameterError, SfumatoWarning
from tests.conformance.test_engines_alike import SCHEMA, made, people
from tests.support.clusters import SparkCluster, spark_cluster, spelled, spied_keys
from tests.support.seeds import long_seed

pytestmark = pytest.mark.slow
needs_spark = pytest.mark.skipif(find_spec("pyspark") is None, reason="make spark has it")


@pytest.fixture(name="source")
def _source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(domains, "PART_ROWS", 61)
    monkeypatch.setattr(cluster, "SPLIT_ROWS", 1)
    warnings.simplefilter("ignore", SfumatoWarning)
    pq.write_table(people(), tmp_path / "in.parquet", row_group_size=61)
    return tmp_path / "in.parquet"


@pytest.fixture(name="context")
def _context() -> Iterator[SparkCluster]:
    with spark_cluster() as found:
        yield found


def publish(source: Path, **how: Any) -> dict[str, bytes] | str:
    return made(source, SCHEMA, source.parent / "out", engine="spark", **how)


@needs_spark
def test_this_machine_alone_makes_the_same_release(source: Path) -> None:
    if (java.java_version() or 0) < java.LEAST:
        pytest.skip("Spark needs a newer Java")
    found = publish(source, memory_limit=2**30)
    assert isinstance(found, dict), found
    assert found == made(source, SCHEMA, source.parent / "one", engine="stream")
    pyspark: Any = sys.modules["pyspark"]
    assert pyspark.SparkContext._active_spark_context is None


@needs_spark
def test_a_context_of_another_master_is_refused(source: Path, context: SparkCluster) -> None:
    with pytest.raises(ParameterError, match="stop it, or leave the master out"):
        publish_file(source, master="spark://127.0.0.1:1")
    with pytest.raises(MachineError, match=r"again and again \(ZeroDivisionError: .*by zero\)"):
        spark.SparkWorkers(context.context, 1)._collected(_fails, range(2))


def publish_file(source: Path, **how: Any) -> None:
    sf.publish_file(
        source, SCHEMA, sf.Mondrian(), sf.KAnonymity(3), source.parent / "out", engine="spark",
        **how,
    )  # fmt: skip


def _fails(item: int) -> float:
    return 1 / (item - item)


@needs_spark
def test_processes_of_this_machine_run_the_python_that_starts_them(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And not whatever python3 is on the path."""
    if (java.java_version() or 0) < java.LEAST:
        pytest.skip("Spark needs a newer Java")
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    publish_file(source, master="local[1]")
    assert "PYSPARK_PYTHON" not in os.environ


@needs_spark
def test_a_virtual_machine_starts_whatever_collector_its_owner_wants(source: Path) -> None:
    """In a process of its own, as this one may have a virtual machine already."""
    if (java.java_version() or 0) < java.LEAST:
        pytest.skip("Spark needs a newer Java")
    program = (
        "import sys, sfumato as sf; source, output = sys.argv[1:]; "
        "sf.publish_file(source, sf.Schema(quasi=['town']), sf.Mondrian(), sf.KAnonymity(3), "
        "output, engine='spark')"
    )
    subprocess.run(
        [sys.executable, "-c", program, str(source), str(source.parent / "out")],
        env={**os.environ, "JAVA_TOOL_OPTIONS": "-XX:+UseParallelGC"}, check=True, timeout=600,
    )  # fmt: skip


@needs_spark
def test_what_executors_lack_is_to_be_installed(context: SparkCluster) -> None:
    with pytest.raises(MachineError, match=r"'nothing_of_the_kind'\); install it where exec"):
        spark.SparkWorkers(context.context, 1)._collected(_imports, range(2))


def _imports(_item: int) -> None:
    importlib.import_module("nothing_of_the_kind")


@needs_spark
def test_a_master_that_does_not_answer_is_named(source: Path) -> None:
    with pytest.raises(MachineError, match=r"no Spark master answers at spark://127\.0\.0\.1:1 "):
        publish_file(source, master="spark://127.0.0.1:1")
    assert not (source.parent / "out").exists()


@needs_spark
def test_an_address_that_is_none_is_named(source: Path) -> None:
    with pytest.raises(ParameterError, match=r"a master is spark://HOST:7077, .*; head:7077 is"):
        publish_file(source, master="head:7077")


@needs_spark
@pytest.mark.parametrize(("found", "said"), [(None, "no Java is found"), (11, "has version 11")])
def test_without_a_java_that_is_new_enough_one_is_asked_for(
    found: int | None, said: str, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(java, "java_version", lambda: found)
    with pytest.raises(MachineError, match=f"{said}; install a JDK of version 17 or newer"):
        publish_file(source)


def test_without_the_library_the_extra_is_named(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(MissingExtra, match=r"sfumato\[spark\]"):
        publish_file(source)


@needs_spark
def test_a_frame_is_published_by_its_own_cluster(source: Path, context: SparkCluster) -> None:
    from pyspark.sql import SparkSession

    session: Any = SparkSession(context.context)
    frame = session.read.parquet(source.as_uri())
    out = source.parent / "out"
    seed = long_seed(15)
    sf.publish_file(frame, SCHEMA, sf.Mondrian(), sf.KAnonymity(3), out, seed=seed)
    sf.verify(out).require()
    stream = made(source, SCHEMA, source.parent / "one", engine="stream")
    assert isinstance(stream, dict)
    assert {file.name: file.read_bytes() for file in out.iterdir()} == {
        name: data for name, data in stream.items() if name != "search"
    }


@needs_spark
def test_no_key_is_in_what_spark_writes_down(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Events, settings and the logs of executors, with traffic that is encrypted."""
    secrets, shown = spied_keys(monkeypatch), os.urandom(16)
    events = tmp_path / "events"
    events.mkdir()
    settings = {
        "spark.eventLog.enabled": "true", "spark.eventLog.dir": events.as_uri(),
        "spark.eventLog.compress": "false", "spark.log.level": "INFO",
        "spark.authenticate": "true", "spark.authenticate.secret": os.urandom(16).hex(),
        "spark.network.crypto.enabled": "true",
    }  # fmt: skip
    with spark_cluster(settings) as found:
        assert isinstance(publish(source), dict)
        found.context.setJobDescription(shown.hex())  # the control: what is told is written down
        assert found.context.parallelize([1]).count() == 1
        written = [repr(found.context.getConf().getAll()).encode()]
        logs = found.logs()
    written += [path.read_bytes() for path in [*events.rglob("*"), *logs] if path.is_file()]
    assert len(secrets) == 2
    assert any(shown.hex().encode() in one for one in written)
    for secret in secrets:
        assert not any(form in one for form in spelled(secret) for one in written)
