"""Mondrian for a workload: where it cuts, what it states, what it refuses."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato.algorithms.mondrian.workload as module
from sfumato.algorithms.base import describe
from sfumato.algorithms.mondrian import Mondrian
from sfumato.algorithms.mondrian.arrays import axes_of
from sfumato.algorithms.mondrian.workload import asked_of, wanted_in
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.core.predicates import Compare, Missing, Predicate, at_least, at_most, between
from sfumato.core.query import Query
from sfumato.core.randomness import Randomness
from sfumato.errors import ParameterError, QueryRefused
from sfumato.models.anonymity import KAnonymity
from sfumato.models.diversity import DistinctLDiversity
from sfumato.queries.binding import bind
from sfumato.queries.columns import Catalog
from sfumato.queries.workloads import range_workload
from sfumato.verbs import publish
from tests.support.models import InPython, needs_of
from tests.support.strategies import tables, workloads
from tests.support.tables import groups_of, microdata


def divided(
    table: Microdata, model: Any, workload: Sequence[Query] = (), **options: Any
) -> Partition:
    algorithm = Mondrian(workload=workload, **options)
    return algorithm.partition(table, needs_of(model, table), Randomness(0))


def rows_in_doubt(table: Microdata, found: Partition, query: Query) -> int:
    """Rows of groups of which a query wants some and not others."""
    where = bind(query, Catalog.of_table(table)).where
    wants: list[list[bool]] = [[] for _ in range(table.n_rows)]
    for name, values in where.items():
        attribute = table.attributes[name]
        for row, value in enumerate(attribute.decode(table.codes[name]).to_pylist()):
            wants[row].append(values.holds(value))
    verdicts = {
        frozenset(rows): {all(wants[row]) for row in rows} for rows in groups_of(found.groups)
    }
    return sum(len(rows) for rows, seen in verdicts.items() if len(seen) > 1)


def crowd() -> Microdata:
    rng = np.random.default_rng(5)
    n = 600
    return microdata(
        {
            "age": [None if age == 20 else age for age in rng.integers(20, 80, n).tolist()],
            "job": rng.choice(["clerk", "cook", "judge", "nurse", "smith"], n),
            "grade": rng.choice(["low", "middle", "high", "top"], n),
            "disease": rng.choice(["flu", "cold", "gout"], n),
        },
        sensitive=["disease"],
        orders={"grade": ["low", "middle", "high", "top"]},
    )


@pytest.mark.parametrize(
    "where",
    [
        {"age": between(33, 47)},
        {"age": at_most(41), "job": ["cook", "smith"]},
        {"age": Missing() | at_least(70)},
        {"age": [21, 25, 33, 60]},
        {"grade": at_most("middle")},
        {"grade": Compare("<>", "middle")},  # letter by letter this is two ranges
        {"job": at_least("judge")},
        {"job": ["clerk", "nurse", "nobody"], "grade": ["low", "high"]},
    ],
    ids=str,
)
@pytest.mark.parametrize("plain", [False, True])
def test_one_query_is_cut_out(where: dict[str, Predicate], plain: bool) -> None:
    """At k = 2 nothing stands in the way of cutting exactly where the query does."""
    table = crowd()
    query = Query({**where, "disease": ["flu"]})
    model: Any = InPython(KAnonymity(2)) if plain else KAnonymity(2)
    asked = Query({name: query.where[name] for name in where})
    assert rows_in_doubt(table, divided(table, KAnonymity(8)), asked) > 0
    assert rows_in_doubt(table, divided(table, model, [query]), asked) == 0


def test_a_range_that_nobody_is_in_is_cut_around() -> None:
    """No row is wanted, but the box from 1 to 9 would say that some may be."""
    table = microdata({"x": [1] * 4 + [2] * 4 + [9] * 4})
    found = divided(table, KAnonymity(4), [Query({"x": between(4, 6)})])
    assert groups_of(found.groups) == {frozenset(range(first, first + 4)) for first in (0, 4, 8)}
    one = divided(table, KAnonymity(6), [Query({"x": between(4, 6)})])
    assert one.n_groups == 1  # the only serving cut leaves four rows


def test_weights_decide_between_queries() -> None:
    table = microdata({"x": [0, 0, 1, 1] * 3, "y": [0, 1] * 6})
    workload = [Query({"x": [0]}), Query({"y": [0]})]
    for weights, name in (((3, 1), "x"), ((1, 3), "y")):
        found = divided(table, KAnonymity(4), workload, weights=weights)
        codes = table.codes[name]
        assert all(len({codes[row] for row in rows}) == 1 for rows in groups_of(found.groups))
        assert found.n_groups == 2


def test_rare_rows_count_more_than_frequent_ones() -> None:
    """Both queries would gain as many rows; relative to its answer the first one gains more."""
    table = microdata({"x": [0] * 4 + [1] * 12, "y": [0] * 12 + [1] * 4})
    found = divided(table, KAnonymity(4), [Query({"x": [0]}), Query({"y": [0]})])
    assert frozenset(range(4)) in groups_of(found.groups)


@pytest.mark.parametrize(
    "workload", [[], [Query()], [Query({"disease": ["flu"]})], [Query({"age": at_most(500)})]]
)
def test_what_serves_nobody_changes_nothing(workload: list[Query]) -> None:
    table = microdata(
        {"age": list(range(40)), "sex": ["f", "m"] * 20, "disease": ["flu", "cold"] * 20},
        sensitive=["disease"],
    )
    usual, found = divided(table, KAnonymity(3)), divided(table, KAnonymity(3), workload)
    assert groups_of(found.groups) == groups_of(usual.groups)


def test_sensitive_values_are_merged_only_for_the_model() -> None:
    """Queries are bound to the table as it is: 5.5 is no class of merged incomes."""
    rng = np.random.default_rng(1)
    incomes = np.round(rng.random(3000) * 1e6, 2)
    table = microdata({"x": rng.integers(0, 50, 3000), "income": incomes}, sensitive=["income"])
    query = Query({"x": at_most(17), "income": at_most(5.5)})
    found = divided(table, DistinctLDiversity(3), [query])
    assert rows_in_doubt(table, found, Query({"x": at_most(17)})) == 0


def test_a_workload_is_served_far_better() -> None:
    table = crowd()
    workload = range_workload(table, queries=20, share=0.1, attributes=["age", "job"], seed=3)
    usual = divided(table, KAnonymity(10))
    served = divided(table, KAnonymity(10), workload)
    doubts = [
        sum(rows_in_doubt(table, found, query) for query in workload) for found in (usual, served)
    ]
    assert doubts[1] < doubts[0] / 3


def test_relaxed_cuts_go_on_where_no_query_asks() -> None:
    table = crowd()
    found = divided(table, KAnonymity(5), [Query({"age": between(33, 47)})], relaxed=True)
    assert found.sizes.min() >= 5
    assert found.sizes.max() <= 9
    assert rows_in_doubt(table, found, Query({"age": between(33, 47)})) == 0


@pytest.mark.slow
@given(st.data())
def test_a_cell_holds_codes_that_no_query_tells_apart(data: st.DataObject) -> None:
    table = data.draw(tables(max_rows=20))
    workload = data.draw(workloads(table))
    axes = axes_of(table)
    asked = asked_of(workload, None, table, table.n_rows, wanted_in(table, None, axes))
    bound = [bind(query, Catalog.of_table(table)).where for query in workload]
    bound = [where for where in bound if set(where) & set(table.schema.quasi)]
    if asked is None:
        assert not bound
        return
    seen = set()
    for axis, attribute in enumerate(table.quasi):
        values = [*attribute.values.to_pylist(), *([None] if attribute.has_missing else [])]
        for code, value in enumerate(values):
            cell = asked.cells[axes.offsets[axis] + code]
            assert asked.axis_of[cell] == axis
            holds = [
                where[attribute.name].holds(value) if attribute.name in where else True
                for where in bound
            ]
            assert sorted(asked.wanted[:, cell].tolist()) == sorted(holds)
            seen.add(int(cell))
    assert seen == set(range(len(asked.axis_of)))
    assert (np.diff(asked.weights) <= 0).all()


def test_a_sample_is_enough_to_weigh_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    table = crowd()
    workload = range_workload(table, queries=5, share=0.3, attributes=["age", "job"], seed=2)
    count = wanted_in(table, None, axes_of(table))
    exact = asked_of(workload, None, table, table.n_rows, count)
    monkeypatch.setattr(module, "_SAMPLE", table.n_rows // 2)
    sampled = asked_of(workload, None, table, table.n_rows, count)
    assert exact is not None
    assert sampled is not None
    assert np.allclose(sampled.weights, exact.weights, rtol=0.5)


@pytest.mark.parametrize(
    ("options", "parameter"),
    [
        ({"workload": ["SELECT COUNT(*) FROM t"]}, "workload"),
        ({"workload": [Query()], "weights": []}, "weights"),
        ({"weights": [1]}, "weights"),
        ({"workload": [Query()], "weights": [0]}, "weights"),
        ({"workload": [Query()], "weights": [float("nan")]}, "weights"),
        ({"workload": [Query()], "weights": [float("inf")]}, "weights"),
    ],
)
def test_what_is_no_workload(options: dict[str, Any], parameter: str) -> None:
    with pytest.raises(ParameterError) as caught:
        Mondrian(**options)
    assert caught.value.parameter == parameter


def test_queries_about_unknown_columns_are_refused() -> None:
    with pytest.raises(QueryRefused, match="agee"):
        divided(crowd(), KAnonymity(2), [Query({"agee": [3]})])


def test_a_served_mondrian_is_a_value_like_any_other() -> None:
    queries = [Query({"age": [3]}), Query({"age": [4]})]
    one = Mondrian(workload=queries, weights=[1, 2])
    queries.append(Query())
    other = Mondrian(workload=tuple(queries[:2]), weights=(1.0, 2.0))
    assert one == other
    assert hash(one) == hash(other)
    assert one != Mondrian(workload=queries[:2])


def test_a_release_states_the_number_of_queries_only() -> None:
    assert "workload" not in describe(Mondrian())
    table = crowd()
    secret = [Query({"age": at_most(44), "job": ["judge"]})] * 3
    release = publish(table, Mondrian(workload=secret, weights=[5.25, 1, 1]), KAnonymity(5))
    text = release.manifest.to_json()
    assert json.loads(text)["algorithm"] == {
        "name": "mondrian",
        "relaxed": False,
        "choose": "widest",
        "cuts": "all",
        "refine": 0,
        "time_limit": 60.0,
        "workload": 3,
    }
    assert "judge" not in text
    assert "5.25" not in text
