"""sfumato evaluate as a user meets it: a page, JSON, one line per error, exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner, Result

import sfumato as sf
from sfumato.cli.evaluate import evaluate
from sfumato.errors import DataError, OutputExists, SfumatoError
from tests.support.sealing import reseal
from tests.support.seeds import long_seed

SCHEMA = """
identifiers = ["name"]
quasi = ["age", "sex"]
sensitive = "disease"
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("evaluate")
    rng = np.random.default_rng(2)
    lines = ["name,age,sex,disease"]
    for i in range(120):
        sex, ill = rng.choice(["f", "m"]), rng.choice(["flu", "cold", "gout"])
        lines.append(f"n{i},{rng.integers(20, 40)},{sex},{ill}")
    (folder / "patients.csv").write_text("\n".join(lines) + "\n")
    (folder / "some.csv").write_text("\n".join(lines[:100]) + "\n")
    (folder / "schema.toml").write_text(SCHEMA)
    (folder / "mine.sql").write_text("SELECT COUNT(*) FROM t WHERE age < 30;\n")
    table = sf.read(folder / "patients.csv", sf.read_schema(folder / "schema.toml"))
    sf.publish(table, sf.Anatomize(), sf.LDiversity(2), seed=long_seed(1)).write(folder / "apart")
    sf.publish(table, sf.Mondrian(), sf.KAnonymity(4), seed=long_seed(1)).write(folder / "boxes")
    return folder


def run(place: Path, release: str, *arguments: str, truth: str = "patients.csv") -> Result:
    fixed = ["--truth", str(place / truth), "-s", str(place / "schema.toml")]
    return CliRunner().invoke(
        evaluate, [str(place / release), *fixed, *arguments], standalone_mode=False
    )


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("release", ["apart", "boxes"])
def test_a_report_and_a_summary(place: Path, release: str) -> None:
    done = run(place, release, "--queries", "20")
    assert done.exception is None
    assert done.return_value == 0
    assert f"{release}: 120 rows" in done.output
    assert "promise kept" in done.output
    assert "attacked: an attacker who has studied half of the table guesses" in done.output
    assert "report.html holds true figures: keep it to yourself." in done.output
    assert f"What {release} is still good for" in Path("report.html").read_text("utf-8")


def test_json_has_the_figures_and_writes_nothing(place: Path) -> None:
    options = ("--json", "--queries", "20", "--seed", "3")
    stated = json.loads(run(place, "boxes", *options).output)
    assert stated["rows"] == 120
    assert stated["promise"]["ok"]
    assert stated["queries"]["figures"] == 20
    assert stated["queries"]["bounds"]["coverage"] == 1
    assert [one["attribute"] for one in stated["distributions"]] == ["age", "sex"]
    assert list(Path.cwd().iterdir()) == []
    again = json.loads(run(place, "boxes", *options, "-o", "mine.html").output)
    assert again == stated
    assert Path("mine.html").exists()


def test_an_own_workload(place: Path) -> None:
    workload = str(place / "mine.sql")
    done = run(place, "boxes", "--workload", workload)
    assert "1 query of your own" in done.output
    refused(run(place, "boxes", "--workload", workload, "--queries", "9"), "random queries")
    refused(run(place, "boxes", "--workload", "nowhere.sql", "-o", "x.html"), "nowhere.sql")


def refused(done: Result, *words: str) -> None:
    """What main turns into one line and exit code 2."""
    assert isinstance(done.exception, SfumatoError | click.ClickException)
    message = str(done.exception)
    assert "\n" not in message
    for word in words:
        assert word in message


def test_an_earlier_report_is_replaced_by_force_only(place: Path) -> None:
    run(place, "boxes", "--queries", "20")
    again = run(place, "boxes", "--queries", "20")
    refused(again, "report.html exists", "--force")
    assert isinstance(again.exception, OutputExists)
    assert run(place, "apart", "--queries", "20", "--force").return_value == 0
    assert "What apart is" in Path("report.html").read_text("utf-8")


def test_the_wrong_table_is_refused(place: Path) -> None:
    done = run(place, "boxes", truth="some.csv")
    refused(done, "120 rows", "99")
    assert isinstance(done.exception, DataError)
    assert not Path("report.html").exists()


def test_a_broken_promise_exits_with_1_and_is_reported(place: Path) -> None:
    release = sf.load(place / "boxes").write(Path("broken"))
    stated = json.loads((release / "release.json").read_text())
    stated["promise"][0]["k"] = 100
    (release / "release.json").write_text(json.dumps(stated))
    reseal(release)
    done = run(place, str(release.resolve()))
    assert done.return_value == 1
    assert "BROKEN" in done.output
    assert "The promise is BROKEN" in Path("report.html").read_text("utf-8")
