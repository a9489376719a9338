"""The papers' random queries: shapes, chance, refusals."""

import math
from typing import Any

import pytest

from sfumato.core.microdata import Microdata
from sfumato.core.predicates import Both, Compare, Missing, OneOf, Predicate, between, one_of
from sfumato.core.query import COUNT, Query
from sfumato.errors import ParameterError, SchemaError
from sfumato.queries.binding import bind
from sfumato.queries.columns import Catalog
from sfumato.queries.workloads import anatomy_workload, dynamic_workload, range_workload
from tests.support.tables import microdata

SIZES = {"a": 40, "b": 2, "c": 17, "d": 25}
GRADES = ["low", "middle", "high"]


def table(sensitive: str | tuple[str, ...] = "d") -> Microdata:
    rows = {name: [i % size for i in range(200)] for name, size in SIZES.items()}
    rows["c"] = [None if value == 0 else value for value in rows["c"]]  # type: ignore[misc]
    named = (sensitive,) if isinstance(sensitive, str) else sensitive
    return microdata(rows, sensitive=named)


def mixed() -> Microdata:
    """A number with gaps, an unordered word, a declared order, and nothing at all."""
    return microdata(
        {
            "number": [10 * (i % 20) for i in range(60)],
            "word": [f"w{i % 10}" for i in range(60)],
            "grade": [GRADES[i % 3] for i in range(60)],
            "gone": [None] * 60,
            "s": [i % 30 for i in range(60)],
        },
        sensitive=["s"],
        orders={"grade": GRADES},
    )


def listed(predicate: Predicate) -> frozenset[Any]:
    """The values of a list, None for missing."""
    parts = [predicate] if isinstance(predicate, OneOf | Missing) else None
    if parts is None:
        parts = [predicate.first, predicate.second]  # type: ignore[attr-defined]
    return frozenset().union(*(p.values if isinstance(p, OneOf) else {None} for p in parts))


def wanted(of: Microdata, name: str, predicate: Predicate) -> list[Any]:
    """The values of a column that satisfy a predicate, in the order of their codes."""
    values = bind(Query({name: predicate}), Catalog.of_table(of)).where[name]
    assert not values.missing
    return [value for value in of.attributes[name].values.to_pylist() if values.holds(value)]


@pytest.mark.parametrize(("qd", "s"), [(1, 0.05), (2, 0.01), (3, 0.1), (3, 1.0)])
def test_queries_have_the_shape_of_equation_14(qd: int, s: float) -> None:
    queries = anatomy_workload(table(), queries=200, dimensionality=qd, selectivity=s, seed=1)
    assert len(queries) == 200
    for query in queries:
        assert (query.select, query.by) == ((COUNT,), ())
        assert len(query.where) == qd + 1
        assert "d" in query.where
        for name, predicate in query.where.items():
            assert len(listed(predicate)) == math.ceil(SIZES[name] * s ** (1 / (qd + 1)))


def test_the_random_stream_of_the_published_experiments() -> None:
    """Experiments and their printed results depend on it."""
    query = anatomy_workload(table(), queries=2, dimensionality=2, selectivity=0.001, seed=7)[1]
    assert query.where == {
        "a": one_of([6, 19, 25, 28]),
        "b": one_of([0]),
        "d": one_of([2, 10, 11]),
    }


def test_attributes_and_values_are_all_chosen_some_time() -> None:
    queries = anatomy_workload(table(), queries=300, dimensionality=1, seed=2)
    chosen = [next(iter(set(query.where) - {"d"})) for query in queries]
    assert {name: chosen.count(name) > 60 for name in "abc"} == dict.fromkeys("abc", True)
    missing = [None in listed(query.where["c"]) for query in queries if "c" in query.where]
    assert any(missing)
    assert not all(missing)


def test_a_whole_root_is_not_rounded_up() -> None:
    # 0.001 ** (1 / 3) is 0.10000000000000002 in floating point
    rows = {"a": list(range(50)), "b": list(range(50)), "d": list(range(50))}
    query = anatomy_workload(
        microdata(rows, sensitive=["d"]), queries=1, dimensionality=2, selectivity=0.001, seed=0
    )[0]
    assert {len(listed(wanted)) for wanted in query.where.values()} == {5}


@pytest.mark.parametrize(("lam", "ql"), [(1, 0.06), (2, 0.06), (3, 0.25), (3, 1.0)])
def test_intervals_have_the_length_of_section_9(lam: int, ql: float) -> None:
    data = table()
    for query in dynamic_workload(data, queries=80, dimensionality=lam, length=ql, seed=1):
        assert len(query.where) == lam + 1
        assert "d" in query.where
        for name, predicate in query.where.items():
            assert isinstance(predicate, Both)
            values = data.attributes[name].values.to_pylist()
            found = wanted(data, name, predicate)
            assert len(found) == math.ceil(ql * len(values))
            first = values.index(found[0])
            assert found == values[first : first + len(found)]


