"""sfumato explore as a user meets it: a recommendation with its command, a page, JSON, errors."""

from __future__ import annotations

import io
import json
import shlex
from pathlib import Path

import numpy as np
import pytest

from tests.support.commands import sfumato

FEW = ("--method", "mondrian", "--method", "anatomy", "--k", "5", "--l", "2,3", "--seed", "1")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    draw = np.random.default_rng(2)
    ages = draw.integers(20, 60, 400)
    lines = [f"{age},{(age + draw.integers(0, 9)) // 10}" for age in ages.tolist()]
    (tmp_path / "people.csv").write_text("\n".join(["age,pay", *lines]) + "\n")
    (tmp_path / "schema.toml").write_text('quasi = ["age"]\nsensitive = "pay"\n')
    return tmp_path


def test_a_recommendation_whose_command_runs(place: Path) -> None:
    done = sfumato(place, "explore", "people.csv", "-s", "schema.toml", *FEW)
    assert done.returncode == 0, done.stderr
    assert "Recommended: " in done.stdout
    assert "explore.html holds true figures: keep it to yourself." in done.stdout
    assert "What should I publish?" in (place / "explore.html").read_text("utf-8")
    (command,) = (line for line in done.stdout.splitlines() if line.startswith("sfumato publish"))
    published = sfumato(place, *shlex.split(command)[1:], "--no-audit")
    assert published.returncode == 0, published.stderr
    assert (place / "out" / "release.json").is_file()
    again = sfumato(place, "explore", "people.csv", "-s", "schema.toml", *FEW)
    assert again.returncode == 2
    assert "--force" in again.stderr


def test_the_command_reads_the_table_as_it_was_read(place: Path) -> None:
    lines = (place / "people.csv").read_text().splitlines()
    (place / "a.csv").write_text("\n".join(lines[1:300]) + "\n")
    (place / "b.csv").write_text("\n".join(lines[300:]) + "\n")
    read = ("a.csv", "b.csv", "-s", "schema.toml", "--names", "age,pay", "--missing", "99")
    done = sfumato(place, "explore", *read, *FEW)
    assert done.returncode == 0, done.stderr
    (command,) = (line for line in done.stdout.splitlines() if line.startswith("sfumato publish"))
    assert command.startswith(
        "sfumato publish a.csv b.csv -s schema.toml --missing 99 --names age,pay"
    )
    published = sfumato(place, *shlex.split(command)[1:], "--no-audit")
    assert published.returncode == 0, published.stderr
    assert command.replace("&", "&amp;") in (place / "explore.html").read_text("utf-8")


def test_rows_of_the_same_person_are_told_and_stay_in_the_command(place: Path) -> None:
    lines = (place / "people.csv").read_text().splitlines()
    named = [f"who,{lines[0]}", *(f"{at // 4},{line}" for at, line in enumerate(lines[1:]))]
    (place / "visits.csv").write_text("\n".join(named) + "\n")
    read = ("visits.csv", "-s", "schema.toml", "--person", "who")
    done = sfumato(place, "explore", *read, "--method", "mondrian", "--k", "8", "--seed", "1")
    assert done.returncode == 0, done.stderr
    assert "a group of 8 rows may be 2 people" in done.stderr
    assert "--person who" in done.stdout


@pytest.mark.parametrize("asked", ["explore", "inspect"])
def test_what_is_piped_in_is_named_as_it_was(
    place: Path, asked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = io.TextIOWrapper(io.BytesIO((place / "people.csv").read_bytes()))
    monkeypatch.setattr("sys.stdin", table)
    more = FEW if asked == "explore" else ("-o", "again.toml")
    done = sfumato(place, asked, "-", "-s", "schema.toml", *more)
    assert done.returncode == 0, done.stderr
    assert "sfumato publish - -s " in done.stdout
    assert "stdin" not in done.stdout


def test_json_has_every_point_and_writes_nothing(place: Path) -> None:
    done = sfumato(place, "explore", "people.csv", "-s", "schema.toml", *FEW, "--json")
    stated = json.loads(done.stdout)
    assert len(stated["points"]) == 4
    assert stated["points"][stated["recommended"]]["method"] in stated["command"]
    assert not (place / "explore.html").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--method", "anatomy", "--l", "90"), "nothing in this grid is feasible; l = 90"),
        (("--k", "5;6"), "no list of whole numbers"),
        (("--k", "5.5"), "no list of whole numbers"),
        (("--l", "2;3"), "no list of numbers"),
        (("--k", "0"), "k"),
        (("--method", "anatomy", "--k", "5"), "anatomy l and t"),
    ],
)
def test_errors_say_what_would_work(place: Path, options: tuple[str, ...], words: str) -> None:
    done = sfumato(place, "explore", "people.csv", "-s", "schema.toml", *options)
    assert done.returncode == 2
    assert words in done.stderr
    assert not (place / "explore.html").exists()
