"""A microaggregated release: what it shows, promises, answers and refuses."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.asking.ask import answerer
from sfumato.audits.masking import moments_of
from sfumato.errors import (
    DataError,
    ParameterError,
    PromiseBroken,
    QueryRefused,
    SchemaError,
    SfumatoWarning,
)
from sfumato.queries.asked import condition_of
from sfumato.queries.binding import bind
from tests.support.possible import POSSIBLE, truth
from tests.support.tables import microdata


def people(rows: int = 600) -> sf.Microdata:
    chance = np.random.default_rng(5)
    age = chance.integers(18, 90, rows)
    columns = {
        "age": age,
        "income": np.round(age * 400 + chance.normal(0, 6_000, rows), 2),
        "sex": chance.choice(["F", "M"], rows),
        "ill": chance.choice(["flu", "cold", "gout", "pox"], rows),
    }
    return microdata(columns, sensitive=["ill"])


TABLE = people()
RELEASE = sf.mask(TABLE, sf.Microaggregate(k=5), seed=3)


def test_rows_that_are_alike_are_k_or_more(tmp_path: Path) -> None:
    lines = [tuple(line.values()) for line in RELEASE.table.drop_columns(["ill"]).to_pylist()]
    assert min(lines.count(line) for line in set(lines)) >= 5
    found = sf.verify(RELEASE.write(tmp_path / "out", experiment=True))
    kept = {check.statement: check.kept for check in found.checks}
    assert kept["k-anonymity (k = 5)"]
    assert kept["microaggregation of income"]
    assert [check.statement for check in found.checks if not check.kept] == [
        "a seed that nobody can find"
    ]


def test_sensitive_values_stay_with_their_rows_and_order_tells_nothing() -> None:
    assert RELEASE.origin is not None
    ill = TABLE.attributes["ill"].decode(TABLE.codes["ill"][RELEASE.origin])
    assert RELEASE.table["ill"].to_pylist() == ill.to_pylist()
    assert abs(np.corrcoef(RELEASE.origin, np.arange(600))[0, 1]) < 0.15
    again = sf.mask(TABLE, sf.Microaggregate(k=5), seed=3)
    assert again.table.equals(RELEASE.table)
    assert not sf.mask(TABLE, sf.Microaggregate(k=5), seed=4).table.equals(RELEASE.table)


def numbers(name: str) -> Any:
    return TABLE.attributes[name].positions[TABLE.codes[name]]


def test_moments_are_restored() -> None:
    age, income = numbers("age"), numbers("income")
    assert RELEASE.mean("income") == pytest.approx(income.mean())
    assert RELEASE.variance("age") == pytest.approx(age.var(), rel=1e-3)
    assert RELEASE.correlation("age", "income") == pytest.approx(
        np.corrcoef(age, income)[0, 1], abs=1e-3
    )
    naive = RELEASE.table["age"].to_numpy().var()
    assert naive < 0.995 * age.var()  # what is corrected is there


def test_a_histogram_adds_up_and_is_near() -> None:
    edges = [0, 30, 45, 60, 75, 120]
    found = RELEASE.histogram("age", edges)
    assert found.sum() == pytest.approx(600)
    assert np.abs(found - np.histogram(numbers("age"), edges)[0]).max() < 15
    with pytest.raises(ParameterError, match="each above the last"):
        RELEASE.histogram("age", [3, 3])
    with pytest.raises(SchemaError, match="not masked"):
        RELEASE.histogram("ill", [1, 2])


@pytest.mark.parametrize(
    ("asked", "off"),
    [
        ("age <= 40", 15),
        ("age = 40", 8),
        ("age BETWEEN 30 AND 50 AND sex = 'F'", 15),
        ("income > 20000 AND ill = 'flu'", 10),
        ("age IS NULL", 0),
        ("age IS NOT NULL", 0),
    ],
)
def test_counts_are_near_and_bounds_hold(asked: str, off: float) -> None:
    answer, true = RELEASE.count(asked), TABLE.count(asked).estimate
    assert answer.lo <= true <= answer.hi
    assert abs(answer.estimate - true) <= off + 1e-9


def test_what_is_exact_is_counted_exactly() -> None:
    assert RELEASE.count("ill = 'flu'") == TABLE.count("ill = 'flu'")
    assert RELEASE.query("SELECT ill, COUNT(*) FROM t GROUP BY ill").keys


def test_likely_intervals_hold_the_truth_about_as_often_as_they_say() -> None:
    chance = np.random.default_rng(1)
    inside = moved = 0
    for _ in range(200):
        low = int(chance.integers(18, 70))
        asked = f"age BETWEEN {low} AND {low + int(chance.integers(4, 30))}"
        likely, true = RELEASE.count(asked).likely, TABLE.count(asked).estimate
        assert likely is not None
        inside += true in likely
        moved += true + 40 in likely
    assert inside >= 140  # 80% of 200 are 160
    assert moved < 20  # and it would not hold just anything


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("SELECT SUM(age) FROM t", "no bounds hold for SUM"),
        ("SELECT MIN(income) FROM t", "release.mean"),
        ("SELECT age, COUNT(*) FROM t GROUP BY age", "one range, at a time"),
    ],
)
def test_what_has_no_bounds_is_refused(asked: str, said: str) -> None:
    with pytest.raises(QueryRefused, match=said):
        RELEASE.query(asked)


ASKED = ["x <= 1", "x = 2 AND y = 'a'", "y <> 'b'", "s = 1 AND x > 0"]


@pytest.mark.parametrize("asked", ASKED)
def test_bounds_hold_in_every_possible_table(asked: str) -> None:
    table = microdata({"x": [0, 1, 3], "y": ["a", "a", "b"], "s": [1, 2, 1]}, sensitive=["s"])
    release = sf.mask(table, sf.Microaggregate(k=2))
    query = bind(condition_of(asked), answerer(release).catalog)
    true = [truth(rows, query, query.select[0]) for rows in POSSIBLE[sf.MaskedTable](release)]
    answer = release.count(asked)
    assert (answer.lo, answer.hi) == (min(true), max(true))


def test_groups_that_share_a_value_are_told() -> None:
    table = microdata(
        {"age": [1, 2, 3, 50, 51, 52], "ill": ["flu"] * 3 + ["cold"] * 3}, sensitive=["ill"]
    )
    with pytest.warns(SfumatoWarning, match="6 of 6 people"):
        sf.mask(table, sf.Microaggregate(k=3))


def test_columns_that_do_not_exist_or_hold_no_numbers_have_no_mean() -> None:
    with pytest.raises(SchemaError, match="is published"):
        RELEASE.mean("height")
    with pytest.raises(SchemaError, match="no numbers"):
        RELEASE.mean("sex")
    empty = microdata({"a": pa.array([None, None], pa.int64()), "b": [1, 2]})
    with pytest.raises(SchemaError, match="no row has a value"):
        sf.mask(empty, sf.Microaggregate(2)).mean("a")


@pytest.mark.parametrize("mask", [sf.Microaggregate(5), sf.Synthesize(), sf.Swap(0.2)], ids=repr)
def test_histograms_are_of_numbers(mask: Any) -> None:
    born = [dt.date(1950 + i % 40, 1, 1) for i in range(60)]
    table = microdata(
        {"born": born, "sex": ["F", "M"] * 30, "age": [40 + i % 9 for i in range(60)]}
    )
    release = sf.mask(table, mask)
    for name in ("born", "sex"):
        with pytest.raises(SchemaError, match="holds no numbers"):
            release.histogram(name, [0, 40, 80])
    texts: Any = ["low", "high"]
    with pytest.raises(ParameterError, match="edges are two or more numbers"):
        release.histogram("age", texts)


def test_what_does_not_scatter_has_a_histogram() -> None:
    """Edges at the values themselves: no distance, over no deviation."""
    release = sf.mask(microdata({"x": [5.0] * 20, "y": [0.0] * 20}), sf.Microaggregate(5))
    assert release.histogram("x", [4, 5, 6]).tolist() == [0, 20]
    assert release.histogram("y", [-1, 0, 1]).tolist() == [0, 20]


def test_moments_that_doubles_cannot_hold_are_refused_and_not_infinite() -> None:
    table = microdata({"x": [1.7e308, -1.7e308] * 10})
    release = sf.mask(table, sf.Swap(0.5))
    with pytest.raises(DataError, match="too large to be added up"):
        release.variance("x")
    assert moments_of(release, table) == ()


def test_a_method_that_lies_publishes_nothing() -> None:
    class Liar(sf.Microaggregate):
        def masked(self, table: sf.Microdata, randomness: Any) -> Any:
            found = super().masked(table, randomness)
            shown = {"age": pa.array(np.arange(table.n_rows, dtype=np.float64))}
            return replace(found, columns={**found.columns, **shown})

    with pytest.raises(PromiseBroken, match="nothing is published"):
        sf.mask(TABLE, Liar(5))


def test_evaluation_measures_moments_and_risk(tmp_path: Path) -> None:
    seen = sf.evaluate(RELEASE, TABLE, queries=20, seed=1)
    figures = {(one.figure, one.columns) for one in seen.moments}
    assert ("correlation", ("age", "income")) in figures
    assert all(abs(one.estimate - one.truth) <= 1e-2 * abs(one.truth) for one in seen.moments)
    assert seen.masking_risk is not None
    assert seen.to_dict()["masking_risk"]["linked"] == seen.masking_risk.linked
    page = seen.write_html(tmp_path / "page.html").read_text()
    assert "What masks changed" in page
    assert "How often people are found" in page
    folder = RELEASE.write(tmp_path / "out", experiment=True)
    assert sf.evaluate(folder, TABLE, queries=20, seed=1).masking_risk is None
