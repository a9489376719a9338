import csv
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.errors import DataError, ParameterError
from sfumato_experiments.figure import Figure, Point
from sfumato_experiments.kja import PAPER, claims, queries, runs, stand_in, tables
from sfumato_experiments.kja.tables import ID, QUASI, SURVEY, census, persons_first, uniform
from sfumato_experiments.paper import Options
from sfumato_experiments.parts import chosen

pytestmark = pytest.mark.slow  # runs the experiments

PAGES = Path(__file__).parents[3] / "docs" / "papers"
QUICK = Options(quick=True, seeds=2, queries=10)
SMALL = replace(
    tables.QUICK, microdata=300, ratios=(1, 10), ks=(5, 20), k=10, ds=(2, 4), shares=(10, 50)
)


@pytest.fixture(autouse=True)
def _no_data_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SFUMATO_DATA", raising=False)


@pytest.fixture(scope="module")
def figures() -> dict[str, Figure]:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("SFUMATO_DATA", raising=False)
        patch.setattr(tables, "QUICK", SMALL)
        return {number: run(QUICK) for number, run in PAPER.figures.items()}


def test_figures_10_to_19_have_three_parts() -> None:
    assert list(PAPER.figures) == [f"{number}{part}" for number in range(10, 20) for part in "abc"]


# What also holds on a few generated rows; the page of the paper has the verdicts on real ones.
EVERYWHERE = ("has the lower", "falls as PD grows", "grows with k")


@pytest.mark.parametrize("number", [one for one in PAPER.figures if one < "14" or one[:2] > "15"])
def test_kja_loses_less_on_generated_rows(figures: dict[str, Figure], number: str) -> None:
    for claim, said in figures[number].verdicts():
        if any(part in claim.text for part in EVERYWHERE):
            assert said == "yes", claim.text


@pytest.mark.parametrize("number", PAPER.figures)
def test_every_curve_is_in_a_panel_and_every_claim_is_judged(
    figures: dict[str, Figure], number: str
) -> None:
    figure = figures[number]
    shown = [name for panel in figure.panels.values() for name in panel.values()]
    assert sorted(shown) == sorted(figure.series)
    assert all(said in ("yes", "no") for _, said in figure.verdicts())
    assert all(point.y > 0 for curve in figure.series.values() for point in curve)
    assert figure.number == number


def test_the_stand_in_is_told(figures: dict[str, Figure]) -> None:
    assert any("STAND-IN" in note for note in figures["10a"].notes)
    assert not any("STAND-IN" in note for note in figures["16a"].notes)
    assert any("10 queries per draw" in note for note in figures["14a"].notes)


def test_with_nobody_outside_kja_is_plain_anonymity(figures: dict[str, Figure]) -> None:
    """At |PD| = |MT| all three publish the same groups."""
    for number in ("10a", "11a", "16a"):
        alone, direct, refined = list(figures[number].series.values())[:3]
        assert alone[0] == direct[0] == refined[0]


def test_progress_runs_from_start_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "QUICK", SMALL)
    for number in ("10a", "14a"):
        heard: list[float] = []
        PAPER.run(number)(replace(QUICK, progress=heard.append))
        assert heard == sorted(heard)
        assert heard[0] == 0
        assert 0.5 < heard[-1] < 1


def test_losses_are_those_of_a_release(monkeypatch: pytest.MonkeyPatch) -> None:
    """NCP and DM of a run are what publish_join tells its owner, where domains agree."""
    monkeypatch.setattr(tables, "QUICK", SMALL)
    bench = runs.Bench.of("census", QUICK)
    at = runs.Setting(10, 10, 10, 3)
    table, external = bench.draw(at, 1)
    _, direct, refined = bench.run(runs.MONDRIAN, at, 1).losses
    widths = bench.population(1).widths(3)
    joined = {name: pa.compute.min_max(external[name]).as_py() for name in table.schema.quasi}
    scales = [(ends["max"] - ends["min"]) / widths[name] for name, ends in joined.items()]
    for method, loss in (
        (sf.Direct(runs.MONDRIAN.algorithm), direct),
        (sf.Refinement(runs.MONDRIAN.algorithm), refined),
    ):
        release = sf.publish_join(table, external, method, sf.KJoinAnonymity(10), seed=1)
        assert release.own is not None
        assert loss.dm == release.own.discernibility
        own = release.own.ncp * 3 * table.n_rows
        assert min(scales) * own * 0.999 <= loss.ncp <= max(scales) * own * 1.001


def test_a_draw_of_pd_holds_mt_and_grows() -> None:
    population = census(None, 3_000)(0)
    table, small = population.draw(300, 2, 4, seed=5)
    same, large = population.draw(300, 10, 4, seed=5)
    assert table.schema.quasi == QUASI[:4]
    assert (small.num_rows, large.num_rows) == (600, 3_000)
    assert small.equals(large.slice(0, 600))
    assert sf.join(table, small).matching.shared == sf.join(same, large).matching.shared == 300
    other, _ = population.draw(300, 2, 4, seed=6)
    assert not np.array_equal(other.quasi_codes(), table.quasi_codes())


