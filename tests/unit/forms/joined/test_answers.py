"""Answers from join releases; conformance compares them with all possible tables."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.answers.sides import Reading
from sfumato.errors import DataError, QueryRefused
from sfumato.forms.columns import Labels
from sfumato.forms.files import FileFormat
from sfumato.forms.joined.stock import Stock
from sfumato.forms.manifest import Manifest, PublishedColumn


def by_hand(**changes: Any) -> sf.JoinRelease:
    """Group 1 has 4 rows in boxes of 3 and 5 lines, group 2 has 2 rows in a box of 2 lines."""
    parts: dict[str, Any] = {
        "boxes": {"x_min": [0, 10, 20], "x_max": [9, 19, 20], "sensitive_group": [1, 1, 2]},
        "lines": [3, 5, 2],
        "si": {"sensitive_group": [1, 1, 2], "v": ["a", "b", "a"], "count": [3, 1, 2]},
        **changes,
    }
    columns = (
        PublishedColumn("x", "quasi", "range", ("x_min", "x_max"), kind="numerical"),
        PublishedColumn("v", "sensitive", "value", ("v",), kind="categorical"),
    )
    lines = np.repeat(np.arange(len(parts["lines"]), dtype=np.int32), parts["lines"])
    stated = Manifest("joined", (), {"name": "refinement"}, len(lines), 3, columns, (), {})
    return sf.JoinRelease(pa.table(parts["boxes"]), lines, {"v": pa.table(parts["si"])}, stated)


def triple(answer: sf.Answer) -> list[float]:
    return [answer.estimate, answer.lo, answer.hi]


def test_counts_are_of_the_microdata() -> None:
    assert triple(by_hand().count("x >= 0")) == [6, 6, 6]
    assert triple(by_hand().count("v = 'a'")) == [5, 5, 5]


def test_each_box_holds_a_row_at_least() -> None:
    release = by_hand()
    # box 1: 1 to 3 of 4 rows; to expect is 1 + 2 * 2/6
    assert triple(release.count("x <= 9")) == pytest.approx([1 + 2 / 3, 1, 3])
    # half of it: perhaps none, at most the 3 that the other box leaves
    assert triple(release.count("x <= 4")) == pytest.approx([(1 + 2 / 3) / 2, 0, 3])
    # the one row with b may be anywhere; at least 0, at most 1
    assert triple(release.count("x <= 9 AND v = 'b'")) == pytest.approx([(1 + 2 / 3) / 4, 0, 1])
    # of 4 rows 3 have a, and one row at least lies in box 2: so 1 or 2 of those with a are there
    assert triple(release.count("x >= 10 AND v = 'a'"))[1:] == [2, 5]


def test_groups_of_values() -> None:
    release = by_hand()
    found = release.query("SELECT v, COUNT(*) FROM t WHERE x <= 19 GROUP BY v")
    assert [(key, *triple(count)) for key, count in found] == [("a", 3, 3, 3), ("b", 1, 1, 1)]
    keys = release.query("SELECT x, COUNT(*) FROM t WHERE x > 18 GROUP BY x")
    assert [key for key, _ in keys] == [19, 20]
    assert triple(keys.answers[1][0]) == [2, 2, 2]


def test_sums_and_extremes() -> None:
    release = by_hand()
    # every row is in: 0..9 for one at least, 10..19 for one at least
    found = release.query("SELECT SUM(x), MIN(x), MAX(x), AVG(x) FROM t").answers[0]
    assert (found[0].lo, found[0].hi) == (0 * 3 + 10 + 40, 9 + 19 * 3 + 40)
    assert (found[1].lo, found[1].hi) == (0, 9)
    assert (found[2].lo, found[2].hi) == (20, 20)
    # only its share of the rows has b: one, anywhere in group 1
    one = release.query("SELECT SUM(x), MAX(x) FROM t WHERE v = 'b'").answers[0]
    assert (one[0].lo, one[0].hi) == (0, 19)
    assert (one[1].lo, one[1].hi) == (0, 19)


def test_equal_boxes_count_as_one() -> None:
    boxes = {"x_min": [0, 0], "x_max": [9, 9], "sensitive_group": [1, 1]}
    si = {"sensitive_group": [1], "v": ["a"], "count": [2]}
    assert triple(by_hand(boxes=boxes, lines=[3, 3], si=si).count("x <= 9")) == [2, 2, 2]


@pytest.mark.parametrize(
    "changes",
    [
        {"lines": [1, 1, 2]},
        {"si": {"sensitive_group": [1, 2], "v": ["a", "a"], "count": [1, 2]}},
        {"si": {"sensitive_group": [1, 3], "v": ["a", "a"], "count": [4, 2]}},
    ],
    ids=["more rows than lines", "fewer rows than boxes", "another group"],
)
def test_tables_that_contradict_each_other_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(DataError, match="SI"):
        by_hand(**changes).count("x > 3")


def test_the_estimate_keeps_to_the_bounds() -> None:
    # M n / N would say 0.2 of a box that holds a row for certain
    stock = Stock.of(np.array([1, 9]), np.array([0, 0], np.int32), np.array([2]))
    assert stock.expected.tolist() == [1, 1]
    first = np.array([True, False])
    scope = stock.scope(Reading(first.astype(np.float64), first, first))
    assert [*(scope.share * 2), *(2 - scope.lack), *scope.cap] == [1, 1, 1]


def world(sensitive: tuple[str, ...] = ("pay", "sick")) -> tuple[sf.Microdata, pa.Table]:
    generator = np.random.default_rng(3)
    n = 2000
    people = pa.table(
        {
            "id": np.arange(n),
            "age": generator.integers(18, 80, n),
            "sex": generator.choice(["f", "m"], n),
            "town": generator.integers(0, 40, n),
        }
    )
    rows = people.take(pa.array(generator.choice(n, 500, replace=False)))
    rows = rows.append_column("pay", pa.array(generator.integers(10, 90, 500)))
    rows = rows.append_column("sick", pa.array(generator.choice([*"abcd"], 500)))
    schema = sf.Schema(identifiers=["id"], quasi=["age", "sex", "town"], sensitive=list(sensitive))
    return sf.Microdata.from_arrow(rows, schema, id="id"), people


QUERIES = [
    "SELECT COUNT(*) FROM t WHERE age BETWEEN 30 AND 50 AND town < 20",
    "SELECT COUNT(*) FROM t WHERE age < 40 AND sick IN ('a', 'b') AND pay > 30",
    "SELECT SUM(pay), AVG(pay), MIN(pay), MAX(pay) FROM t WHERE age < 35",
    "SELECT SUM(age), AVG(age), MIN(age), MAX(age) FROM t WHERE sick = 'a'",
    "SELECT SUM(town), AVG(town) FROM t WHERE age < 35 AND sex = 'f'",
]


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("labels", ["ranges", "sets"])
@pytest.mark.parametrize("algorithm", [sf.Mondrian(), sf.Mondrian(relaxed=True)], ids=str)
def test_bounds_hold_on_published_tables(
    query: str, labels: Labels, algorithm: sf.Mondrian, tmp_path: Path
) -> None:
    table, people = world()
    made = sf.publish_join(
        table, people, sf.Refinement(algorithm), sf.KJoinAnonymity(5), labels=labels
    )
    loaded = sf.load(made.write(tmp_path / "out"))
    for true, found, again in zip(
        *(source.query(query).answers[0] for source in (table, made, loaded)), strict=True
    ):
        assert found.lo - 1e-9 <= true.estimate <= found.hi + 1e-9
        assert found.lo - 1e-9 <= found.estimate <= found.hi + 1e-9
        assert (again.lo, again.hi) == (found.lo, found.hi)
        assert again.estimate == pytest.approx(found.estimate)


def test_estimates_are_near_the_truth() -> None:
    table, people = world()
    made = sf.publish_join(table, people, sf.Refinement(sf.Mondrian()), sf.KJoinAnonymity(5))
    asked = [f"SELECT COUNT(*) FROM t WHERE age < {age} AND town < 20" for age in range(30, 80, 5)]
    found, true = made.counts(asked), table.counts(asked)
    assert np.abs(found.estimate / true.estimate - 1).mean() < 0.1


def test_without_sensitive_columns_rows_are_counted() -> None:
    table, people = world(())
    made = sf.publish_join(table, people, sf.Refinement(sf.Mondrian()), sf.KJoinAnonymity(5))
    assert triple(made.count("age > 0")) == [500, 500, 500]
    by = made.query("SELECT sex, COUNT(*) FROM t GROUP BY sex")
    assert sum(count.estimate for _, count in by) == pytest.approx(500)


@pytest.mark.parametrize("file_format", ["parquet", "csv"])
def test_direct_is_refused_with_what_would_work(tmp_path: Path, file_format: FileFormat) -> None:
    table, people = world()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = sf.publish_join(table, people, sf.Direct(sf.Mondrian()), sf.KJoinAnonymity(5))
    loaded = sf.load(made.write(tmp_path / "out", format=file_format))
    for query in (
        "SELECT COUNT(*) FROM t",
        *QUERIES[:1],
        "SELECT sex, AVG(age) FROM t GROUP BY sex",
    ):
        with pytest.raises(QueryRefused, match=r"how many lines of a box.*Refinement"):
            loaded.query(query)
    with pytest.raises(QueryRefused, match="Refinement"):
        made.count("age < 30")


@pytest.mark.slow
def test_evaluate_compares_with_the_microdata(tmp_path: Path) -> None:
    table, people = world()
    made = sf.publish_join(table, people, sf.Refinement(sf.Mondrian()), sf.KJoinAnonymity(5))
    seen = sf.evaluate(made.write(tmp_path / "out"), table, queries=40, seed=2)
    assert seen.errors is not None
    assert not seen.errors.left_out
    assert any("edges" in limit for limit in seen.limits)
    assert seen.write_html(tmp_path / "report.html").is_file()
    smaller, _ = world()
    with pytest.raises(DataError, match="500 rows and the table has 499"):
        sf.evaluate(made, smaller.take(np.arange(499)), queries=5)


def test_evaluate_says_that_direct_cannot_be_asked(tmp_path: Path) -> None:
    table, people = world()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = sf.publish_join(table, people, sf.Direct(sf.Mondrian()), sf.KJoinAnonymity(5))
    seen = sf.evaluate(made, table, ["SELECT COUNT(*) FROM t", *QUERIES[:2]])
    assert seen.errors is None
    assert set(seen.unasked) == {"age", "sex", "town", "pay", "sick"}
    assert seen.write_html(tmp_path / "report.html").is_file()
