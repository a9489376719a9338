import csv
import os
import re
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.errors import DataError
from sfumato_experiments.figure import Figure
from sfumato_experiments.paper import Options
from sfumato_experiments.parts import chosen
from sfumato_experiments.statdb import PAPER, equality_leak, tables
from sfumato_experiments.statdb import comparison as c
from sfumato_experiments.statdb.intervals import TRUTH, lengths
from sfumato_experiments.statdb.tables import QUASI, SALARY, SURVEY

pytestmark = pytest.mark.slow  # runs the experiments

PAGES = Path(__file__).parents[3] / "docs" / "papers"
PAGE = PAGES / "dynamic-anonymization.md"
DATA = os.environ.get("SFUMATO_DATA")
QUICK = Options(quick=True, queries=30)
SMALL = tables.QUICK._replace(ds=(3, 7), shares=(4, 10), ns=(4_000, 8_000))


@pytest.fixture(autouse=True)
def _no_data_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SFUMATO_DATA", raising=False)


@pytest.fixture(scope="module")
def figures() -> dict[str, Figure]:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("SFUMATO_DATA", raising=False)
        patch.setattr(tables, "QUICK", SMALL)
        return {number: run(QUICK) for number, run in PAPER.figures.items()}


def test_every_figure_has_its_four_parts() -> None:
    assert chosen(PAPER, ["7"]) == ("7a", "7b", "7c", "7d")
    assert len(PAPER.figures) == 4 * 4 + 1


@pytest.mark.parametrize("part", "abcd")
def test_dynamic_anatomy_beats_static_anatomy(figures: dict[str, Figure], part: str) -> None:
    said = {
        claim.text: verdict
        for number in (f"7{part}", f"8{part}")
        for claim, verdict in figures[number].verdicts()
    }
    assert said["the intervals of dyn-ana are shorter than those of sta-ana"] == "yes"
    assert said["the lengths of dyn-ana deviate less than those of sta-ana"] == "yes"


@pytest.mark.parametrize("number", ["7a", "7b", "7c", "7d", "9a", "9b", "9c", "9d"])
def test_intervals_lie_around_the_truth(figures: dict[str, Figure], number: str) -> None:
    series = figures[number].series
    shown = {name for panel in figures[number].panels.values() for name in panel.values()}
    assert shown == set(series)
    for method in c.REVEALING if number.startswith("7") else c.CONCEALING:
        for truth, lower, upper in zip(
            series[TRUTH], series[f"{method} lower"], series[f"{method} upper"], strict=True
        ):
            assert lower.y <= truth.y <= upper.y
        assert all(length > 0 for length in lengths(series, method))


def test_only_ran_pert_misses(figures: dict[str, Figure]) -> None:
    """And with the interval that the paper takes, hardly ever."""
    note = figures["7d"].notes[-1]
    assert "dyn-ana none, sta-ana none" in note
    assert "dyn-ana (cohort 8) none, neighbours none" in note
    assert re.search(r"ran-pert \(normal\) \d+\.\d+%", note)
    assert "30 queries per point" in note
    assert any("STAND-IN" in note for note in figures["7d"].notes)


def test_titles_tell_what_is_kept(figures: dict[str, Figure]) -> None:
    assert figures["7a"].title.endswith("(n = 8,000, ql = 6%, λ = 2)")
    assert figures["8d"].title.endswith("(d = 7, ql = 6%, λ = 2)")


def test_answers_are_quick(figures: dict[str, Figure]) -> None:
    assert [said for _, said in figures["time"].verdicts()] == ["yes", "yes"]


def test_progress_runs_from_start_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "QUICK", SMALL)
    heard: list[float] = []
    PAPER.run("9b")(replace(QUICK, queries=2, progress=heard.append))
    assert heard == sorted(heard)
    assert heard[0] == 0
    assert 0.5 < heard[-1] < 1


