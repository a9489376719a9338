"""Perturbed and permuted releases from the shell."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.support.commands import sfumato


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("perturb")
    generator = np.random.default_rng(2)
    diseases = ["flu", "cold", "gout", "pox", "ache"]
    lines = [f"{generator.integers(20, 60)},{generator.choice(diseases)}" for _ in range(300)]
    (folder / "patients.csv").write_text("\n".join(["age,disease", *lines]) + "\n")
    (folder / "schema.toml").write_text('quasi = ["age"]\nsensitive = "disease"\n')
    return folder


def publish(place: Path, output: str, *more: str) -> subprocess.CompletedProcess[str]:
    return sfumato(place, "publish", "patients.csv", "-s", "schema.toml", "-o", output, *more)


def test_perturb_verify_and_query(place: Path) -> None:
    done = publish(place, "noisy", "--method", "perturb", "--m", "3")
    assert done.returncode == 0, done.stderr
    assert "Published 300 rows: noisy" in done.stdout
    assert "rows with another disease" in done.stdout
    told = " ".join(done.stdout.split())
    assert (
        "promised: a value of disease is kept with a chance of 0.167, or drawn from all 5" in told
    )
    assert "with a chance of 1/3" in told
    checked = sfumato(place, "verify", "noisy")
    assert checked.returncode == 0, checked.stderr
    assert "3-perturbation of disease" in checked.stdout
    asked = "SELECT COUNT(*), SUM(age) FROM t WHERE disease = 'flu'"
    shown = sfumato(place, "query", "noisy", asked)
    assert "With 80% confidence it lies between the likely ends." in shown.stdout
    stated = json.loads(sfumato(place, "query", "noisy", asked, "--format", "json").stdout)[0]
    assert stated["count"]["likely"]["level"] == 0.8
    assert stated["count"]["likely"]["lo"] <= stated["count"]["estimate"]
    assert "likely" not in stated["sum_age"]
    listed = sfumato(place, "query", "noisy", asked, "--format", "csv").stdout.splitlines()[0]
    assert '"count_likely_lo","count_likely_hi","sum_age_estimate"' in listed


def test_permuted(place: Path) -> None:
    done = publish(place, "shuffled", "--method", "anatomy", "--form", "permuted", "--l", "3")
    assert done.returncode == 0, done.stderr
    assert "RCE of disease" in done.stdout
    assert (place / "shuffled" / "permuted.parquet").is_file()
    assert sfumato(place, "verify", "shuffled").returncode == 0
    breach = sfumato(place, "breach", "shuffled", "--person", "age=30")
    assert breach.returncode == 0, breach.stderr


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--method", "perturb"], "either p or m"),
        (["--method", "perturb", "--m", "3", "--p", "0.2"], "either p or m"),
        (["--method", "perturb", "--m", "5"], "largest feasible m is 4"),
        (
            ["--method", "perturb", "--m", "3", "--k", "2"],
            "--k: the method perturb does not take it",
        ),
        (["--method", "perturb", "--m", "3", "--round-robin"], "--round-robin: the method"),
        (
            ["--k", "2", "--p", "0.5"],
            "--p: the method mondrian does not take it; it is for perturb",
        ),
        (["--l", "2", "--no-near"], "--near/--no-near: the method mondrian does not take it"),
        (["--l", "2", "--size", "4"], "--size: the method mondrian does not take it"),
        (["--k", "2", "--time-limit", "5"], "--time-limit: this method searches with --refine"),
        (["--k", "2", "--id", "age"], "--id: only with --external"),
        (["--form", "permuted", "--k", "3"], "k-anonymity is not a promise"),
        (["--form", "permuted", "--l", "2", "--means"], "--means are for boxes"),
    ],
)
def test_bad_use_is_told(place: Path, more: list[str], said: str) -> None:
    done = publish(place, "out", *more)
    assert done.returncode == 2, done.stdout
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not (place / "out").exists()
