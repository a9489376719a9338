import csv
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from sfumato_experiments.figure import Curve, Figure, Point
from sfumato_experiments.mondrian import PAPER
from sfumato_experiments.mondrian import comparison as c
from sfumato_experiments.paper import Options

PAGES = Path(__file__).parents[3] / "docs" / "papers"
QUICK = Options(seeds=2, quick=True)


@pytest.fixture(scope="module")
def figures() -> dict[str, Figure]:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("SFUMATO_DATA", raising=False)
        return {number: run(QUICK) for number, run in PAPER.figures.items()}


@pytest.mark.parametrize("number", PAPER.figures)
def test_no_claim_is_contradicted(figures: dict[str, Figure], number: str) -> None:
    said = [verdict for _, verdict in figures[number].verdicts()]
    assert "yes" in said
    assert "no" not in said


@pytest.mark.parametrize("number", PAPER.figures)
def test_only_claims_about_rivals_are_open(figures: dict[str, Figure], number: str) -> None:
    for claim, said in figures[number].verdicts():
        assert (said == "open") == any(rival in claim.needs for rival in c.RIVALS)


@pytest.mark.parametrize("number", PAPER.figures)
def test_every_figure_has_the_three_curves(figures: dict[str, Figure], number: str) -> None:
    figure = figures[number]
    assert figure.number == number
    assert {c.STRICT, c.RELAXED, c.FLOOR} <= set(figure.series)
    places = {tuple(point.x for point in curve) for curve in figure.series.values()}
    assert len(places) == 1


@pytest.mark.parametrize(("factor", "said"), [(2.0, "yes"), (0.5, "no")])
def test_a_rival_curve_closes_its_claim(
    figures: dict[str, Figure], factor: float, said: str
) -> None:
    figure = figures["10"]
    rivals = {name: scaled(figure.series[c.STRICT], factor) for name in c.RIVALS}
    judged = dict(replace(figure, series={**figure.series, **rivals}).verdicts())
    assert judged[c.BEST] == said


def test_a_curve_below_the_floor_is_noticed(figures: dict[str, Figure]) -> None:
    figure = figures["10"]
    lowered = {**figure.series, c.STRICT: scaled(figure.series[c.FLOOR], 0.99)}
    assert dict(replace(figure, series=lowered).verdicts())[c.THEORY[0]] == "no"


def test_the_seed_count_is_the_number_of_tables() -> None:
    assert len(c.uniform_tables(Options(seeds=3, quick=True))) == 3


def test_progress_runs_from_start_to_end() -> None:
    heard: list[float] = []
    PAPER.run("11")(replace(QUICK, seeds=1, progress=heard.append))
    assert heard == sorted(heard)
    assert heard[0] == 0
    assert 0.5 < heard[-1] < 1


@pytest.mark.parametrize("number", PAPER.figures)
def test_the_page_shows_the_stored_data(number: str) -> None:
    text = (PAGES / "mondrian.md").read_text(encoding="utf-8")
    found = re.search(rf"<!-- figure {number} -->(.*?)<!-- end -->", text, re.S)
    assert found is not None
    assert f"mondrian/figure_{number}.png" in found[1]
    for name, curve in stored(number).items():
        assert name in found[1]
        assert all(f"| {point.y:,.0f} |" in found[1] for point in curve)


@pytest.mark.parametrize("number", PAPER.figures)
def test_the_stored_data_are_what_the_experiment_gives(number: str) -> None:
    """If it fails for a good reason: python experiments/update_docs.py mondrian DATA."""
    if number == "14" and not os.environ.get("SFUMATO_DATA"):
        pytest.skip("Figure 14 needs the real Adult table: set SFUMATO_DATA")
    assert PAPER.run(number)(Options()).series == stored(number)


def scaled(curve: Curve, factor: float) -> Curve:
    return tuple(Point(point.x, point.y * factor) for point in curve)


def stored(number: str) -> dict[str, Curve]:
    series: dict[str, list[Point]] = {}
    path = PAGES / "mondrian" / f"figure_{number}.csv"
    with path.open(encoding="utf-8") as file:
        for name, x, y, spread in list(csv.reader(file))[1:]:
            point = Point(float(x), float(y), float(spread) if spread else None)
            series.setdefault(name, []).append(point)
    return {name: tuple(curve) for name, curve in series.items()}
