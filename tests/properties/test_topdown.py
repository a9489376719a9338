"""TopDown's promises on any table: groups pass, equal rows stay together, the twins agree."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.algorithms.goal import goal_of
from sfumato.algorithms.points import Points
from sfumato.algorithms.space import point_arrays, sets_of
from sfumato.algorithms.topdown import TopDown, merge, split_cloud
from sfumato.algorithms.topdown.merge import label_groups
from sfumato.algorithms.topdown.plain import merge_all_plain
from sfumato.core.arrays import Codes
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.core.randomness import Randomness
from sfumato.errors import Infeasible
from sfumato.models.anonymity import KAnonymity
from sfumato.models.base import AllOf, BuiltIn
from sfumato.models.bound import compile_rules, require_feasible
from tests.support.models import SETTINGS, InPython, NobodyAlone, needs_of
from tests.support.oracles import passes_naively
from tests.support.strategies import tables
from tests.support.tables import groups_of, microdata

COMBINATIONS = st.lists(st.sampled_from(SETTINGS), min_size=1, max_size=3, unique=True)
SEEDS = st.integers(0, 99)


def divide(table: Microdata, model: Any, seed: int = 0, **options: Any) -> Partition | None:
    try:
        return TopDown(**options).partition(table, needs_of(model, table), Randomness(seed))
    except Infeasible:
        return None


@settings(max_examples=120)
@given(tables(max_rows=60), COMBINATIONS, SEEDS, st.integers(1, 4), st.booleans())
def test_groups_pass_and_cover_all_rows(
    table: Microdata, models: list[BuiltIn], seed: int, rounds: int, in_python: bool
) -> None:
    model = AllOf(tuple(models))
    needs = needs_of(model, table)
    given = AllOf(tuple(InPython(part) for part in models)) if in_python else model
    found = divide(table, given, seed, rounds=rounds)
    assert (found is not None) == passes_naively(needs, table, range(table.n_rows))
    for rows in groups_of(found.groups) if found is not None else ():
        assert passes_naively(needs, table, rows)


@settings(max_examples=120)
@given(tables(max_rows=60), st.integers(2, 8), SEEDS)
def test_groups_have_k_rows_and_equal_rows_stay_together(
    table: Microdata, k: int, seed: int
) -> None:
    found = divide(table, KAnonymity(k), seed)
    if found is None:
        assert table.n_rows < k
        return
    assert found.sizes.min() >= k
    vectors = [tuple(codes) for codes in table.quasi_codes().tolist()]
    owners = set(zip(vectors, found.groups.tolist(), strict=True))
    assert len(owners) == len(set(vectors))


@settings(max_examples=120)
@given(tables(max_rows=40), COMBINATIONS, SEEDS)
def test_compiled_and_plain_merge_alike(table: Microdata, models: list[BuiltIn], seed: int) -> None:
    """From single points, and by all rules: the plain loop knows nothing of the fewest rows."""
    needs = needs_of(AllOf(tuple(models)), table)
    try:
        bound = require_feasible(needs, table)
    except Infeasible:
        return
    rules = compile_rules(bound)
    assert rules is not None
    points = Points.distinct(table, rules.offsets)
    order = Randomness(seed).permutation(len(points.weights)).astype(np.int32)

    def merged(plain: bool) -> Codes:
        arrays, sets = point_arrays(table, points, order.copy()), sets_of(table)
        index = split_cloud(arrays, sets, 1, 3)
        if plain:
            merge_all_plain(points, arrays, sets, index, bound)
        else:
            goal = goal_of(rules, table.n_rows)
            merge(arrays, sets, goal._replace(least=1, sensitive=True), index)
        groups = np.empty(len(order), np.int32)
        label_groups(index, arrays, groups)
        return groups

    assert merged(plain=True).tolist() == merged(plain=False).tolist()


@settings(max_examples=40)
@given(tables(max_rows=40), SEEDS)
def test_a_users_own_model(table: Microdata, seed: int) -> None:
    found = divide(table, NobodyAlone(), seed)
    if found is None:
        return
    for name in table.schema.sensitive:
        for rows in groups_of(found.groups):
            assert len({int(table.codes[name][row]) for row in rows}) >= 2


class OnlyEveryone:
    """Not kept when groups are merged, until all of them are."""

    needs_sensitive = False

    def passes(self, groups: Any) -> Any:
        return groups.sizes == 12


@pytest.mark.parametrize("seed", range(3))
def test_the_whole_table_is_the_last_resort(seed: int) -> None:
    table = microdata({"x": list(range(12))})
    found = divide(table, OnlyEveryone(), seed)
    assert found is not None
    assert found.sizes.tolist() == [12]
