import csv
from pathlib import Path

import pytest

from sfumato.errors import ParameterError
from sfumato_experiments.figure import Claim, Curve, Figure, Point, falls, ratios, rises
from sfumato_experiments.paper import Options, Paper, find_paper, papers


def curve(*ys: float, spread: float | None = None) -> Curve:
    return tuple(Point(x, y, spread) for x, y in enumerate(ys))


FIGURE = Figure(
    number="7",
    title="Two curves",
    x_label="k",
    y_label="cost",
    series={"a": curve(1.5, 2000.4, spread=0.25), "b": (Point(1, 3.0),)},
    claims=(
        Claim("a rises", "here", ("a",), lambda at: rises(at["a"])),
        Claim("a falls", "here", ("a",), lambda at: falls(at["a"])),
        Claim("c rises", "here", ("a", "c"), lambda at: rises(at["c"])),
    ),
)


def test_a_point_sums_up_its_seeds() -> None:
    assert Point.of(3, [1.0, 3.0]) == pytest.approx((3, 2.0, 2**0.5))
    assert Point.of(3, [4.0]) == Point(3, 4.0, None)


def test_trends() -> None:
    assert rises(curve(1, 2, 3))
    assert not rises(curve(1, 2, 2))
    assert falls(curve(3, 2, 1))
    assert not falls(curve(3, 2, 2.5, 1))
    assert falls(curve(3, 2, 2.5, 1, spread=0.3))
    assert not falls(curve(2, 2, spread=9))
    assert ratios(curve(4, 6), (Point(1, 2.0),)) == [3.0]


def test_claims_are_judged_or_stay_open() -> None:
    assert [said for _, said in FIGURE.verdicts()] == ["yes", "no", "open"]
    assert FIGURE.claims[2].missing(FIGURE.series) == ("c",)


def test_the_table_has_a_column_per_curve_and_spread() -> None:
    header, lines = FIGURE.rows()
    assert header == ["k", "a", "±", "b"]
    assert lines == [[0, 1.5, 0.25, ""], [1, 2000, 0.25, 3]]


def test_the_csv_keeps_full_precision(tmp_path: Path) -> None:
    FIGURE.write_csv(tmp_path / "f.csv")
    with (tmp_path / "f.csv").open(encoding="utf-8") as file:
        lines = list(csv.reader(file))
    assert lines == [
        ["series", "x", "y", "spread"],
        ["a", "0", "1.5", "0.25"],
        ["a", "1", "2000.4", "0.25"],
        ["b", "1", "3.0", ""],
    ]


def test_part_of_a_run_tells_part_of_the_progress() -> None:
    heard: list[float] = []
    Options(progress=heard.append).part(0.5, 1.0).progress(0.5)
    assert heard == [0.75]


def test_papers_are_found_by_their_folders() -> None:
    assert "mondrian" in papers()
    assert all(find_paper(name).name == name for name in papers())


def test_unknown_papers_and_figures_are_named() -> None:
    with pytest.raises(ParameterError, match=r"'atonomy'.*mondrian"):
        find_paper("atonomy")
    with pytest.raises(ParameterError, match=r"'9'.*1, 2"):
        Paper("p", "P", {"1": lambda _: FIGURE, "2": lambda _: FIGURE}).run("9")
