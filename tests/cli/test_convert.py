"""sfumato convert, and the warning that leads to it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.forms.files import FileFormat
from tests.support import commands

SCHEMA = 'quasi = ["age", "town"]\nsensitive = "ill"\n'


@pytest.fixture
def place(tmp_path: Path) -> Path:
    towns, ills = ["Ulm", "Bonn, west", "Jena"], ["flu", "cold", "gout", ""]
    rows = [f'{20 + i % 37},"{towns[i % 3]}",{ills[i % 4]}' for i in range(120)]
    (tmp_path / "people.csv").write_text("\n".join(["age,town,ill", *rows]) + "\n")
    (tmp_path / "schema.toml").write_text(SCHEMA)
    return tmp_path


def sfumato(place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return commands.sfumato(place, *arguments, SFUMATO_STATE=str(place / "state"))


def publish(place: Path, *more: str) -> subprocess.CompletedProcess[str]:
    return sfumato(place, "publish", "people.csv", "-s", "schema.toml", *more)


def tables(release: object) -> list[pa.Table]:
    if isinstance(release, sf.AnatomizedTables):
        return [release.qit, *release.sts.values()]
    assert isinstance(release, sf.GeneralizedTable | sf.PermutedTable)
    return [release.table]


def stated(folder: Path) -> dict[str, Any]:
    """What release.json says but for the names and checksums of files."""
    found: dict[str, Any] = json.loads((folder / "release.json").read_text())
    assert found.pop("files")
    assert found.pop("checksum")
    return found


@pytest.mark.parametrize(
    "method",
    [["--k", "5"], ["--method", "anatomy", "--l", "3"], ["--k", "5", "--labels"],
     ["--distinct-l", "2", "--form", "permuted"]],
    ids=["boxes", "anatomy", "text", "permuted"],
)  # fmt: skip
def test_there_and_back_is_the_same_release(place: Path, method: list[str]) -> None:
    assert publish(place, *method, "-o", "out").returncode == 0
    for source, target, form in (("out", "text", "csv"), ("text", "back", "parquet")):
        done = sfumato(place, "convert", source, target, "--format", form)
        assert done.returncode == 0, done.stderr
        assert not done.stderr
        assert sfumato(place, "verify", target).returncode == 0
        assert stated(place / target) == stated(place / "out")
        shown = [tables(sf.load(place / name)) for name in ("out", target)]
        assert [one.to_pylist() for one in shown[0]] == [one.to_pylist() for one in shown[1]]
    assert {path.suffix for path in (place / "text").iterdir()} == {".csv", ".json"}


def test_the_way_from_the_warning_to_another_format(place: Path) -> None:
    assert not publish(place, "--k", "5", "-o", "out").stderr
    second = publish(place, "--method", "anatomy", "--l", "3", "-o", "again")
    assert second.returncode == 0
    assert "sfumato: warning: the same rows are published already" in second.stderr
    assert f"sfumato convert {place / 'out'} NEW --format" in second.stderr
    replaced = publish(place, "--k", "7", "-o", "out", "--force", "--json")
    assert replaced.stdout.startswith("{")
    assert "published already" in replaced.stderr
    made = sfumato(
        place, "statdb", "create", "people.csv", "-s", "schema.toml", "--m", "2", "-o", "db"
    )
    assert made.returncode == 0
    assert "published already" in made.stderr


def test_demos_are_not_remembered(place: Path) -> None:
    for _ in range(2):
        done = sfumato(place, "demo")
        assert done.returncode == 0
        assert not done.stderr
    assert not (place / "state").exists()


def test_bad_use_is_told_in_one_line(place: Path) -> None:
    sf.publish(
        sf.read(place / "people.csv", sf.read_schema(place / "schema.toml")),
        sf.Mondrian(),
        sf.KAnonymity(5),
    ).write(place / "out")
    for arguments, said in (
        (["nowhere", "x", "--format", "csv"], "does not exist"),
        (["out", "out", "--format", "csv"], "--force"),
        (["out", "x"], "--format"),
    ):
        done = sfumato(place, "convert", *arguments)
        assert done.returncode == 2
        assert said in done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_a_release_can_be_converted_in_its_place(place: Path, form: FileFormat) -> None:
    table = sf.read(place / "people.csv", sf.read_schema(place / "schema.toml"))
    release = sf.publish(table, sf.Mondrian(), sf.KAnonymity(5))
    release.write(place / "out", format=form)
    other: FileFormat = "csv" if form == "parquet" else "parquet"
    done = sfumato(place, "convert", "out", "out", "--format", other, "--force")
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in (place / "out").iterdir()) == [
        f"generalized.{other}",
        "release.json",
    ]
    again = sf.load(place / "out")
    assert isinstance(again, sf.GeneralizedTable)
    assert again.table.to_pylist() == release.table.to_pylist()
