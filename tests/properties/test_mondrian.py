"""Mondrian's promises on any table: the twins agree, bounds hold, nothing is left to cut."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.algorithms.mondrian import Mondrian
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.core.randomness import Randomness
from sfumato.errors import Infeasible
from sfumato.models.anonymity import KAnonymity
from sfumato.models.base import AllOf, BuiltIn
from sfumato.models.bound import compile_rules
from tests.support.models import SETTINGS, InPython, bound_of, needs_of
from tests.support.oracles import passes_naively
from tests.support.strategies import tables, workloads
from tests.support.tables import groups_of, microdata
from tests.support.turns import cut_in_turns

CHOICES = st.sampled_from(["widest", "round-robin"])
CUTS = st.sampled_from(["all", "median"])
COMBINATIONS = st.lists(st.sampled_from(SETTINGS), min_size=1, max_size=3, unique=True)


def divide(table: Microdata, model: Any, algorithm: Mondrian, seed: int = 0) -> Partition | None:
    try:
        return algorithm.partition(table, needs_of(model, table), Randomness(seed))
    except Infeasible:
        return None


def assert_twins_agree(table: Microdata, models: list[BuiltIn], algorithm: Mondrian) -> None:
    built_in = AllOf(tuple(models))
    in_python = AllOf(tuple(InPython(model) for model in models))
    assert compile_rules(bound_of(built_in, table)) is not None
    assert compile_rules(bound_of(in_python, table)) is None
    compiled = divide(table, built_in, algorithm)
    plain = divide(table, in_python, algorithm)
    if compiled is None or plain is None:
        assert compiled is plain
    else:
        assert groups_of(compiled.groups) == groups_of(plain.groups)


@settings(max_examples=150)
@given(tables(max_rows=40), COMBINATIONS, CHOICES, CUTS)
def test_compiled_and_plain_cut_alike(
    table: Microdata, models: list[BuiltIn], choose: Any, cuts: Any
) -> None:
    assert_twins_agree(table, models, Mondrian(choose=choose, cuts=cuts))


@settings(max_examples=150)
@given(st.data(), COMBINATIONS, CHOICES)
def test_compiled_and_plain_serve_a_workload_alike(
    data: st.DataObject, models: list[BuiltIn], choose: Any
) -> None:
    table = data.draw(tables(max_rows=40))
    workload = data.draw(workloads(table))
    weights = data.draw(
        st.none() | st.lists(st.floats(0.1, 9), min_size=len(workload), max_size=len(workload))
    )
    assert_twins_agree(table, models, Mondrian(choose=choose, workload=workload, weights=weights))


@settings(max_examples=150)
@given(st.integers(1, 40), st.integers(2, 5), st.integers(0, 2), st.integers(0, 2**32 - 1))
def test_axes_take_turns_from_any_one_on(n: int, k: int, turn: int, seed: int) -> None:
    """Both twins, against plain recursion over rows: groups, and whose turn is next in each."""
    drawn = np.random.default_rng(seed).integers(0, [2, 4, 8], (n, 3))
    table = microdata(dict(zip("xyz", drawn.T, strict=True)))
    if n < k:
        return
    people = [tuple(row) for row in drawn.tolist()]
    expected = set(cut_in_turns(people, range(n), turn, k))
    for model in (KAnonymity(k), InPython(KAnonymity(k))):
        found, turns = Mondrian(choose="round-robin").partition_from(
            turn, table, needs_of(model, table), Randomness(0)
        )
        members = [frozenset(np.flatnonzero(found.groups == g).tolist()) for g in range(len(turns))]
        assert set(zip(members, turns.tolist(), strict=True)) == expected


@pytest.mark.parametrize("model", SETTINGS, ids=str)
def test_compiled_and_plain_cut_large_sparse_domains_alike(model: BuiltIn) -> None:
    """Hundreds of different values per axis: deep in the tree, few points lie far apart."""
    rng = np.random.default_rng(3)
    n = 400
    table = microdata(
        {
            "coarse": rng.integers(0, 4, n),
            "word": [f"w{value}" for value in rng.integers(0, 300, n)],
            "number": np.where(
                rng.random(n) < 0.5, rng.integers(0, 10**6, n), rng.integers(0, 9, n)
            ),
            "s": rng.integers(0, 5, n),
            "d": rng.choice(list("abcd"), n, p=[0.4, 0.3, 0.2, 0.1]),
        },
        sensitive=["s", "d"],
    )
    for choose in ("widest", "round-robin"):
        assert_twins_agree(table, [KAnonymity(2), model], Mondrian(choose=choose))


def test_values_closer_than_floats_tell_apart_are_still_cut() -> None:
    table = microdata({"x": [2**60, 2**60, 2**60 + 1, 2**60 + 1, 2**61, 2**61]})
    algorithm = Mondrian()
    assert_twins_agree(table, [KAnonymity(2)], algorithm)
    found = divide(table, KAnonymity(2), algorithm)
    assert found is not None
    assert found.n_groups == 3


@settings(max_examples=80)
@given(tables(max_rows=60), st.integers(2, 6), CHOICES)
def test_strict_groups_keep_the_bound_of_theorem_2(table: Microdata, k: int, choose: Any) -> None:
    found = divide(table, KAnonymity(k), Mondrian(choose=choose))
    if found is None:
        assert table.n_rows < k
        return
    vectors = Counter(map(tuple, table.quasi_codes().tolist()))
    d = len(table.quasi)
    assert found.sizes.min() >= k
    assert found.sizes.max() <= 2 * d * (k - 1) + max(vectors.values())
    # rows with equal vectors stay together
    group_of = {
        (tuple(v), g) for v, g in zip(table.quasi_codes().tolist(), found.groups, strict=True)
    }
    assert len(group_of) == len(vectors)


@settings(max_examples=80)
@given(tables(max_rows=60), st.integers(2, 6), CHOICES, st.integers(0, 99), st.booleans())
def test_relaxed_groups_have_k_to_2k_minus_1_rows(
    table: Microdata, k: int, choose: Any, seed: int, in_python: bool
) -> None:
    model: Any = InPython(KAnonymity(k)) if in_python else KAnonymity(k)
    found = divide(table, model, Mondrian(relaxed=True, choose=choose), seed)
    if found is None:
        assert table.n_rows < k
        return
    assert k <= found.sizes.min()
    assert found.sizes.max() <= 2 * k - 1


def halves(table: Microdata, rows: list[int]) -> Iterator[tuple[list[int], list[int]]]:
    """Every axis-parallel cut through a group."""
    for attribute in table.quasi:
        codes = table.codes[attribute.name].tolist()
        for cut in sorted({codes[row] for row in rows})[:-1]:
            left = [row for row in rows if codes[row] <= cut]
            yield left, [row for row in rows if codes[row] > cut]


@settings(max_examples=80)
@given(tables(max_rows=25, ordered_only=True), COMBINATIONS, CHOICES)
def test_no_group_can_be_cut_again(table: Microdata, models: list[BuiltIn], choose: Any) -> None:
    model = AllOf(tuple(models))
    needs = needs_of(model, table)
    found = divide(table, model, Mondrian(choose=choose))
    assert (found is not None) == passes_naively(needs, table, range(table.n_rows))
    for rows in groups_of(found.groups) if found is not None else ():
        assert passes_naively(needs, table, rows)
        for left, right in halves(table, sorted(rows)):
            assert not (passes_naively(needs, table, left) and passes_naively(needs, table, right))


@settings(max_examples=60)
@given(st.data(), COMBINATIONS)
def test_a_workload_leaves_nothing_to_cut_either(
    data: st.DataObject, models: list[BuiltIn]
) -> None:
    """Serving cuts are only cuts that come first."""
    table = data.draw(tables(max_rows=25, ordered_only=True))
    needs = needs_of(AllOf(tuple(models)), table)
    found = divide(table, AllOf(tuple(models)), Mondrian(workload=data.draw(workloads(table))))
    for rows in groups_of(found.groups) if found is not None else ():
        assert passes_naively(needs, table, rows)
        for left, right in halves(table, sorted(rows)):
            assert not (passes_naively(needs, table, left) and passes_naively(needs, table, right))


@settings(max_examples=40)
@given(tables(max_rows=40), COMBINATIONS, CHOICES, CUTS)
def test_relaxed_twins_keep_the_model(
    table: Microdata, models: list[BuiltIn], choose: Any, cuts: Any
) -> None:
    """Which tied rows go where is chance, so the twins agree on safety and feasibility only."""
    needs = needs_of(AllOf(tuple(models)), table)
    algorithm = Mondrian(relaxed=True, choose=choose, cuts=cuts)
    compiled = divide(table, AllOf(tuple(models)), algorithm)
    plain = divide(table, AllOf(tuple(InPython(model) for model in models)), algorithm)
    assert (compiled is None) == (plain is None)
    for found in (compiled, plain):
        for rows in groups_of(found.groups) if found is not None else ():
            assert passes_naively(needs, table, rows)
