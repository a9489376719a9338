"""Masked releases from the shell."""

from __future__ import annotations

import json
import subprocess
from importlib import resources
from pathlib import Path

import pytest

from tests.support.commands import sfumato


@pytest.fixture(name="place", scope="module")
def _place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("masks")
    for name in ("patients.csv", "patients.toml"):
        (folder / name).write_bytes(resources.files("sfumato.data").joinpath(name).read_bytes())
    (folder / "few.toml").write_text('quasi = ["age", "sex", "job"]\nsensitive = "disease"\n')
    return folder


def publish(
    place: Path, output: str, *more: str, schema: str = "patients.toml"
) -> subprocess.CompletedProcess[str]:
    return sfumato(place, "publish", "patients.csv", "-s", schema, "-o", output, *more)


def evaluated(place: Path, folder: str, schema: str = "patients.toml") -> dict[str, object]:
    truth = ("--truth", "patients.csv", "-s", schema, "--queries", "20", "--seed", "1")
    done = sfumato(place, "evaluate", folder, *truth, "--json")
    found: dict[str, object] = json.loads(done.stdout)
    return found


def test_microaggregate_verify_query_evaluate(place: Path) -> None:
    done = publish(place, "means", "--method", "microaggregate", "--k", "5")
    assert done.returncode == 0, done.stderr
    assert "microaggregate, groups of at least 5 rows" in done.stdout
    assert "stated: sex shows each group's most frequent value, another for " in done.stdout
    assert "people whose nearest row is their own" in done.stdout
    checked = sfumato(place, "verify", "means")
    assert checked.returncode == 0, checked.stdout
    assert "k-anonymity (k = 5)" in checked.stdout
    asked = sfumato(place, "query", "means", "SELECT COUNT(*) FROM t WHERE age < 40")
    assert "With 80% confidence" in asked.stdout
    assert evaluated(place, "means")["moments"]


@pytest.mark.parametrize(
    ("more", "stated"),
    [
        (["noise", "--columns", "age", "--amount", "0.3"], "age has noise added, "),
        (
            ["swap", "--inside", "sex"],
            "job is exchanged between rows that are at most 0.1 of all ranks apart and are",
        ),
        (["synthesize", "--least", "4"], "disease is drawn from a model; "),
    ],
)
def test_other_masks_verify_query_evaluate_audit(place: Path, more: list[str], stated: str) -> None:
    done = publish(place, more[0], "--method", *more, schema="few.toml")
    assert done.returncode == 0, done.stderr
    assert stated in done.stdout
    assert "nearest row" in done.stdout
    assert "stand alone on" not in done.stdout
    assert sfumato(place, "verify", more[0]).returncode == 0
    asked = sfumato(place, "query", more[0], "SELECT COUNT(*) FROM t WHERE age < 40 AND sex = 'F'")
    assert "With 80% confidence" in asked.stdout
    assert evaluated(place, more[0], "few.toml")["moments"]
    truth = ("--truth", "patients.csv", "-s", "few.toml")
    assert "nearest rows" in sfumato(place, "audit", more[0], *truth).stdout


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--method", "microaggregate"], "how many rows a group has"),
        (["--method", "microaggregate", "--k", "1"], "whole number from 2 on"),
        (["--method", "microaggregate", "--k", "5000"], "largest feasible k is 1000"),
        (["--method", "microaggregate", "--k", "5", "--l", "2"], "--l: the method microaggregate"),
        (["--method", "noise", "--columns", "sex"], "swap such values instead"),
        (["--method", "noise", "--amount", "0"], "must lie above 0"),
        (["--method", "noise", "--reach", "0.2"], "--reach: the method noise"),
        (["--method", "swap", "--columns", "height"], "no column 'height' to swap"),
        (["--method", "swap", "--k", "5"], "--k: the method swap"),
        (["--method", "swap", "--reach", "0.0001"], "less than one"),
        (["--method", "synthesize"], "drop zipcode"),
        (["--method", "synthesize", "--least", "900"], "takes 1800 rows"),
        (["--k", "5", "--correlated"], "--correlated: the method mondrian"),
        (["--method", "microaggregate", "--k", "5", "--engine", "stream"], "--engine: the method"),
    ],
)
def test_bad_use_is_told(place: Path, more: list[str], said: str) -> None:
    done = publish(place, "out", *more)
    assert done.returncode == 2, done.stdout
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not (place / "out").exists()