def test_the_stand_in_has_the_papers_domains() -> None:
    rows = tables.generated(60_000)
    sizes = [len(rows[name].unique()) for name in (*QUASI, SALARY)]
    assert sizes == [78, 2, 6, 57, 17, 25, 8, 50]  # one age fewer than SAL


def test_everybody_comes_once_before_anybody_twice(tmp_path: Path) -> None:
    """Ten persons; the first five are there twice, and one row has no salary."""
    n = 16
    columns = {
        "household_id": [*range(10), *range(5), 99], "person_no": [1] * n,
        "age": [*range(10), *range(5), 99], "sex": [1] * n, "education": [41] * n,
        "marital_status": [1] * n, "relationship": [1] * n, "birthplace": [2] * 12 + [200] * 4,
        "occupation_group": [10] * n, "salary_class": [*range(15), None],
    }  # fmt: skip
    pq.write_table(pa.table(columns), tmp_path / SURVEY)
    source = tables.survey(tmp_path, 12)
    assert sorted(source.rows["age"].to_pylist()[:10]) == list(range(10))
    assert "2 are further quarters" in source.said
    assert source.table(3, 10).schema.quasi == QUASI[:3]
    assert tables.source(Options(data=tmp_path)).rows.num_rows == 15


def test_a_folder_without_the_survey_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no file"):
        tables.survey(tmp_path, 10)


@pytest.mark.parametrize("number", PAPER.figures)
def test_the_page_shows_the_stored_data(number: str) -> None:
    found = re.search(
        rf"<!-- figure {number} -->(.*?)<!-- end -->", PAGE.read_text(encoding="utf-8"), re.S
    )
    assert found is not None
    assert f"dynamic-anonymization/figure_{number}.png" in found[1]
    stored = PAGES / "dynamic-anonymization" / f"figure_{number}.csv"
    with stored.open(encoding="utf-8") as file:
        for line in csv.DictReader(file):
            y = float(line["y"])
            assert line["series"] in found[1]
            assert f"| {y:,.0f} |" in found[1] or f"| {float(f'{y:.3g}'):,g} |" in found[1]


@pytest.mark.skipif(DATA is None, reason="needs the real tables: set SFUMATO_DATA")
def test_the_stored_data_are_what_the_experiment_gives() -> None:
    """If it fails for a good reason: python experiments/update_docs.py statdb DATA.

    One part stands for all, which take minutes.
    """
    series = PAPER.run("9c")(Options(data=Path(DATA or ""))).series
    found = {(name, point.x, point.y) for name, curve in series.items() for point in curve}
    stored = PAGES / "dynamic-anonymization" / "figure_9c.csv"
    with stored.open(encoding="utf-8") as file:
        assert found == {
            (row["series"], float(row["x"]), float(row["y"])) for row in csv.DictReader(file)
        }


@pytest.fixture(scope="module")
def leaks() -> dict[int | None, equality_leak.Leak]:
    population = equality_leak.generated(240, 4, strength=0.2)
    return {leak.cohort: leak for leak in equality_leak.measure(population, (1, 8, None))}


def test_equal_rows_are_found_in_whole_buckets_only(
    leaks: dict[int | None, equality_leak.Leak],
) -> None:
    assert leaks[1].equal == 0
    assert 0 < leaks[8].equal < 0.9
    assert leaks[None].equal == 1


def test_labels_follow_from_equality(leaks: dict[int | None, equality_leak.Leak]) -> None:
    assert leaks[1].by_persons < 0.3  # 1/m, and what a known person excludes
    assert leaks[1].by_correlation < leaks[8].by_correlation < leaks[None].by_correlation
    assert leaks[1].by_persons < leaks[8].by_persons < leaks[None].by_persons


def test_the_price_of_cohorts_are_longer_intervals(
    leaks: dict[int | None, equality_leak.Leak],
) -> None:
    assert leaks[1].width > leaks[8].width > leaks[None].width
    lines = list(equality_leak.show(iter(leaks.values()), 4))
    assert lines[2].startswith("| 1 | 0% |")
    assert lines[-1].endswith("1/m = 0.25")
