"""sfumato publish --external."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from tests.cli.test_cli import sfumato

SCHEMA = 'identifiers = ["ssn"]\nquasi = ["age", "sex"]\nsensitive = "disease"\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    random = np.random.default_rng(4)
    n = 600
    people = {
        "ssn": np.arange(n),
        "age": random.integers(20, 80, n),
        "sex": pa.array(random.choice(["f", "m"], n), pa.string()),
    }
    diseases = pa.array(random.choice(["flu", "cold", "cough"], n), pa.string())
    microdata = pa.table({**people, "disease": diseases}).slice(0, 90)
    pyarrow.csv.write_csv(microdata, tmp_path / "patients.csv")
    voters = pa.table(people).rename_columns(["voter", "age", "gender"])
    pq.write_table(voters, tmp_path / "voters.parquet")
    (tmp_path / "schema.toml").write_text(SCHEMA)
    return tmp_path


JOIN = [
    "publish", "patients.csv", "-s", "schema.toml", "--k", "5", "--external", "voters.parquet",
    "--rename", "ssn=voter", "--rename", "sex=gender",
]  # fmt: skip


def test_publish_and_verify(folder: Path) -> None:
    done = sfumato(folder, *JOIN, "--id", "ssn", "--distinct-l", "2", "-o", "out")
    assert done.returncode == 0, done.stderr
    assert "people in both" in done.stdout
    assert "in no file" in done.stdout
    stated = json.loads((folder / "out" / "release.json").read_text())
    assert stated["kind"] == "joined"
    assert stated["external"]["source"] == "voters.parquet"
    assert stated["external"]["rows"] == 600
    assert len(stated["external"]["sha256"]) == 64
    assert "90" not in json.dumps(stated["external"])  # not how many people are in both
    checked = sfumato(folder, "verify", "out")
    assert checked.returncode == 0, checked.stdout
    asked = sfumato(folder, "query", "out", "SELECT COUNT(*) FROM t WHERE age < 40")
    assert asked.returncode == 0, asked.stderr


def test_direct_says_that_sensitive_values_stay_at_home(folder: Path) -> None:
    done = sfumato(folder, *JOIN, "--id", "ssn", "--join", "direct", "-o", "out")
    assert done.returncode == 0, done.stderr
    assert "warning: Direct publishes no sensitive values: disease" in done.stderr
    assert "disease" not in (folder / "out" / "release.json").read_text()
    assert sfumato(folder, "verify", "out").returncode == 0
    asked = sfumato(folder, "query", "out", "SELECT COUNT(*) FROM t")
    assert asked.returncode == 2
    assert "Refinement" in asked.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "name the identifier to join on with --id"),
        (("--id", "age"), "'age' is not an identifier"),
        (("--id", "ssn", "--rename", "sex"), "--rename wants OURS=THEIRS"),
        (("--id", "ssn", "--rename", "age=years"), "has no column 'years'"),
        (("--id", "ssn", "--method", "anatomy"), "use Mondrian or TopDown"),
        (("--id", "ssn", "--form", "anatomized"), "--form"),
        (("--id", "ssn", "--method", "perturb", "--m", "2"), "makes no groups"),
    ],
)
def test_bad_use_is_one_line_and_exit_2(
    folder: Path, options: tuple[str, ...], message: str
) -> None:
    done = sfumato(folder, *JOIN, *options, "-o", "out")
    assert done.returncode == 2
    assert message in done.stderr
    assert not (folder / "out").exists()


def test_options_of_a_join_need_one(folder: Path) -> None:
    options = ("publish", "patients.csv", "-s", "schema.toml", "--k", "5", "-o", "out")
    done = sfumato(folder, *options, "--id", "ssn")
    assert done.returncode == 2
    assert "--external" in done.stderr
