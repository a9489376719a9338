"""The steps of TopDown, each against its definition in plain Python."""

import heapq
from itertools import chain
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.algorithms.goal import goal_of
from sfumato.algorithms.points import Points
from sfumato.algorithms.space import BITS, PointArrays, Sets, ones, point_arrays, sets_of
from sfumato.algorithms.topdown import merge, split_cloud
from sfumato.algorithms.topdown.index import GONE, Index
from sfumato.algorithms.topdown.merge import dequeue, enqueue, merge_groups
from sfumato.algorithms.topdown.search import find_neighbours
from sfumato.algorithms.topdown.taking import new_plan, plan_taking, take_points
from sfumato.core.boxes import Ranges, ValueSets
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.core.randomness import Randomness
from sfumato.models.anonymity import KAnonymity
from sfumato.models.bound import compile_rules
from tests.support.models import bound_of
from tests.support.strategies import tables
from tests.support.tables import microdata

SEEDS = st.integers(0, 2**32)

# inner kernels have no way in from Python; these do
count_ones: Any = numba.njit(lambda word: ones(word))
put: Any = numba.njit(lambda heap, n, key: enqueue(heap, n, key))
drop: Any = numba.njit(lambda heap, n: dequeue(heap, n))
plan_of: Any = numba.njit(
    lambda arrays, sets, least, index, group, donor, plan: plan_taking(
        arrays, sets, least, index, group, donor, plan
    )
)
take: Any = numba.njit(
    lambda arrays, sets, index, group, donor, plan: take_points(
        arrays, sets, index, group, donor, plan
    )
)


def prepared(table: Microdata, seed: int) -> tuple[PointArrays, Sets]:
    points = Points.distinct(table, {})
    order = Randomness(seed).permutation(len(points.weights)).astype(np.int32)
    return point_arrays(table, points, order), sets_of(table)


def ring(index: Index, group: int) -> list[int]:
    """The points of a group, by their place in the arrays."""
    places = [int(index.heads[group])]
    for _ in range(int(index.n_points[group]) - 1):
        places.append(int(index.following[places[-1]]))
    assert index.following[places[-1]] == places[0]
    assert len(set(places)) == len(places)
    return places


def alive(index: Index) -> list[int]:
    return [int(group) for group in np.flatnonzero(index.heads >= 0)]


class Plain:
    """The space of TopDown in the terms of core.boxes: penalties of sets of points."""

    def __init__(self, table: Microdata) -> None:
        self.table = table
        self.codes = Points.distinct(table, {}).codes
        self.weights = Points.distinct(table, {}).weights

    def penalty(self, points: list[int]) -> float:
        together = Partition.of(np.zeros(len(points), np.int32))
        total = 0.0
        for j, attribute in enumerate(self.table.quasi):
            kind = Ranges if attribute.ordered else ValueSets
            total += kind.around(attribute, self.codes[points, j], together).penalties()[0]
        return total

    def load(self, points: list[int]) -> int:
        return int(self.weights[points].sum())

    def ncp(self, points: list[int]) -> float:
        return self.load(points) * self.penalty(points)

    def merging(self, one: list[int], other: list[int]) -> float:
        return self.ncp(one + other) - self.ncp(one) - self.ncp(other)

    def split(self, points: list[int], rounds: int) -> tuple[list[int], list[int]]:
        """Steps 1 and 2, for points in random order."""
        one, other, widest = points[0], points[0], -1.0
        for _ in range(rounds):
            farthest = max(
                (point for point in points if point != one),
                key=lambda point: round(self.penalty([one, point]), 12),
            )
            apart = self.penalty([one, farthest])
            if apart <= widest + 1e-12:
                break
            one, other, widest = farthest, one, apart
        sides = [one], [other]
        for point in points:
            if point in (one, other):
                continue
            costs = [round(self.ncp([*side, point]) - self.ncp(side), 9) for side in sides]
            loads = [self.load(side) for side in sides]
            second = (costs[1], loads[1]) < (costs[0], loads[0])
            sides[int(second)].append(point)
        return sides

    def leaves(self, points: list[int], least: int, rounds: int) -> set[frozenset[int]]:
        """Steps 1 to 3."""
        if len(points) < 2 or self.load(points) <= least:
            return {frozenset(points)}
        parts = self.split(points, rounds)
        in_order = [[point for point in points if point in part] for part in parts]
        return set().union(*(self.leaves(part, least, rounds) for part in in_order))


