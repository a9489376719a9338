"""sfumato breach as a user meets it: readable, one line per error, exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import click
import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner, Result

import sfumato as sf
from sfumato.cli.breach import breach
from sfumato.errors import SfumatoError
from tests.support.seeds import long_seed

SCHEMA = """
identifiers = ["name"]
quasi = ["age", "sex", "zipcode", "grade"]
sensitive = "disease"

[attributes.grade]
order = ["low", "middle", "high"]
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("breach")
    rng = np.random.default_rng(2)
    lines = ["name,age,sex,zipcode,grade,disease"]
    for i in range(120):
        grade, ill = rng.choice(["low", "middle", "high"]), rng.choice(["flu", "cold", "gout"])
        sex, zipcode = rng.choice(["f", "m"]), f"0{rng.integers(4)}"
        line = (f"n{i}", rng.integers(20, 40), sex, zipcode, grade, ill)
        lines.append(",".join(map(str, line)))
    (folder / "patients.csv").write_text("\n".join(lines) + "\n")
    voters = [line.rsplit(",", 1)[0] for line in lines]
    (folder / "voters.csv").write_text("\n".join([*voters, "x,25,f,01,low"]) + "\n")
    (folder / "schema.toml").write_text(SCHEMA)
    table = sf.read(folder / "patients.csv", sf.read_schema(folder / "schema.toml"))
    sf.publish(table, sf.Anatomize(), sf.LDiversity(2), seed=long_seed(1)).write(folder / "apart")
    sf.publish(table, sf.Mondrian(), sf.LDiversity(2), seed=long_seed(1)).write(folder / "boxes")
    sf.publish(table, sf.Mondrian(), sf.LDiversity(2), labels="text").write(folder / "text")
    return folder


def run(place: Path, release: str, *arguments: str) -> Result:
    absolute = [str(place / part) if part.endswith((".csv", ".toml")) else part
                for part in arguments]  # fmt: skip
    return CliRunner().invoke(breach, [str(place / release), *absolute])


def refused(done: Result, *words: str) -> None:
    """What main turns into one line and exit code 2."""
    if isinstance(done.exception, SystemExit):
        assert done.exit_code == 2
        message = done.output
    else:
        assert isinstance(done.exception, SfumatoError | click.ClickException)
        message = str(done.exception)
        assert "\n" not in message
    for word in words:
        assert word in message


@pytest.mark.parametrize("release", ["apart", "boxes"])
def test_a_person(place: Path, release: str) -> None:
    done = run(place, release, "--person", "age=30,sex=f")
    assert done.exit_code == 0, done.output
    assert "disease of a person with age=30,sex=f" in done.output
    assert "does best to guess" in " ".join(done.output.split())
    assert "flu" in done.output


def test_a_person_as_json(place: Path) -> None:
    options = ("--person", "age=30", "--person", "sex=f", "--external", "voters.csv", "--json")
    stated = json.loads(run(place, "apart", *options).output)["person"]
    release = sf.load(place / "apart")
    assert isinstance(release, sf.AnatomizedTables)
    expected = sum(row["age"] == 30 and row["sex"] == "f" for row in release.qit.to_pylist())
    assert stated["known"] == {"age": "30", "sex": "f"}
    assert stated["rows"] == stated["listed"] == expected
    assert stated["present"] == 1.0
    assert sum(entry["probability"] for entry in stated["values"]) == pytest.approx(1)


def test_an_external_list_in_words(place: Path) -> None:
    done = run(place, "boxes", "--person", "age=25,sex=f", "--external", "voters.csv")
    assert done.exit_code == 0, done.output
    assert "On the list" in done.output
    assert "in the table and this value" in done.output


def test_everybody(place: Path) -> None:
    options = ("--truth", "patients.csv", "-s", "schema.toml")
    done = run(place, "apart", *options)
    assert done.exit_code == 0, done.output
    assert "how many reach the promised 50.0%" in done.output
    stated = json.loads(run(place, "apart", *options, "--json").output)["everybody"]
    assert stated["persons"]["largest"] <= 0.5 + 1e-9
    assert stated["persons"]["unmatched"] == 0
    assert stated["rows"]["rows"] == 120
    assert "fit no published row" not in done.output


