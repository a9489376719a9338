"""--engine dask and doctor, as they are typed."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.cli import doctor as command
from sfumato.engines import java
from tests.support.clusters import dask_cluster
from tests.support.commands import sfumato

SCHEMA = 'quasi = ["age", "town"]\nsensitive = "ill"\n'


@pytest.fixture(name="place")
def _place(tmp_path: Path) -> Path:
    ills = [f"d{i % 5}" for i in range(90)]
    towns = [f"t{i % 4}" for i in range(90)]
    table = pa.table({"age": [i % 30 for i in range(90)], "town": towns, "ill": ills})
    pq.write_table(table, tmp_path / "in.parquet")
    (tmp_path / "schema.toml").write_text(SCHEMA)
    return tmp_path


@pytest.mark.slow
def test_a_cluster_publishes_what_one_process_does(place: Path) -> None:
    asked = (
        "publish",
        "in.parquet",
        "-s",
        "schema.toml",
        "--k",
        "5",
        "--seed",
        bytes(range(32)).hex(),
    )
    with dask_cluster() as dask:
        done = sfumato(place, *asked, "-o", "dask", "--engine", "dask", "--scheduler", dask.address)
        assert done.returncode == 0, done.stderr
        checked = sfumato(place, "doctor", "--scheduler", dask.address)
        assert checked.returncode == 0, checked.stderr
        assert "for a task" in checked.stdout
    assert sfumato(place, *asked, "-o", "one", "--engine", "stream").returncode == 0
    for file in (place / "one").iterdir():
        assert file.read_bytes() == (place / "dask" / file.name).read_bytes()


def test_a_scheduler_is_for_a_cluster(place: Path) -> None:
    done = sfumato(
        place, "publish", "in.parquet", "-s", "schema.toml", "--k", "5", "-o", "out",
        "--scheduler", "tcp://127.0.0.1:1",
    )  # fmt: skip
    assert done.returncode == 2
    assert "has no scheduler" in done.stderr


def test_doctor_says_what_is_missing(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(command._EXTRAS, "nothing", ("no use", "no-such-library"))
    monkeypatch.setattr(java, "java_version", lambda: 11)
    done = sfumato(place, "doctor", "--json")
    assert done.returncode == 0, done.stderr
    lines = {line["what"]: (line["found"], line["to do"]) for line in json.loads(done.stdout)}
    assert lines["nothing: no use"] == ("not installed", "pip install 'sfumato[nothing]'")
    found, to_do = lines["java: --engine spark"]
    assert found == "version 11"
    assert "version 17 or newer" in to_do
    assert lines["dask: --engine dask"][1] == ""
    assert "sfumato" in sfumato(place, "doctor").stdout


@pytest.mark.slow
def test_doctor_says_the_rest_where_a_cluster_does_not_answer(place: Path) -> None:
    done = sfumato(place, "doctor", "--json", "--scheduler", "tcp://127.0.0.1:1")
    assert done.returncode == 2
    assert "no Dask scheduler answers at tcp://127.0.0.1:1" in done.stderr
    found = {line["what"]: line["found"] for line in json.loads(done.stdout)}
    assert found["cluster: tcp://127.0.0.1:1"] == "cannot be used"
    assert "python" in found


def test_java_is_found_where_it_is_said_to_be(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = place / "bin" / "java"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho 'openjdk version \"1.8.0_392\"' >&2\n")
    program.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(place))
    assert java.java_version() == 8
    program.write_text("#!/bin/sh\nexit 1\n")
    assert java.java_version() is None
