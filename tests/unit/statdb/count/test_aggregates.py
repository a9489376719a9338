"""SUM, AVG, MIN and MAX: groups, refusals, canonical form, kinds of values."""

from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.answers.value_bounds import Choices
from sfumato.errors import QueryRefused
from sfumato.statdb import Responder
from sfumato.statdb.layout.making import Framework
from tests.support.statdb import buckets_of
from tests.support.tables import microdata

FRAMEWORKS = ["anatomy", "generalization"]
ALL = "SUM(salary), AVG(salary), MIN(salary), MAX(salary)"


def table(n: int = 600, **described: Any) -> sf.Microdata:
    generator = np.random.default_rng(n)
    salary = generator.integers(-2, 9, n) * 100
    columns = {
        "age": generator.integers(18, 80, n),
        "city": [("Ulm", "Bonn", "Kiel", None)[i] for i in generator.integers(0, 4, n)],
        "height": [None if i % 9 == 0 else 150 + i % 50 for i in range(n)],
        "salary": [None if i % 17 == 0 else int(one) for i, one in enumerate(salary)],
    }
    return microdata(columns, sensitive=["salary"], **described)


def database(framework: Framework = "anatomy", cohort: int | None = None) -> Responder:
    return Responder.create(table(), m=4, cohort=cohort, framework=framework, seed=1)


@pytest.fixture(scope="module")
def responder() -> Responder:
    return database()


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("condition", ["", "WHERE salary > 0", "WHERE salary IN (-100, 300)"])
def test_conditions_on_salaries_alone_are_exact(framework: Framework, condition: str) -> None:
    query = f"SELECT {ALL}, COUNT(salary) FROM t {condition}"
    found, truth = database(framework).query(query), table().query(query)
    for one, other in zip(found.answers[0], truth.answers[0], strict=True):
        assert one.exact
        assert one == other


@pytest.mark.parametrize("framework", FRAMEWORKS)
@pytest.mark.parametrize("cohort", [1, 8, 16, None])
def test_intervals_contain_the_truth_in_every_layout(
    framework: Framework, cohort: int | None
) -> None:
    responder, people = database(framework, cohort), table()
    for low in range(10, 80, 7):
        query = f"SELECT {ALL} FROM t WHERE age BETWEEN {low} AND {low + 20} AND salary < 700"
        for one, other in zip(
            responder.query(query).answers[0], people.query(query).answers[0], strict=True
        ):
            assert one.lo <= other.lo <= one.hi
            assert one.lo <= one.estimate <= one.hi


def test_lanes_and_segments_tally_the_same() -> None:
    """Cohorts of a byte are counted all at once, of 16 groups one by one: sums show both."""
    generator = np.random.default_rng(5)
    people = microdata(
        {"age": generator.integers(0, 90, 9000), "salary": generator.integers(0, 9, 9000)},
        sensitive=["salary"],
    )
    for cohort in (1, 2, 3, 8, 16, 64, None):
        responder = Responder.create(people, m=3, cohort=cohort, seed=1)
        found = responder.query("SELECT SUM(salary) FROM t WHERE age < 30").answer
        lo, hi = plain_sum(responder, 30)
        assert (found.lo, found.hi) == (lo, hi)


def plain_sum(responder: Responder, below: int) -> tuple[int, int]:
    """From the betas: the q smallest and the q largest values of every group."""
    buckets = buckets_of(responder)
    inside = np.zeros(buckets.n_places, np.bool_)
    inside[responder.stored.occupied()] = responder.table().codes["age"] < below
    lo = hi = 0
    for b in range(buckets.n_buckets):
        values = np.array(responder.axes["salary"].line)[list(buckets.signature(b))]
        for k in range(int(buckets.cohorts[b])):
            places = buckets.segments(b, k)
            for q in (np.sort(~inside[places], axis=1) == 0).sum(axis=0).tolist():
                lo += int(values[:q].sum())
                hi += int(values[len(values) - q :].sum())
    return lo, hi


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("age BETWEEN 30 AND 40", "age >= 30 AND age < 41"),
        ("city IN ('Ulm', 'Bonn')", "city = 'Bonn' OR city = 'Ulm'"),
        ("salary >= 100", "salary IN (100, 200, 300, 400, 500, 600, 700, 800, 12345)"),
        ("age < 30 AND salary < 0", "salary <= -100 AND NOT age >= 30"),
        ("age <= 200", "salary IS NULL OR salary IS NOT NULL"),
    ],
)
def test_equal_meaning_gives_the_identical_answer(
    responder: Responder, one: str, other: str
) -> None:
    for condition in (one, other):
        assert responder.query(f"SELECT {ALL} FROM t WHERE {condition}").answers == (
            responder.query(f"SELECT {ALL} FROM t WHERE {one}").answers
        )


