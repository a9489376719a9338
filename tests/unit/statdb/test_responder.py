"""Questions to the responder: refusals, groups, canonical form, what is stored."""

from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.core.partition import Partition
from sfumato.errors import Infeasible, ParameterError, QueryRefused, SchemaError
from sfumato.statdb import Responder
from sfumato.statdb.baselines import (
    random_perturbation,
    result_intervals,
    static_anatomy,
    static_generalization,
)
from sfumato.statdb.layout.layout import Layout
from tests.support.statdb import buckets_of
from tests.support.tables import microdata


def table(n: int = 400, **described: Any) -> sf.Microdata:
    generator = np.random.default_rng(n)
    columns = {
        "name": [f"p{i}" for i in range(n)],
        "age": generator.integers(18, 80, n),
        "city": [("Ulm", "Bonn", "Kiel", None)[i] for i in generator.integers(0, 4, n)],
        "disease": [f"d{i}" for i in generator.integers(0, 8, n)],
    }
    return microdata(
        columns, quasi=["age", "city"], sensitive=["disease"], identifiers=["name"], **described
    )


@pytest.fixture(scope="module")
def responder() -> Responder:
    return Responder.create(table(), m=4, first="signatures", seed=1)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("age BETWEEN 30 AND 40", "age >= 30 AND age < 41"),
        ("age > 29.5 AND age <= 40", "40 >= age AND age >= 30"),
        ("city IN ('Ulm', 'Bonn')", "city = 'Bonn' OR city = 'Ulm'"),
        ("city = 'Ulm' AND age < 30", "age < 30 AND city IN ('Ulm', 'Paris')"),
        ("age <= 200", ""),
        ("CITY IS NULL", "city is null"),
    ],
)
def test_equal_meaning_gives_the_identical_answer(
    responder: Responder, one: str, other: str
) -> None:
    assert responder.count(one) == responder.count(other)


def test_no_condition_and_one_side_only_are_exact(responder: Responder) -> None:
    assert responder.count().exact
    assert responder.count().lo == 400
    for condition in ("age < 50", "city IS NULL", "disease = 'd1'"):
        assert responder.count(condition).lo == table().count(condition).lo
        assert responder.count(condition).exact


@pytest.mark.parametrize(
    "condition", ["city = 'Paris'", "age BETWEEN 50 AND 40", "disease = 'none'", "age = 17.5"]
)
def test_what_the_domain_lacks_is_an_empty_range(responder: Responder, condition: str) -> None:
    found = responder.count(condition)
    assert (found.estimate, found.lo, found.hi) == (0, 0, 0)


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("name = 'p1'", "identifier"),
        ("height > 3", "no column"),
        ("age = 'old'", "whole numbers"),
        ("age BETWEEN 1 AND 2 GROUP BY city", "cannot stand"),
    ],
)
def test_refusals(responder: Responder, condition: str, said: str) -> None:
    with pytest.raises(QueryRefused, match=said) as refusal:
        responder.count(condition)
    assert refusal.value.position is not None


def test_boxes_answer_ranges_only() -> None:
    boxes = Responder.create(table(), m=4, framework="generalization", seed=1)
    assert boxes.count("age IN (30, 31, 32)") == boxes.count("age BETWEEN 30 AND 32")
    with pytest.raises(QueryRefused, match="neighbours"):
        boxes.count("age IN (30, 40)")
    with pytest.raises(QueryRefused, match="neighbours"):
        boxes.version("age IN (30, 40)")
    assert boxes.count("age = 200").hi == 0
    assert boxes.count().exact


def test_group_by_shows_the_whole_public_domain() -> None:
    orders = {"disease": [f"d{i}" for i in range(10)]}
    database = Responder.create(table(orders=orders), m=4, seed=1)
    found = database.query("SELECT disease, COUNT(*) FROM t WHERE age < 19 GROUP BY disease")
    assert [key for key, _ in found] == orders["disease"]
    assert found.answers[9][0].hi == 0
    cities = database.query(
        "SELECT city, COUNT(*) AS n, COUNT(city) AS known FROM t WHERE disease = 'd1' GROUP BY city"
    )
    assert [line[0] for line in cities] == ["Bonn", "Kiel", "Ulm", None]
    for city, n, known in cities:
        where = "city IS NULL" if city is None else f"city = '{city}'"
        assert n == database.count(f"{where} AND disease = 'd1'")
        assert known == (n if city else sf.Answer(0.0, 0, 0))
    both = database.query("SELECT COUNT(*) FROM t WHERE age < 21 GROUP BY age, city")
    assert len(both) == 3 * 4
    assert both.table.num_rows == 12


