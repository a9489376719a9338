"""MDAV and the best groups of one column, held against plain versions of themselves."""

from __future__ import annotations

import datetime as dt
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import sfumato as sf
from sfumato.algorithms.masking.microaggregate import points_of
from sfumato.core.arrays import Codes, Floats
from sfumato.core.randomness import Randomness
from sfumato.errors import DataError, Infeasible, ParameterError
from tests.support.tables import microdata


def plain_mdav(points: Floats, k: int) -> Codes:
    """The steps of the paper, looking at every row each time."""
    groups, left, made = np.full(len(points), -1, np.int32), np.arange(len(points)), 0

    def apart(at: Floats) -> Floats:
        found: Floats = ((points[left] - at) ** 2).sum(axis=1)
        return found

    def farthest(at: Floats) -> Floats:
        found: Floats = points[left[apart(at).argmax()]]
        return found

    while len(left) >= 3 * k:
        first = farthest(points[left].mean(axis=0))
        second = farthest(first)
        for at in (first, second):
            near = np.argsort(apart(at), kind="stable")[:k]
            groups[left[near]], left, made = made, np.delete(left, near), made + 1
    if len(left) >= 2 * k:
        near = np.argsort(apart(farthest(points[left].mean(axis=0))), kind="stable")[:k]
        groups[left[near]], left, made = made, np.delete(left, near), made + 1
    groups[left] = made
    return groups


def lost(points: Floats, groups: Codes) -> float:
    """SSE / SST."""
    centres = np.array([points[groups == group].mean(axis=0) for group in range(groups.max() + 1)])
    whole = ((points - points.mean(axis=0)) ** 2).sum()
    return float(((points - centres[groups]) ** 2).sum() / whole)


@pytest.mark.parametrize("k", [2, 3, 5, 17])
@pytest.mark.parametrize("rows", [20, 34, 35, 51, 400])
def test_groups_are_those_of_the_plain_steps(rows: int, k: int) -> None:
    if rows < k:
        return
    points = np.random.default_rng(rows + k).normal(size=(rows, 3))
    assert np.array_equal(sf.Microaggregate(k).groups(points), plain_mdav(points, k))


def test_centres_of_a_moment_ago_lose_next_to_nothing() -> None:
    points = np.random.default_rng(3).normal(size=(10_600, 3)) ** 3
    ours = sf.Microaggregate(20).groups(points)
    assert lost(points, ours) <= 1.02 * lost(points, plain_mdav(points, 20))
    assert np.bincount(ours).min() == 20


@given(
    st.integers(2, 6).flatmap(
        lambda k: st.tuples(
            st.just(k),
            st.integers(k, 60).flatmap(
                lambda n: arrays(np.float64, (n, 2), elements=st.integers(0, 3).map(float))
            ),
        )
    )
)
@settings(max_examples=100, deadline=None)
def test_groups_have_k_to_2k_rows_however_many_are_equal(case: tuple[int, Floats]) -> None:
    k, points = case
    sizes = np.bincount(sf.Microaggregate(k).groups(points))
    assert sizes.min() >= k
    assert sizes.max() < 2 * k


def runs(n: int, k: int) -> list[list[int]]:
    """All ways to cut a line of n rows into runs of k rows or more."""
    found = []
    for cuts in range(n // k):
        for chosen in combinations(range(1, n), cuts):
            ends = [0, *chosen, n]
            if all(b - a >= k for a, b in pairwise(ends)):
                found.append(ends)
    return found


@given(st.lists(st.integers(-20, 20), min_size=2, max_size=11), st.integers(2, 4))
@settings(max_examples=150, deadline=None)
def test_one_column_has_the_best_groups_of_all(values: list[int], k: int) -> None:
    if len(values) < k:
        return
    line = np.array(sorted(values), np.float64)
    least = min(
        sum(((line[a:b] - line[a:b].mean()) ** 2).sum() for a, b in pairwise(e))
        for e in runs(len(line), k)
    )
    numbers = np.array(values, np.float64)
    groups = sf.Microaggregate(k).groups(numbers[:, None])
    found = sum(
        ((numbers[groups == group] - numbers[groups == group].mean()) ** 2).sum()
        for group in range(groups.max() + 1)
    )
    assert np.bincount(groups).min() >= k
    assert found == pytest.approx(least, abs=1e-9)


def test_the_best_groups_of_one_column_by_hand() -> None:
    # three pairs are two apart at least; 1 2 | 10 11 12 | 30 31 loses least of all runs
    numbers = np.array([30.0, 1, 11, 2, 31, 10, 12])
    groups = sf.Microaggregate(2).groups(numbers[:, None])
    members = {tuple(sorted(numbers[groups == group])) for group in set(groups.tolist())}
    assert members == {(1, 2), (10, 11, 12), (30, 31)}


def masked(columns: dict[str, Any], k: int, **roles: Any) -> dict[str, list[Any]]:
    table = microdata(columns, **roles)
    found = sf.Microaggregate(k).masked(table, Randomness(0))
    return {name: column.to_pylist() for name, column in found.columns.items()}


def test_numbers_show_means_dates_whole_days_and_categories_the_most_frequent() -> None:
    shown = masked(
        {
            "age": [20, 21, 22, 60, 61, 65],
            "born": [dt.date(2000, 1, day) for day in (1, 2, 4, 20, 21, 25)],
            "sex": ["F", "F", "M", "M", "M", "F"],
        },
        3,
    )
    assert shown["age"] == [21.0] * 3 + [62.0] * 3
    assert shown["born"] == [dt.date(2000, 1, 2)] * 3 + [dt.date(2000, 1, 22)] * 3
    assert shown["sex"] == ["F"] * 3 + ["M"] * 3


def test_a_mean_is_that_of_the_values_that_are_known() -> None:
    shown = masked({"age": [20, 22, None, None, None, None], "dose": [1, 1, 1, 9, 9, 9]}, 3)
    assert shown["age"] == [21.0] * 3 + [None] * 3


def test_scatter_is_what_rows_lie_away_from_their_means() -> None:
    table = microdata({"a": [0.0, 2, 10, 14], "b": [0.0, 4, 10, 14]})
    found = sf.Microaggregate(2).masked(table, Randomness(0))
    assert found.stated[0] == {"model": "k-anonymity", "k": 2}
    assert found.stated[1]["spread"] == {"a": (1 + 1 + 4 + 4) / 4, "b": (2 + 2 + 4 + 4) / 4}


def test_points_have_a_deviation_of_one() -> None:
    points = points_of(microdata({"a": [1, 5, 9, 9], "b": ["x", "y", "x", "z"], "c": [3, 3, 3, 3]}))
    assert points.mean(axis=0) == pytest.approx([0, 0, 0])
    assert points.std(axis=0) == pytest.approx([1, 1, 0])


@pytest.mark.parametrize("k", [0, 1, -3, 2.5, True])
def test_a_size_that_is_none_is_refused(k: Any) -> None:
    with pytest.raises(ParameterError, match="k must be a whole number from 2 on"):
        sf.Microaggregate(k)


def test_more_rows_than_there_are_cannot_be_alike() -> None:
    with pytest.raises(Infeasible, match="the largest feasible k is 3"):
        sf.mask(microdata({"a": [1, 2, 3]}), sf.Microaggregate(4))


def test_numbers_that_cannot_be_squared_are_refused() -> None:
    with pytest.raises(DataError, match="too large to be squared"):
        sf.mask(microdata({"a": [1e300, -1e300, 5.0, 7.0]}), sf.Microaggregate(2))
