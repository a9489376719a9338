"""The parts of the compiled loop, each against a few lines of Python."""

from collections import Counter
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.algorithms.mondrian.arrays import PointArrays, Workspace, new_workspace
from sfumato.algorithms.mondrian.kernel import move
from sfumato.algorithms.mondrian.ranking import last_of_quota, sort_keys
from sfumato.algorithms.mondrian.ranking import rank_values as ranked
from sfumato.core.arrays import Codes

DOMAIN = 500

# inner kernels have no way in from Python; these do
sort: Any = numba.njit(lambda keys, n: sort_keys(keys, n))
move_points: Any = numba.njit(
    lambda arrays, j, low, high, cut, last, ranks: move(arrays, j, low, high, cut, last, ranks)
)
select: Any = numba.njit(
    lambda arrays, rank, quota, workspace: last_of_quota(
        arrays, 0, 0, arrays.member.size, rank, quota, workspace
    )
)
rank_values: Any = numba.njit(
    lambda arrays, is_set, j, low, high, workspace: ranked(arrays, is_set, j, low, high, workspace)
)


def point_arrays(codes: list[int], weights: list[int] | None = None) -> PointArrays:
    n = len(codes)
    return PointArrays(
        np.array(codes, np.int32).reshape(n, 1),
        np.array(weights or [1] * n, np.int64),
        np.arange(n, dtype=np.int32),
        np.zeros(n + 1, np.int64),
        np.zeros(0, np.int32),
        np.zeros(0, np.int64),
    )


def desk_for(domain: int) -> Workspace:
    workspace = new_workspace(1, np.array([domain], np.int64), 0)
    for field in (workspace.amounts, workspace.ranks, workspace.present):
        field.fill(77)  # whatever an earlier segment left
    return workspace


@given(st.lists(st.integers(-(2**62), 2**62), max_size=300))
def test_sort(keys: list[int]) -> None:
    array = np.array([*keys, -(2**63)], np.int64)
    sort(array, len(keys))
    assert array.tolist() == [*sorted(keys), -(2**63)]


@st.composite
def segments(draw: st.DrawFn, top: int) -> tuple[list[int], list[int]]:
    codes = draw(st.lists(st.integers(0, top), min_size=1, max_size=20))
    weights = st.lists(st.integers(1, 5), min_size=len(codes), max_size=len(codes))
    return codes, draw(weights)


def assert_ranked(codes: list[int], weights: list[int], is_set: bool) -> None:
    workspace = desk_for(DOMAIN)
    workspace.bounds[0] = min(codes), max(codes)
    n = int(rank_values(point_arrays(codes, weights), is_set, 0, 0, len(codes), workspace))
    amounts: Counter[int] = Counter()
    for code, weight in zip(codes, weights, strict=True):
        amounts[code] += weight
    in_order = sorted(amounts, key=lambda code: (-amounts[code] if is_set else 0, code))
    assert workspace.present[:n].tolist() == in_order
    assert [int(workspace.ranks[code]) for code in in_order] == list(range(n))
    assert {code: int(workspace.amounts[code]) for code in amounts} == dict(amounts)


@pytest.mark.slow
@given(segments(top=15), st.booleans())
def test_values_are_ranked_in_a_small_domain(
    drawn: tuple[list[int], list[int]], is_set: bool
) -> None:
    assert_ranked(*drawn, is_set)


@given(segments(top=DOMAIN - 1), st.booleans())
def test_values_are_ranked_in_a_large_one(drawn: tuple[list[int], list[int]], is_set: bool) -> None:
    codes, weights = drawn
    # the two ends are farther apart than 4 * points + 16: counted by sorting
    assert_ranked([*codes, 0, DOMAIN - 1], [*weights, 1, 2], is_set)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=30), st.integers(-1, 4), st.integers(0, 8))
def test_move(codes: list[int], cut: int, quota: int) -> None:
    ranks: Codes = np.array([2, 0, 3, 1, 4], np.int32)
    next_rank = sum(ranks[code] == cut + 1 for code in codes)
    quota = min(quota, next_rank)
    arrays = point_arrays(codes, list(range(1, len(codes) + 1)))
    tied = [point for point, code in enumerate(codes) if ranks[code] == cut + 1]
    last = tied[quota - 1] if quota else -1
    middle = int(move_points(arrays, 0, 0, len(codes), cut, last, ranks))
    assert set(tied[:quota]) <= set(arrays.member[:middle].tolist())
    moved = [int(ranks[code]) for code in arrays.codes[:, 0]]
    expected = sum(ranks[code] <= cut for code in codes) + quota
    assert middle == expected
    assert sum(rank <= cut for rank in moved[:middle]) == expected - quota
    assert sum(rank == cut + 1 for rank in moved[:middle]) == quota
    # codes, weights and members travel together
    assert sorted(arrays.member) == list(range(len(codes)))
    assert arrays.codes[:, 0].tolist() == [codes[point] for point in arrays.member]
    assert arrays.weights.tolist() == [int(point) + 1 for point in arrays.member]


def test_move_leaves_the_rest_of_the_cloud_alone() -> None:
    arrays = point_arrays([4, 3, 2, 1, 0, 4, 3])
    ranks = np.arange(5, dtype=np.int32)
    assert move_points(arrays, 0, 2, 5, 1, -1, ranks) == 4
    assert arrays.member[[0, 1, 5, 6]].tolist() == [0, 1, 5, 6]


@given(st.lists(st.integers(0, 2), min_size=1, max_size=60), st.randoms(use_true_random=False))
def test_the_last_of_a_quota(codes: list[int], chance: Any) -> None:
    """However the points were moved about before."""
    arrays, workspace = point_arrays(codes), new_workspace(len(codes), np.array([3]), 1)
    workspace.ranks[:3] = 0, 1, 2
    chance.shuffle(order := list(range(len(codes))))
    arrays.member[:] = order
    arrays.codes[:, 0] = [codes[point] for point in order]
    for rank in range(3):
        tied = [point for point, code in enumerate(codes) if code == rank]
        for quota, point in enumerate(tied, 1):
            assert select(arrays, rank, quota, workspace) == point
