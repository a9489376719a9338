"""sfumato publish --external."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from tests.support.commands import sfumato

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


def test_a_list_that_is_streamed_makes_the_same_files(folder: Path) -> None:
    seed = ("--seed", "0123456789abcdef" * 4)
    for engine in ("memory", "stream"):
        limit = ("--memory", "1GB") if engine == "stream" else ()
        how = ("--engine", engine, *limit, "-o", engine)
        done = sfumato(folder, *JOIN, "--id", "ssn", *seed, *how)
        assert done.returncode == 0, done.stderr
        assert "people whom edges of boxes give away" in done.stdout
    files = {file.name: file.read_bytes() for file in (folder / "memory").iterdir()}
    assert files == {file.name: file.read_bytes() for file in (folder / "stream").iterdir()}
    done = sfumato(folder, *JOIN, "--id", "ssn", "--relaxed", "--engine", "stream", "-o", "out")
    assert done.returncode == 2
    assert "never tell equal people apart" in done.stderr
    assert not (folder / "out").exists()


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


def test_an_empty_list_is_plain_k_anonymity_and_says_so(folder: Path) -> None:
    (folder / "nobody.csv").write_text("ssn,age,sex\n")
    command = ("publish", "patients.csv", "-s", "schema.toml", "--k", "5", "--id", "ssn")
    done = sfumato(folder, *command, "--external", "nobody.csv", "-o", "out")
    assert done.returncode == 0, done.stderr
    assert "warning: the external table is empty" in done.stderr
    assert "plain k-anonymity" in (folder / "out" / "release.json").read_text()
    assert sfumato(folder, "verify", "out").returncode == 0


def test_boxes_for_reading_are_published_without_the_attack(folder: Path) -> None:
    done = sfumato(folder, *JOIN, "--id", "ssn", "--labels", "text", "-o", "out")
    assert done.returncode == 0, done.stderr
    assert "not measured" in done.stdout
    assert sfumato(folder, "verify", "out").returncode == 0


def test_a_list_may_have_gaps(folder: Path) -> None:
    voters = pq.read_table(folder / "voters.parquet")
    ages = ["?" if i % 7 == 0 else str(age) for i, age in enumerate(voters["age"].to_pylist())]
    pyarrow.csv.write_csv(voters.set_column(1, "age", pa.array(ages)), folder / "voters.csv")
    gaps = [part.replace("voters.parquet", "voters.csv") for part in JOIN]
    done = sfumato(folder, *gaps, "--id", "ssn", "--missing", "?", "-o", "out")
    assert done.returncode == 0, done.stderr
    assert "warning: 13 people of the microdata lack a value" in done.stderr


def test_breach_knows_the_names_of_the_publisher_s_list(folder: Path) -> None:
    assert sfumato(folder, *JOIN, "--id", "ssn", "-o", "out").returncode == 0
    asked = ("breach", "out", "--truth", "patients.csv", "-s", "schema.toml", "--json")
    done = sfumato(folder, *asked, "--external", "voters.parquet")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["kept"]
    assert found["rows"] == 90


def test_a_series_shows_newcomers_beside_those_who_were_there(folder: Path) -> None:
    everyone = pyarrow.csv.read_csv(folder / "patients.csv")
    pyarrow.csv.write_csv(everyone.slice(0, 50), folder / "patients.csv")
    series = [*JOIN, "--id", "ssn", "--series", "owner.series", "-o"]
    first = sfumato(folder, *series, "first")
    assert first.returncode == 0, first.stderr
    pyarrow.csv.write_csv(everyone, folder / "patients.csv")
    second = sfumato(folder, *series, "second")
    assert second.returncode == 0, second.stderr
    rows = [
        json.loads((folder / one / "release.json").read_text())["rows"]
        for one in ("first", "second")
    ]
    assert rows[1] > rows[0]
    assert sfumato(folder, "verify", "second").returncode == 0
    pyarrow.csv.write_csv(everyone.slice(1), folder / "patients.csv")
    third = sfumato(folder, *series, "third")
    assert third.returncode == 2
    assert "cannot be unsaid" in third.stderr
    assert not (folder / "third").exists()
    alone = sfumato(
        folder,
        "publish",
        "patients.csv",
        "-s",
        "schema.toml",
        "--k",
        "5",
        "--series",
        "s",
        "-o",
        "o",
    )
    assert alone.returncode == 2
    assert "--series" in alone.stderr


def test_values_of_sensitive_groups_are_told_and_how_a_join_is_attacked(folder: Path) -> None:
    patients = pyarrow.csv.read_csv(folder / "patients.csv")
    alike = patients.set_column(3, "disease", pa.array(["flu", "cold"] * 10 + ["gout"] * 70))
    pyarrow.csv.write_csv(alike, folder / "patients.csv")
    done = sfumato(folder, *JOIN, "--id", "ssn", "-o", "out")
    assert done.returncode == 0, done.stderr
    told = " ".join(done.stdout.split())
    assert "disease is certain to whoever knows their age and sex" in told
    assert "Not attacked: its values stand apart from people" in told
    assert "sfumato audit" not in told.partition("Not attacked")[2]  # which takes no other names
    voters = pq.read_table(folder / "voters.parquet").rename_columns(["ssn", "age", "sex"])
    pq.write_table(voters, folder / "voters.parquet")
    plain = sfumato(folder, *JOIN[:8], "--id", "ssn", "-o", "plain")
    (command,) = [line for line in plain.stdout.splitlines() if "All attacks" in line]
    assert command.endswith(
        "sfumato audit plain --truth patients.csv -s schema.toml --list voters.parquet"
    )