def test_a_sum_of_ones_is_a_count() -> None:
    """The two have the same version, so for equal values the same interval and estimate."""
    generator = np.random.default_rng(3)
    people = microdata(
        {"age": generator.integers(18, 80, 300), "salary": generator.integers(0, 6, 300)},
        sensitive=["salary"],
    )
    for framework in ("anatomy", "generalization"):
        responder = Responder.create(people, m=3, cohort=5, framework=framework, seed=1)
        where = "age BETWEEN 30 AND 45 AND salary = 1"
        count = responder.count(where)
        found = responder.query(f"SELECT SUM(salary) FROM t WHERE {where}").answer
        assert (found.lo, found.hi) == (count.lo, count.hi)
        assert found.estimate == pytest.approx(count.estimate)


def test_group_by_has_empty_groups_and_types_of_the_schema(responder: Responder) -> None:
    found = responder.query(
        "SELECT city, SUM(salary) AS s, AVG(salary) AS a, MIN(salary) AS m FROM t "
        "WHERE age < 18 GROUP BY city"
    )
    assert [line[0] for line in found] == ["Bonn", "Kiel", "Ulm", None]
    for answers in found.answers:
        assert all(one.lo is None and one.nullable for one in answers)
    kinds = {name: found.table.schema.field(name).type for name in found.table.column_names}
    assert (kinds["s_lo"], kinds["a_lo"], kinds["m_lo"]) == (pa.int64(), pa.float64(), pa.int64())
    by_salary = responder.query("SELECT SUM(salary) FROM t WHERE age < 40 GROUP BY salary")
    for (salary,), (one,) in zip(by_salary.keys, by_salary.answers, strict=True):
        if salary is None:
            assert one.lo is None
            continue
        count = responder.count(f"age < 40 AND salary = {salary}")
        assert {one.lo, one.hi} == {salary * count.lo, salary * count.hi}


def test_nothing_qualifies(responder: Responder) -> None:
    for where in ("age = 200", "salary = 12345", "salary IS NULL", "city = 'Paris'"):
        for one in responder.query(f"SELECT {ALL} FROM t WHERE {where}").answers[0]:
            assert (one.estimate, one.lo, one.hi, one.nullable) == (None, None, None, True)
    boxes = database("generalization")
    assert boxes.query("SELECT SUM(salary) FROM t WHERE age = 200").answer.lo is None


def test_possibly_no_row_qualifies(responder: Responder) -> None:
    found = responder.query(f"SELECT {ALL} FROM t WHERE age = 30 AND city = 'Ulm'").answers[0]
    assert all(one.nullable for one in found)
    assert found[2].lo == found[3].lo < found[2].hi == found[3].hi


@pytest.mark.parametrize(
    ("framework", "query", "said"),
    [
        ("anatomy", "SELECT SUM(age) FROM t", "SUM is answered of the sensitive"),
        ("anatomy", "SELECT MIN(age) FROM t WHERE age = 200", "'age' is a quasi"),
        ("generalization", "SELECT salary, AVG(age) FROM t GROUP BY salary", "AVG is answered"),
        ("generalization", "SELECT SUM(salary) FROM t WHERE age IN (30, 40)", "neighbours"),
        ("anatomy", "SELECT SUM(city) FROM t", "needs numbers"),
        ("anatomy", "SELECT SUM(salary), AVG(salary) FROM t GROUP BY age, city, height", "500"),
    ],
)
def test_refusals_depend_on_query_and_schema(framework: Framework, query: str, said: str) -> None:
    with pytest.raises(QueryRefused, match=said) as refusal:
        database(framework).query(query)
    assert refusal.value.position is not None


def test_dates_have_a_first_and_a_last() -> None:
    days = [date(2020, 1, 1 + i % 7) for i in range(70)]
    people = microdata({"age": [i % 30 for i in range(70)], "day": days}, sensitive=["day"])
    dated = Responder.create(people, m=3, cohort=None, seed=1)
    found = dated.query("SELECT MIN(day), MAX(day) FROM t WHERE age < 10")
    for one in found.answers[0]:
        assert isinstance(one.lo, date)
        assert days[0] <= one.lo <= one.hi <= days[6]
    assert found.types == (pa.date32(), pa.date32())
    with pytest.raises(QueryRefused, match="needs numbers"):
        dated.query("SELECT SUM(day) FROM t")


def test_sums_are_rounded_once() -> None:
    values = np.array([0.1, 1e16])
    counts, ones = np.array([10, 3]), np.ones(2)
    sizes = np.array([13])
    found = Choices(values, values, values, ones, counts, np.array([0, 2]), sizes, sizes)
    assert float(found.sum_of_all()) == 3e16
    assert found.decided