@st.composite
def exact_tables(draw: st.DrawFn) -> Microdata:
    """Eighths and fourths only, which floats hold exactly: ties are ties for both twins."""
    n = draw(st.integers(0, 12))

    def column(first: Any, values: st.SearchStrategy[Any]) -> list[Any]:
        return [*first, *draw(st.lists(values, min_size=n, max_size=n))]

    return microdata(
        {
            "x": column([0, 8, 3, 1, 5], st.integers(0, 8)),
            "word": column("abcde", st.sampled_from("abcde")),
            "gappy": column([0, 4, 4, 1, 0], st.none() | st.integers(0, 4)),
        }
    )


@pytest.mark.slow
@settings(max_examples=60)
@given(exact_tables(), st.integers(1, 5), st.integers(1, 4), SEEDS)
def test_splits_are_those_of_the_plain_twin(
    table: Microdata, least: int, rounds: int, seed: int
) -> None:
    arrays, sets = prepared(table, seed)
    order = arrays.member.tolist()  # the kernel moves them
    index = split_cloud(arrays, sets, least, rounds)
    found = {frozenset(arrays.member[ring(index, group)].tolist()) for group in alive(index)}
    assert found == Plain(table).leaves(order, least, rounds)


@pytest.mark.slow
@settings(max_examples=60)
@given(tables(max_rows=40), st.integers(1, 4), SEEDS, st.data())
def test_the_neighbour_is_the_cheapest_of_all_however_groups_change(
    table: Microdata, least: int, seed: int, data: st.DataObject
) -> None:
    arrays, sets = prepared(table, seed)
    index = split_cloud(arrays, sets, least, 3)
    plain = Plain(table)
    while True:
        points = {g: arrays.member[ring(index, g)].tolist() for g in alive(index)}
        assert sorted(chain(*points.values())) == list(range(len(arrays.weights)))
        group = data.draw(st.sampled_from(sorted(points)))
        enough = data.draw(st.sampled_from([2, 4]))
        far = data.draw(st.sampled_from([1.5, 4.0, 1e9]))
        costs = {g: plain.merging(points[group], points[g]) for g in points if g != group}
        give = {g: c for g, c in costs.items() if index.loads[g] >= enough and len(points[g]) > 1}
        partner, cost, donor, giving = find_neighbours(index, sets, group, enough, far)
        assert_cheapest(costs, int(partner), cost)
        nearest, limit = min(give.values(), default=np.inf), far * cost
        slack = 1e-9 * max(1.0, far)  # costs are rounded, and the limit is a multiple of one
        if nearest < limit - slack:
            assert_cheapest(give, int(donor), giving)
        elif nearest > limit + slack:
            assert donor == -1
        if len(points) == 1:
            break
        other = data.draw(st.sampled_from(sorted(set(points) - {group})))
        merged = int(merge_groups(index, sets, group, other))
        assert index.loads[merged] == plain.load(points[group] + points[other])
        together = plain.penalty(points[group] + points[other])
        assert index.sides.penalties[merged] == pytest.approx(together)
        gone = other if merged == group else group
        assert index.loads[gone] == GONE


def large_table(n: int, names: int, seed: int) -> Microdata:
    """An axis, a set of one word, and one that may have several."""
    chance = np.random.default_rng(seed)
    return microdata(
        {
            "x": chance.integers(0, 99, n).tolist(),
            "word": chance.choice(list("abcdef"), n).tolist(),
            "name": [f"n{i:03d}" for i in chance.integers(0, names, n)],
        }
    )


@pytest.mark.parametrize(
    ("n", "levels"), [(40, 1), (600, 2), (8_000, 3)], ids=["a row", "two levels", "three"]
)
@pytest.mark.parametrize("names", [50, 200])
@pytest.mark.parametrize("least", [1, 3])
def test_the_neighbour_is_the_cheapest_on_every_level(
    n: int, levels: int, names: int, least: int
) -> None:
    arrays, sets = prepared(large_table(n, names, least), 0)
    index = split_cloud(arrays, sets, least, 3)
    assert len(index.rows.first) == levels + 1 or least > 1
    chance = np.random.default_rng(n)
    for _ in range(60):
        groups = np.array(alive(index))
        if len(groups) == 1:
            break
        group = int(chance.choice(groups))
        enough = int(chance.choice([2, 4]))
        found = costs_of_merging(index, sets, group, groups)
        costs = {int(g): float(c) for g, c in zip(groups, found, strict=True) if g != group}
        give = {g: c for g, c in costs.items() if index.spares[g] >= enough}
        partner, cost, donor, giving = find_neighbours(index, sets, group, enough, 1e12)
        assert cost > 0  # all points differ, so any donor is near enough
        assert_cheapest(costs, int(partner), cost)
        assert_cheapest(give, int(donor), giving)
        merge_groups(index, sets, group, int(chance.choice(groups[groups != group])))