def test_every_place_of_an_interval_is_chosen_some_time() -> None:
    queries = dynamic_workload(table(), queries=400, dimensionality=3, length=0.9, seed=1)
    starts = {query.where["d"].first.value for query in queries}  # type: ignore[attr-defined]
    assert starts == {0, 1, 2}  # 23 of 25 values


def test_intervals_follow_whatever_order_there_is() -> None:
    data = mixed()
    for query in dynamic_workload(data, queries=50, dimensionality=4, length=0.2, seed=3):
        number = wanted(data, "number", query.where["number"])
        assert len(number) == 4
        assert max(number) - min(number) == 30
        words = sorted(listed(query.where["word"]))
        assert words in [[f"w{i}", f"w{i + 1}"] for i in range(9)]
        (grade,) = wanted(data, "grade", query.where["grade"])
        assert query.where["grade"] == between(grade, grade)
        assert query.where["gone"] == OneOf([])


@pytest.mark.parametrize(("share", "names"), [(0.1, None), (0.02, ["a", "c"]), (1.0, ["b"])])
def test_boxes_span_their_share(share: float, names: list[str] | None) -> None:
    data = table()
    quasi = names or ["a", "b", "c"]
    lengths = {"a": 40, "b": 2, "c": 16}
    for query in range_workload(data, queries=30, share=share, attributes=names, seed=1):
        assert list(query.where) == quasi
        for name, predicate in query.where.items():
            nearest = max(1, round(lengths[name] * share ** (1 / len(quasi))))
            assert len(wanted(data, name, predicate)) == nearest


def test_boxes_are_of_comparisons_and_lists() -> None:
    (query,) = range_workload(mixed(), queries=1, attributes=["number", "word"], seed=1)
    number = query.where["number"]
    assert isinstance(number, Both)
    assert isinstance(number.first, Compare)
    assert isinstance(query.where["word"], OneOf)


def test_the_seed_decides() -> None:
    for made in (
        [anatomy_workload(table(), queries=5, dimensionality=2, seed=seed) for seed in (3, 3, 4)],
        [dynamic_workload(table(), queries=5, seed=seed) for seed in (3, 3, 4)],
        [range_workload(table(), queries=5, seed=seed) for seed in (3, 3, 4)],
    ):
        once, again, other = made
        assert once == again
        assert once != other


@pytest.mark.parametrize(
    ("make", "wrong", "parameter"),
    [
        (anatomy_workload, {"dimensionality": 0}, "dimensionality"),
        (anatomy_workload, {"dimensionality": 4}, "dimensionality"),
        (anatomy_workload, {"dimensionality": 1, "selectivity": 0.0}, "selectivity"),
        (anatomy_workload, {"dimensionality": 1, "selectivity": 1.1}, "selectivity"),
        (anatomy_workload, {"dimensionality": 1, "queries": -1}, "queries"),
        (anatomy_workload, {"dimensionality": 1, "sensitive": "a"}, "sensitive"),
        (dynamic_workload, {"dimensionality": 4}, "dimensionality"),
        (dynamic_workload, {"length": 0.0}, "length"),
        (dynamic_workload, {"queries": -1}, "queries"),
        (dynamic_workload, {"sensitive": "a"}, "sensitive"),
        (range_workload, {"share": 1.5}, "share"),
        (range_workload, {"queries": -1}, "queries"),
        (range_workload, {"attributes": []}, "attributes"),
        (range_workload, {"attributes": ["a", "d"]}, "attributes"),
    ],
)
def test_bad_parameters_are_named(make: Any, wrong: dict[str, Any], parameter: str) -> None:
    with pytest.raises(ParameterError) as raised:
        make(table(), **wrong)
    assert raised.value.parameter == parameter


def test_the_sensitive_attribute_must_be_clear() -> None:
    for make in (anatomy_workload, dynamic_workload):
        with pytest.raises(SchemaError, match="sensitive"):
            make(table(()), dimensionality=1)
        two = table(("d", "c"))
        with pytest.raises(ParameterError, match="name one of d, c"):
            make(two, dimensionality=1)
        query = make(two, queries=1, dimensionality=1, sensitive="c")[0]
        assert "c" in query.where
    assert len(range_workload(table(()), queries=2)[0].where) == 4