def test_other_aggregates_are_refused(responder: Responder) -> None:
    with pytest.raises(QueryRefused, match="AVG"):
        responder.query("SELECT AVG(age) FROM t")
    with pytest.raises(QueryRefused, match="how many rows"):
        responder.count(sf.Query(by=["city"]))


def test_workloads(responder: Responder) -> None:
    queries = sf.dynamic_workload(table(), queries=20, seed=3)
    together = responder.counts(queries)
    alone = [responder.count(query) for query in queries]
    assert together.lo.tolist() == [one.lo for one in alone]
    assert together.hi.tolist() == [one.hi for one in alone]


def test_arrays_under_names_make_the_same_database(responder: Responder) -> None:
    named = {name: array.copy() for name, array in responder.stored.named().items()}
    again = Responder(
        responder.schema,
        responder.attributes,
        responder.m,
        responder.cohort,
        "anatomy",
        Layout.of_named(named),
    )
    condition = "age < 40 AND disease = 'd3'"
    assert again.count(condition) == responder.count(condition)
    assert "disease" not in {name.partition(".")[2] for name in named}
    assert not any("name" in name for name in named)


def test_the_secret_is_not_shown(responder: Responder) -> None:
    assert repr(responder) == (
        "Responder(400 rows, m=4, cohort=8, framework='anatomy', "
        f"{buckets_of(responder).n_buckets:,} buckets)"
    )


def test_seeds_repeat_and_secrets_do_not() -> None:
    condition = "age < 40 AND disease = 'd3'"
    seeded = {Responder.create(table(), m=4, seed=s).count(condition) for s in (5, 5)}
    assert len(seeded) == 1
    secret = [Responder.create(table(), m=4).stored.codes["age"].tolist() for _ in range(2)]
    assert secret[0] != secret[1]


@pytest.mark.parametrize(
    ("options", "parameter"),
    [
        ({"m": 1}, "m"),
        ({"m": 2.5}, "m"),
        ({"m": 4, "cohort": 0}, "cohort"),
        ({"m": 4, "first": "random"}, "first"),
        ({"m": 4, "framework": "noise"}, "framework"),
        ({"m": 4, "first": Partition.of(np.zeros(400, np.int32))}, "partition"),
    ],
)
def test_bad_parameters(options: dict[str, Any], parameter: str) -> None:
    with pytest.raises(ParameterError) as refusal:
        Responder.create(table(), **options)
    assert refusal.value.parameter == parameter


def test_infeasible_m_names_the_value_and_the_largest() -> None:
    people = microdata({"age": range(10), "d": ["a"] * 4 + list("bbccde")}, sensitive=["d"])
    with pytest.raises(Infeasible, match="'a' is the value of 4 of 10") as refusal:
        Responder.create(people, m=3)
    assert (refusal.value.value, refusal.value.largest) == ("a", 2)
    assert Responder.create(people, m=2).n_rows == 10
    alike = microdata({"age": range(10), "d": ["a"] * 10}, sensitive=["d"])
    with pytest.raises(Infeasible, match="no m hides") as refusal:
        Responder.create(alike, m=2)
    assert refusal.value.largest == 1


def test_one_sensitive_column_with_values_that_repeat() -> None:
    two = microdata({"age": [1, 2], "a": [1, 2], "b": [1, 2]}, sensitive=["a", "b"])
    with pytest.raises(SchemaError, match="one sensitive column"):
        Responder.create(two, m=2)
    with pytest.raises(SchemaError, match="continuous"):
        Responder.create(microdata({"age": [1, 2], "a": [0.5, 1.5]}, sensitive=["a"]), m=2)


def test_baselines_answer_the_same_questions() -> None:
    people = table(2000)
    queries = sf.dynamic_workload(people, queries=30, dimensionality=1, length=0.3, seed=3)
    truth = people.counts(queries).lo
    dynamic = result_intervals(Responder.create(people, m=4, cohort=None, seed=1), queries)
    still = result_intervals(static_anatomy(people, 4, seed=1), queries)
    boxes = result_intervals(static_generalization(people, 4, seed=1), queries)
    noise = result_intervals(random_perturbation(people, 4, seed=1), queries)
    for found in (dynamic, still, boxes):
        assert ((found.lo <= truth) & (truth <= found.hi)).all()
    assert dynamic.lengths.mean() < still.lengths.mean()
    assert ((noise.lo <= truth) & (truth <= noise.hi)).mean() > 0.4