def test_the_stand_in_is_skewed_as_incomes_are() -> None:
    rows = stand_in.persons(20_000, seed=1)
    assert tuple(rows.column_names) == QUASI
    income = rows["income_total"].to_numpy()
    assert 0.35 < (income == 0).mean() < 0.65
    assert income.max() > 20 * income.mean()
    assert (rows["household_income"].to_numpy() >= income).all()
    assert stand_in.persons(50, seed=3).equals(stand_in.persons(50, seed=3))


def test_uniform_points_fill_the_unit_cube() -> None:
    rows = uniform(5_000)(2).rows.drop([ID])
    assert rows.num_columns == len(QUASI)
    values = np.stack([column.to_numpy() for column in rows.columns])
    assert values.min() >= 0
    assert values.max() <= 1
    assert np.allclose(values.mean(axis=1), 0.5, atol=0.02)


def survey() -> pa.Table:
    """Four persons; the first lacks an income in the first quarter, the second is there twice."""
    return pa.table(
        {
            "household_id": [1, 1, 2, 3, 1, 1],
            "person_no": [1, 2, 1, 1, 1, 2],
            "age": [30, 31, 32, 33, 34, 35],
            "income_total": [None, 1, 2, 3, 4, 5],
            "household_size": [2, 2, 1, 1, 2, 2],
            "years_education": [7, 7, 12, 12, 7, 7],
            "household_income": [1, 1, 2, 3, 9, 9],
            "sex": [1, 2, 1, 2, 1, 2],
        }
    )


def test_a_person_is_there_once_with_the_first_complete_row(tmp_path: Path) -> None:
    pq.write_table(survey(), tmp_path / SURVEY)
    rows, persons = persons_first(tmp_path / SURVEY)
    assert persons == 4
    assert rows["age"].to_pylist() == [31, 32, 33, 34, 35]
    source = census(tmp_path, 10)(0)
    assert source.rows.num_rows == 4
    assert source.said.startswith("census: 4 persons")
    assert source.domain("age") == (31, 34)


def test_a_folder_without_the_survey_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="eph_2004_2015"):
        census(tmp_path, 10)


@pytest.mark.parametrize("reading", queries.READINGS)
def test_queries_have_somebody_in_them(reading: queries.Reading) -> None:
    source = census(None, 2_000)(0)
    table, _ = source.draw(500, 1, 3, seed=1)
    asked = queries.workload(source, 500, 3, reading, 0.1, 30, 1)
    assert len(asked) == 30
    assert (table.counts(asked).estimate > 0).all()


def test_a_number_stands_for_its_parts() -> None:
    assert chosen(PAPER, ("11", "10b", "11a")) == ("11a", "11b", "11c", "10b")
    assert chosen(PAPER, ()) == tuple(PAPER.figures)
    with pytest.raises(ParameterError, match="no figure '1' of kja"):
        chosen(PAPER, ("1",))


def test_claims_by_hand() -> None:
    family = runs.MONDRIAN
    up = tuple(Point(x, y) for x, y in [(1, 1.0), (2, 3.0)])
    down = up[::-1]
    at = {family.name: up, family.direct: tuple(point._replace(y=1.0) for point in up)}
    assert claims.grows(up)
    assert not claims.grows(tuple(point._replace(x=-point.x) for point in down))
    assert claims.spread(up) == 3
    whole, half = claims.gain(family, family.direct, 4, "NCP")
    assert (whole.verdict(at), half.verdict(at)) == (False, True)
    assert claims.wins(family, [family.direct], "NCP").verdict(at)
    assert claims.better(family.direct, family.name, "").verdict(at)
    assert not claims.close(family.direct, family.name, 2, "").verdict(at)
    assert claims.wins(family, [family.refined], "NCP").verdict(at) is None


@pytest.mark.parametrize("number", PAPER.figures)
def test_the_page_shows_the_stored_data(number: str) -> None:
    text = (PAGES / "k-join-anonymity.md").read_text(encoding="utf-8")
    found = re.search(rf"<!-- figure {number} -->(.*?)<!-- end -->", text, re.S)
    assert found is not None
    assert f"k-join-anonymity/figure_{number}.png" in found[1]
    stored = PAGES / "k-join-anonymity" / f"figure_{number}.csv"
    with stored.open(encoding="utf-8") as file:
        for line in csv.DictReader(file):
            y = float(line["y"])
            assert line["series"] in found[1]
            assert f"| {y:,.0f} |" in found[1] or f"| {float(f'{y:.3g}'):,g} |" in found[1]