def test_everybody_with_a_list_and_a_person(place: Path) -> None:
    done = run(
        place, "boxes", "--person", "age=25", "--external", "voters.csv",
        "--truth", "patients.csv", "-s", "schema.toml",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "by quasi-identifiers and the list" in done.output


def test_a_wrong_true_table_is_noticed(place: Path) -> None:
    other = (place / "patients.csv").read_text().replace(",m,", ",x,")
    (place / "other.csv").write_text(other)
    done = run(place, "apart", "--truth", "other.csv", "-s", "schema.toml")
    refused(done, "rows of the true table fit no published row", "--query")


def test_that_nobody_fits_is_an_answer(place: Path) -> None:
    done = run(place, "apart", "--person", "age=99")
    assert done.exit_code == 0
    assert done.output.startswith("Nobody fits age=99: no published row can have this age")
    machine = run(place, "apart", "--person", "age=99", "--json")
    assert machine.exit_code == 0
    assert json.loads(machine.output)["person"]["values"] == []
    missing = run(place, "boxes", "--person", "age=")
    assert missing.exit_code == 0
    assert "Nobody fits" in missing.output


def test_leading_zeros_are_kept(place: Path) -> None:
    assert "does best" in run(place, "apart", "--person", "zipcode=01").output
    refused(run(place, "apart", "--person", "zipcode=1"), "it shows 00, 01, 02, 03")


@pytest.mark.parametrize("release", ["apart", "boxes"])
def test_a_typing_error_is_no_reassurance(place: Path, release: str) -> None:
    done = run(place, release, "--person", "age=30,zipcode=001")
    refused(done, "zipcode = '001' occurs nowhere in the release; did you mean '01'?")
    assert "Nobody fits" not in done.output


def test_values_with_a_comma_stand_in_quotes(tmp_path: Path) -> None:
    jobs = ["nurse, night", "cook"] * 10
    table = sf.Microdata.from_arrow(
        pa.table({"job": jobs, "s": list("abcd") * 5}), sf.Schema(quasi=["job"], sensitive="s")
    )
    out = str(sf.publish(table, sf.Mondrian(), sf.LDiversity(2)).write(tmp_path / "out"))
    done = CliRunner().invoke(breach, [out, "--person", '"job=nurse, night"'])
    assert "does best to guess" in " ".join(done.output.split()), done.output
    refused(CliRunner().invoke(breach, [out, "--person", "job=nurse, night"]), "stands in quotes")


def test_the_true_table_is_read_as_it_was_published(place: Path, tmp_path: Path) -> None:
    query = "SELECT * FROM t WHERE age < 30"
    schema = sf.read_schema(place / "schema.toml")
    table = sf.read(place / "patients.csv", schema, query=query)
    sf.publish(table, sf.Mondrian(), sf.LDiversity(2)).write(tmp_path / "young")
    options = ("--truth", "patients.csv", "-s", "schema.toml")
    refused(run(tmp_path, "young", *_placed(place, options)), "made of", "--query")
    done = run(tmp_path, "young", *_placed(place, options), "--query", query)
    assert done.exit_code == 0, done.output
    assert f"Of {table.n_rows} people in the table, by a reader" in done.output
    assert "how many have the largest" in done.output
    refused(run(place, "boxes", "--person", "age=30", "--query", query), "--truth")


def _placed(place: Path, options: tuple[str, ...]) -> list[str]:
    return [str(place / part) if "." in part else part for part in options]


def test_a_list_in_other_words_is_refused(place: Path) -> None:
    shouted = (place / "voters.csv").read_text().replace(",f,", ",F,").replace(",m,", ",M,")
    (place / "shouted.csv").write_text(shouted)
    done = run(place, "boxes", "--person", "age=30,sex=f", "--external", "shouted.csv")
    refused(done, "no value of 'sex' on the external list occurs", "f, m")


@pytest.mark.parametrize(
    ("person", "words"),
    [
        ("agee=30", ("agee", "did you mean 'age'?")),
        ("disease=flu", ("no quasi-identifier 'disease'", "age, sex")),
        ("age=old", ("age = 'old' is impossible", "int64")),
        ("grade=hihg", ("did you mean 'high'?",)),
        ("grade=x", ("possible are low, middle, high",)),
        ("age", ("NAME=VALUE",)),
        ("age=30,", ("NAME=VALUE",)),
        ("age=30,age=31", ("twice",)),
    ],
)
def test_bad_persons(place: Path, person: str, words: tuple[str, ...]) -> None:
    refused(run(place, "boxes", "--person", person), *words)


def test_bad_use(place: Path) -> None:
    refused(run(place, "boxes"), "--person", "--truth")
    refused(run(place, "boxes", "--truth", "patients.csv"), "-s FILE")
    refused(run(place, "nothing", "--person", "age=30"), "does not exist")
    refused(run(place, "text", "--person", "age=30"), "published as text")
    refused(run(place, "boxes", "--person", "age=3", "--sensitive", "diseas"), "did you mean")
    refused(run(place, "boxes", "--person", "age=30", "--external", "schema.toml"))


def test_a_list_without_the_column(place: Path) -> None:
    (place / "short.csv").write_text("name,sex\nx,f\n")
    refused(run(place, "boxes", "--person", "age=30", "--external", "short.csv"), "'age'")


def test_many_values_are_cut_short(tmp_path: Path) -> None:
    n = 60
    table = sf.Microdata.from_arrow(
        pa.table({"age": [1] * n, "s": [f"[v{i}]" for i in range(n)]}),
        sf.Schema(quasi=["age"], sensitive="s"),
    )
    sf.publish(table, sf.Mondrian(), sf.LDiversity(2)).write(tmp_path / "out")
    done = CliRunner().invoke(breach, [str(tmp_path / "out"), "--person", "age=1"])
    assert "40 less likely values" in done.output
    assert "[v0]" in done.output
