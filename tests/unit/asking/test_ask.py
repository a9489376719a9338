"""From question to result: texts, groups, types, refusals."""

from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.answers import groups
from sfumato.asking import ask
from sfumato.errors import QueryRefused
from tests.support.releases import anatomized, generalized
from tests.support.tables import microdata

ROWS = {
    "age": [20, 30, 40, 50, 60, 70],
    "sex": ["F", "M", "F", None, "M", "F"],
    "day": [date(2024, 1, day) for day in (1, 2, 3, 4, 5, 6)],
    "cost": [1.5, 2.5, 0.25, 4.0, 8.0, 16.0],
    "disease": ["flu", "flu", "cold", "cold", "gout", "gout"],
}
GROUPS = [0, 0, 0, 1, 1, 1]


def table() -> sf.Microdata:
    return microdata(ROWS, quasi=["age", "sex", "day"], sensitive=["disease"], insensitive=["cost"])


def test_the_table_answers_its_owner_exactly() -> None:
    result = table().query(
        "SELECT sex, COUNT(*), COUNT(sex), SUM(cost) s, AVG(age), MIN(day), MAX(cost) "
        "FROM t GROUP BY sex"
    )
    assert result.table.to_pylist()[0] == {
        "sex": "F",
        "count_estimate": 3.0, "count_lo": 3, "count_hi": 3,
        "count_sex_estimate": 3.0, "count_sex_lo": 3, "count_sex_hi": 3,
        "s_estimate": 17.75, "s_lo": 17.75, "s_hi": 17.75,
        "avg_age_estimate": pytest.approx(130 / 3), "avg_age_lo": pytest.approx(130 / 3),
        "avg_age_hi": pytest.approx(130 / 3),
        "min_day_estimate": date(2024, 1, 1), "min_day_lo": date(2024, 1, 1),
        "min_day_hi": date(2024, 1, 1),
        "max_cost_estimate": 16.0, "max_cost_lo": 16.0, "max_cost_hi": 16.0,
    }  # fmt: skip
    assert result.keys == (("F",), ("M",), (None,))
    assert [line[2].estimate for line in result] == [3, 2, 0]
    assert result.table.schema.field("min_day_lo").type == pa.date32()


def test_groups_come_in_the_order_of_their_keys_whichever_is_counted_first() -> None:
    for source in (table(), anatomized(table(), GROUPS)):
        result = source.query("SELECT COUNT(*) FROM t GROUP BY age, sex")
        assert [key[0] for key in result.keys] == ROWS["age"]
        turned = source.query("SELECT COUNT(*) FROM t GROUP BY sex, age")
        assert [key[0] for key in turned.keys] == ["F", "F", "F", "M", "M", None]


def test_days_and_missing_values_are_keys_of_boxes() -> None:
    release = generalized(table(), GROUPS)
    days = release.query("SELECT day, COUNT(*) FROM t GROUP BY day")
    assert [key for (key,) in days.keys] == ROWS["day"]
    assert [answer.hi for (answer,) in days.answers] == [3] * 6
    sexes = release.query("SELECT sex, COUNT(*) FROM t WHERE disease = 'cold' GROUP BY sex")
    assert sexes.keys == (("F",), ("M",), (None,))


@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        ("d = 'cafe\u0301'", 6),
        ("d = 'flu '", 6),
        ("d <> ' flu'", 6),
        ("d IN ('fl\u200bu', 'caf\u00e9')", 12),
        ("d = ' '", 0),
        ("i = 'x '", 6),
    ],
)
def test_values_are_read_like_those_of_columns(condition: str, rows: int, tmp_path: Path) -> None:
    """What stands in the owner's file must find its rows, however it is spelled there."""
    spelled = ["caf\u00e9", "cafe\u0301", "flu ", "flu"] * 3
    columns = {"a": [1, 2, 3, 4] * 3, "d": spelled, "i": ["x", " x", "y", "y "] * 3}
    schema = sf.Schema(quasi=["a"], sensitive="d", insensitive=["i"])
    data = sf.Microdata.from_arrow(pa.table(columns), schema)
    sources: list[Any] = [data, sf.publish(data, sf.Anatomize(), sf.LDiversity(2))]
    if not condition.startswith("i"):
        sources.append(sf.StatDB.create(tmp_path / "db", data, m=2))
    for source in sources:
        found = source.count(condition)
        assert (found.lo, found.hi) == (rows, rows)


def test_case_decides_between_columns_also_if_one_cannot_be_asked() -> None:
    columns = {"a": [1, 2, 3, 4], "A": [[1], [2], None, [4]], "d": ["x", "y"] * 2}
    schema = sf.Schema(quasi=["a"], sensitive="d", insensitive=["A"])
    data = sf.Microdata.from_arrow(pa.table(columns), schema)
    anatomy = sf.publish(data, sf.Anatomize(), sf.LDiversity(2))
    boxes = sf.publish(data, sf.Mondrian(), sf.KAnonymity(2))
    for source in (data, anatomy, boxes):
        assert source.count("a IS NULL").hi == 0
        with pytest.raises(QueryRefused, match=r"'A' holds list<.*>, which cannot be asked"):
            source.count('"A" IS NULL')


