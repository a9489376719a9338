"""Every public name shows its use in its docstring; examples run beside the table that ships."""

from __future__ import annotations

import doctest
import inspect
import shutil
from importlib import resources
from pathlib import Path

import pytest

import sfumato as sf

RESULTS = {  # what somebody is given: shown in the examples of what makes it
    "AnatomizedTables", "Evaluation", "Gains", "GeneralizedTable", "JoinRelease", "JoinRisk",
    "Joined", "MaskedTable", "MaskingRisk", "PermutedTable", "PerturbedTable",
}  # fmt: skip
ELSEWHERE = {  # shown on the pages of docs/, which run as well
    "accuracy", "compare", "connect", "errors", "load", "matching",
}  # fmt: skip
SHOWN = sorted(set(sf.__all__) - RESULTS - ELSEWHERE)


def example(name: str) -> doctest.DocTest:
    text = inspect.getdoc(getattr(sf, name)) or ""
    return doctest.DocTestParser().get_doctest(text, {"sf": sf}, name, None, None)


def test_every_other_name_has_an_example() -> None:
    assert [name for name in SHOWN if not example(name).examples] == []
    assert [name for name in RESULTS | ELSEWHERE if example(name).examples] == []


@pytest.mark.parametrize("name", SHOWN)
def test_an_example_shows_its_own_name(name: str) -> None:
    told = [one.source for one in example(name).examples if f"sf.{name}" in one.source]
    made = [one for one in example(name).examples if one.want]
    assert made, "an example that shows nothing cannot fail"
    assert told or name in ("Attribute", "Result"), "named in no line"


@pytest.mark.parametrize("name", SHOWN)
def test_examples_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with resources.as_file(resources.files("sfumato") / "data") as bundled:
        for file in ("patients.csv", "patients.toml"):
            shutil.copy(bundled / file, tmp_path / file)
    told: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(example(name), out=told.append)
    assert runner.failures == 0, "".join(told)


@pytest.mark.parametrize("name", sorted(ELSEWHERE))
def test_what_is_shown_elsewhere_is_shown_there(name: str) -> None:
    pages = (Path(__file__).parents[2] / "docs").rglob("*.md")
    assert any(f"sf.{name}" in page.read_text("utf-8") for page in pages)