def assert_cheapest(costs: dict[int, float], found: int, cost: float) -> None:
    """Of equally cheap ones any will do."""
    if not costs:
        assert found == -1
        return
    assert cost == pytest.approx(min(costs.values()), abs=1e-9)
    assert costs[found] == pytest.approx(cost, abs=1e-9)


def costs_of_merging(index: Index, sets: Sets, group: int, others: Any) -> Any:
    """What merging with each group costs, from their boxes, in NumPy."""
    sides = index.sides
    lows = np.minimum(sides.lows[group], sides.lows[others])
    highs = np.maximum(sides.highs[group], sides.highs[others])
    penalty = np.minimum(1, highs - lows).sum(axis=1)
    counts = np.bitwise_count(sides.bits[group] | sides.bits[others]).astype(np.int64)
    for s, share in enumerate(sets.shares):
        values = counts[:, sets.words[s] : sets.words[s + 1]].sum(axis=1)
        penalty += (values - 1) * share
    grown = penalty - sides.penalties[group], penalty - sides.penalties[others]
    return index.loads[group] * grown[0] + index.loads[others] * grown[1]


@pytest.mark.slow
@settings(max_examples=60)
@given(tables(max_rows=40), st.integers(2, 5), SEEDS)
def test_taking_costs_what_is_said_and_leaves_both_enough(
    table: Microdata, least: int, seed: int
) -> None:
    arrays, sets = prepared(table, seed)
    index = split_cloud(arrays, sets, 2 * least, 3)
    plain = Plain(table)
    members = {g: arrays.member[ring(index, g)].tolist() for g in alive(index)}
    for group in members:
        for donor in members:
            if donor == group or index.loads[group] >= least:
                continue
            before = {g: arrays.member[ring(index, g)].tolist() for g in (group, donor)}
            plan = new_plan(len(arrays.weights))
            cost = plan_of(arrays, sets, least, index, group, donor, plan)
            if cost == np.inf:
                continue
            take(arrays, sets, index, group, donor, plan)
            after = {g: arrays.member[ring(index, g)].tolist() for g in (group, donor)}
            assert sorted(chain(*before.values())) == sorted(chain(*after.values()))
            assert set(before[group]) < set(after[group])
            for g in (group, donor):
                assert index.loads[g] == plain.load(after[g]) >= least
                assert index.sides.penalties[g] == pytest.approx(plain.penalty(after[g]))
            total = sum(map(plain.ncp, after.values())) - sum(map(plain.ncp, before.values()))
            assert cost == pytest.approx(total, abs=1e-9)


def test_some_groups_take_rows_instead_of_merging() -> None:
    """Then the points of one split-off part are in two groups."""
    table = microdata({"x": np.random.default_rng(2).integers(0, 10_000, 300)})
    arrays, sets = prepared(table, 0)
    rules = compile_rules(bound_of(KAnonymity(7), table))
    assert rules is not None
    index = split_cloud(arrays, sets, rules.least, 3)
    parts = [ring(index, group) for group in alive(index)]
    merge(arrays, sets, goal_of(rules, table.n_rows), index)
    group_of = {place: group for group in alive(index) for place in ring(index, group)}
    assert len(group_of) == len(arrays.weights)
    assert any(len({group_of[place] for place in part}) > 1 for part in parts)


def test_values_share_bits_in_a_large_set_only() -> None:
    domain = BITS + 10
    table = microdata({"word": [f"w{value:04}" for value in range(domain)]})
    arrays, sets = prepared(table, 0)
    index = split_cloud(arrays, sets, domain, 3)
    assert index.loads.tolist() == [domain]
    assert index.sides.penalties[0] == pytest.approx((BITS - 1) / (domain - 1))


@given(st.integers(0, 2**64 - 1))
def test_ones(word: int) -> None:
    assert count_ones(np.uint64(word)) == word.bit_count()


@given(st.lists(st.integers(0, 99) | st.none(), max_size=60))
def test_the_queue_is_a_heap(steps: list[int | None]) -> None:
    heap, n, expected = np.zeros(60, np.int64), 0, list[int]()
    for key in steps:
        if key is not None:
            n = put(heap, n, key)
            heapq.heappush(expected, key)
        elif expected:
            assert heap[0] == heapq.heappop(expected)
            n = drop(heap, n)
        assert n == len(expected)
