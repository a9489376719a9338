"""Promises of nothing on the command line: refused, or told with the number of people."""

from __future__ import annotations

import shutil
from importlib import resources
from pathlib import Path

import pytest

from sfumato.cli.main import _run


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    with resources.as_file(resources.files("sfumato") / "data") as bundled:
        for name in ("patients.csv", "patients.toml"):
            shutil.copy(bundled / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def publish(*asked: str) -> int:
    return _run(["publish", "patients.csv", "-s", "patients.toml", *asked, "-o", "out"])


@pytest.mark.parametrize(
    "asked",
    [
        ["--k", "1"],
        ["--l", "1"],
        ["--distinct-l", "1"],
        ["--entropy-l", "1"],
        ["--recursive", "3", "1"],
        ["--t", "1"],
        ["--method", "anatomy", "--l", "1"],
    ],
)
def test_nothing_is_published(
    place: Path, asked: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert publish(*asked) == 2
    assert "promises nothing" in capsys.readouterr().err
    assert not (place / "out").exists()


@pytest.mark.parametrize("form", [["--method", "anatomy"], ["--form", "permuted"]])
def test_k_beside_l_is_refused_where_rows_are_exact(
    place: Path, form: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert publish(*form, "--k", "5", "--l", "3") == 2
    assert "not a promise of this form" in capsys.readouterr().err
    assert not (place / "out").exists()


def test_closeness_that_is_no_closeness_is_told(place: Path) -> None:
    with pytest.warns(Warning, match="people are in groups where one value"):
        assert publish("--t", "0.97") == 0