def test_a_result_with_one_answer_gives_it() -> None:
    assert table().query("SELECT COUNT(*) FROM t").answer == sf.Answer(6.0, 6, 6)
    with pytest.raises(sf.errors.ParameterError, match="several answers"):
        _ = table().query("SELECT COUNT(*), MIN(age) FROM t").answer


def test_nothing_qualifies_or_perhaps_nothing() -> None:
    release = generalized(table(), GROUPS)
    none = release.query("SELECT AVG(age), MIN(age), SUM(age), COUNT(*) FROM t WHERE age > 99")
    assert [answer.lo for answer in none.answers[0]] == [None, None, None, 0]
    assert none.table.to_pylist()[0]["avg_age_estimate"] is None
    perhaps = release.query("SELECT AVG(age) FROM t WHERE age = 25").answer
    assert perhaps == sf.Answer(25.0, 25.0, 25.0, nullable=True)


@pytest.mark.parametrize(
    ("text", "position", "said"),
    [
        ("SELECT cost, COUNT(*) FROM t GROUP BY cost", 39, "always others"),
        ("SELECT COUNT(*) FROM t WHERE agee = 3", 30, "did you mean 'age'"),
        ("SELECT AVG(sex) FROM t", 12, "AVG needs numbers"),
        ("SELECT COUNT(*) FROM t WHERE age = 'old'", 36, "whole numbers"),
    ],
)
def test_refusals_while_answering_have_a_place(text: str, position: int, said: str) -> None:
    boxes = generalized(microdata(ROWS, sensitive=["disease"]), GROUPS)
    with pytest.raises(QueryRefused, match=said) as refused:
        boxes.query(text)
    assert refused.value.position == position


def test_too_many_groups_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "MAX_COMPUTED", 5)
    assert len(table().query("SELECT COUNT(*) FROM t GROUP BY age")) == 6
    with pytest.raises(QueryRefused, match="more than 5 groups, the most for anything but COUNT"):
        table().query("SELECT AVG(cost) FROM t GROUP BY age")
    monkeypatch.setattr(groups, "MAX_KEYS", 5)
    with pytest.raises(QueryRefused, match="more than 5 groups"):
        table().query("SELECT COUNT(*) FROM t GROUP BY age")


def test_wide_ranges_cannot_be_listed() -> None:
    release = generalized(microdata({"v": [0, 10**9], "d": ["a", "b"]}, sensitive=["d"]), [0, 0])
    with pytest.raises(QueryRefused, match="1,000,000,001 groups"):
        release.query("SELECT v, COUNT(*) FROM t GROUP BY v")
    assert release.query("SELECT d, COUNT(*) FROM t WHERE d = 'x' GROUP BY d").keys == ()


def test_times_are_compared_and_averaged_by_length() -> None:
    start = datetime(2024, 1, 1)
    rows = {"at": [start, start + timedelta(hours=4)], "s": ["x", "y"]}
    release = generalized(microdata(rows, sensitive=["s"]), [0, 0])
    found = release.count("at < '2024-01-01 01:00:00'")
    assert (found.estimate, found.lo, found.hi) == (0.5, 0, 2)
    latest = release.query("SELECT MAX(at), MIN(at) FROM t WHERE at > '2024-01-01 03:00:00'")
    assert latest.answers[0][0].hi == start + timedelta(hours=4)
    assert latest.answers[0][1].lo == start + timedelta(hours=3)


def test_large_numbers_and_small_fractions_stay_within_their_bounds() -> None:
    random = np.random.default_rng(3)
    rows = {"x": random.random(500) * 1e-3 + 1e9, "g": np.arange(500), "s": ["a", "b"] * 250}
    data = microdata(rows, quasi=["x", "g"], sensitive=["s"])
    for release in (anatomized(data, (np.arange(500) // 10).tolist()),
                    generalized(data, (np.arange(500) // 10).tolist(), means=["x"])):  # fmt: skip
        for where in ("", "WHERE s = 'a'", "WHERE g < 77", "WHERE g < 77 AND s = 'b'"):
            text = f"SELECT SUM(x), AVG(x), MIN(x), MAX(x) FROM t {where}"
            both = zip(data.query(text).answers[0], release.query(text).answers[0], strict=True)
            for true, found in both:
                assert true.exact
                assert true.lo in found


def test_the_prepared_form_goes_when_the_release_does() -> None:
    source = table()
    source.count()
    before = len(ask._prepared)
    del source
    assert len(ask._prepared) == before - 1
