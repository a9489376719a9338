"""CSV files without a header, from the command line: nobody becomes the name of a column."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from tests.support.commands import sfumato

SCHEMA = 'identifiers = ["name"]\nquasi = ["age", "sex"]\nsensitive = "disease"\n'
NAMES = "name,age,sex,disease"
PERSON = "Lovelace"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    rows = [f"n{i},{20 + i % 30},{'fm'[i % 2]},{('flu', 'cold', 'gout')[i % 3]}" for i in range(90)]
    (tmp_path / "bare.csv").write_text("\n".join([f"{PERSON},36,f,gout", *rows]) + "\n")
    (tmp_path / "schema.toml").write_text(SCHEMA)
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        ["inspect", "bare.csv", "-o", "guess.toml"],
        ["publish", "bare.csv", "-s", "schema.toml", "--k", "5", "-o", "out"],
        ["publish", "bare.csv", "-s", "schema.toml", "--method", "anatomy", "--l", "2",
         "--engine", "stream", "-o", "out"],
        ["query", "bare.csv", "-s", "schema.toml", "SELECT COUNT(*) FROM t"],
        ["statdb", "create", "bare.csv", "-s", "schema.toml", "--m", "2", "-o", "out"],
    ],
)  # fmt: skip
def test_a_person_as_the_header_is_refused_with_the_way_out(
    place: Path, command: list[str]
) -> None:
    done = sfumato(place, *command)
    assert done.returncode == 2
    assert "column 2 of the first line is a number" in done.stderr
    assert "--names" in done.stderr
    assert "--header" in done.stderr
    assert PERSON not in done.stdout + done.stderr
    assert not (place / "out").exists()
    assert not (place / "guess.toml").exists()
    said = sfumato(place, *command, "--names", NAMES)
    assert said.returncode == 0, said.stderr


def test_inspect_repeats_the_names_in_the_command_that_comes_next(place: Path) -> None:
    done = sfumato(place, "inspect", "bare.csv", "--names", NAMES, "-o", "guess.toml")
    assert PERSON not in (place / "guess.toml").read_text()
    command = shlex.split(done.stdout.rpartition("then: ")[2])
    assert command[command.index("--names") + 1] == NAMES
    published = sfumato(place, *command[1:])
    assert published.returncode == 0, published.stderr
    stated = json.loads((place / "out" / "release.json").read_text())
    assert stated["rows"] == 91


def test_a_header_of_years_can_be_said_to_be_one(place: Path) -> None:
    rows = "".join(f"{20 + i % 30},{i % 2},{i % 3}\n" for i in range(60))
    (place / "years.csv").write_text("age,2020,disease\n" + rows)
    (place / "years.toml").write_text('quasi = ["age", "2020"]\nsensitive = "disease"\n')
    command = ["publish", "years.csv", "-s", "years.toml", "--k", "5", "-o", "out"]
    assert "column 2 of the first line" in sfumato(place, *command).stderr
    done = sfumato(place, *command, "--header")
    assert done.returncode == 0, done.stderr


def test_a_list_without_a_header_is_refused_too(place: Path) -> None:
    (place / "voters.csv").write_text("n1,21,m\nn2,22,f\n")
    done = sfumato(
        place, "publish", "bare.csv", "-s", "schema.toml", "--names", NAMES, "--k", "5",
        "--external", "voters.csv", "--id", "name", "-o", "out",
    )  # fmt: skip
    assert done.returncode == 2
    assert "voters.csv: column 2 of the first line" in done.stderr
