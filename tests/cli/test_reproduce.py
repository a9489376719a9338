import csv
import json
import sys
from pathlib import Path

import pytest

from sfumato.cli.main import main
from sfumato_experiments.anatomy.accuracy import queries_of
from sfumato_experiments.paper import Options


@pytest.fixture(autouse=True)
def _no_data_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SFUMATO_DATA", raising=False)


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as exit_:
        main(["reproduce", *arguments])
    assert isinstance(exit_.value.code, int)
    return exit_.value.code


def test_one_figure_gives_table_claims_data_and_plot(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    assert run("mondrian", "--figure", "10", "--quick", "-o", str(tmp_path / "new")) == 0
    shown = capsys.readouterr().out
    assert "Figure 10" in shown
    assert "yes  no method goes below k × rows" in shown
    assert "no   greedy multidimensional" in shown  # the rivals win where k is large
    assert str(tmp_path / "new" / "figure_10.csv") in shown
    with (tmp_path / "new" / "figure_10.csv").open(encoding="utf-8") as file:
        assert {line["series"] for line in csv.DictReader(file)} >= {"floor: k × rows"}
    assert (tmp_path / "new" / "figure_10.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert len(list((tmp_path / "new").iterdir())) == 2


def test_all_figures_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("mondrian", "--quick", "--seeds", "1", "--json", "-o", str(tmp_path)) == 0
    found = json.loads(capsys.readouterr().out)
    drawn = [figure["figure"] for figure in found["figures"]]
    assert drawn == [str(number) for number in range(10, 18)]
    for figure in found["figures"]:
        assert all(Path(path).is_file() for path in figure["files"])
    adult = next(figure for figure in found["figures"] if figure["figure"] == "14")
    assert any("STAND-IN" in note for note in adult["notes"])


def test_the_default_folder_carries_the_papers_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("mondrian", "--figure", "13", "--quick", "--seeds", "1") == 0
    assert (tmp_path / "reproduced" / "mondrian" / "figure_13.csv").is_file()


def test_without_matplotlib_tables_and_data_still_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert run("mondrian", "--figure", "12", "--quick", "-o", str(tmp_path)) == 0
    shown = capsys.readouterr().out
    assert "pip install 'sfumato[plot]'" in shown
    assert [path.name for path in tmp_path.iterdir()] == ["figure_12.csv"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("atonomy",), "mondrian"),
        (("mondrian", "--figure", "99"), "10, 11, 12, 13, 14"),
        (("mondrian", "--figure", "10", "--figure", "x"), "'x'"),
        (("mondrian", "--seeds", "0"), "seeds"),
        (("mondrian", "--data", "no/such/folder"), "no/such/folder"),
    ],
)
def test_bad_use_is_told_and_nothing_is_written(
    arguments: tuple[str, ...],
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(*arguments) == 2
    assert told in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_data_folder_without_adult_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = ("--data", str(tmp_path), "-o", str(tmp_path / "out"))
    assert run("mondrian", "--figure", "14", "--quick", *folder) == 2
    assert "adult.parquet" in capsys.readouterr().err


def test_full_is_a_number_of_queries(capsys: pytest.CaptureFixture[str]) -> None:
    assert queries_of(Options(full=True)) == 10_000 > queries_of(Options())
    assert queries_of(Options(full=True, queries=7)) == 7
    assert run("anatomy", "--full", "--quick") == 2
    assert "leave --quick and --queries out" in capsys.readouterr().err
