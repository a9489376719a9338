"""A partition, and the order in which its rows are published."""

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import sfumato.core.partition as module
from sfumato.core.partition import Partition
from sfumato.core.randomness import Randomness
from sfumato.errors import ParameterError
from tests.support.tables import partition

SURELY = 1e-6  # a fair order is called biased once in a million seeds, and the seed is fixed


@st.composite
def partitions(draw: st.DrawFn) -> Partition:
    n_groups = draw(st.integers(1, 8))
    more = draw(st.lists(st.integers(0, n_groups - 1), max_size=40))
    return partition(draw(st.permutations([*range(n_groups), *more])))


def published(found: Partition, randomness: Randomness) -> tuple[Any, Any]:
    """Rows as they are published, and the group each had before they were put in order."""
    ordered = found.ordered_by(randomness.words(found.n_groups))
    rows = ordered.published_order(randomness.half_words(found.n_rows))
    return rows, found.groups[rows]


def test_sizes_are_counted() -> None:
    found = partition([1, 0, 1, 2, 1])
    assert (found.n_rows, found.n_groups) == (5, 3)
    assert found.sizes.tolist() == [1, 3, 1]


def test_an_empty_group_is_named() -> None:
    with pytest.raises(ParameterError, match="group 1 has no rows") as caught:
        partition([0, 2, 2])
    assert caught.value.parameter == "groups"


def test_no_rows_make_no_partition() -> None:
    with pytest.raises(ParameterError, match="at least one row"):
        partition([])


@given(partitions(), st.none() | st.integers(0, 2**32))
def test_every_row_is_published_once_and_beside_its_group(
    found: Partition, seed: int | None
) -> None:
    rows, groups = published(found, Randomness(seed))
    assert sorted(rows) == list(range(found.n_rows))
    assert groups.tolist() == found.groups[rows].tolist()
    runs = [group for group, _ in itertools.groupby(groups.tolist())]
    assert sorted(runs) == list(range(found.n_groups))


def test_a_seed_decides_the_order() -> None:
    found = partition([0, 1, 2] * 50)
    one, again, other = (published(found, Randomness(seed))[0].tolist() for seed in (7, 7, 8))
    assert one == again
    assert one != other


def test_without_a_seed_no_two_orders_are_alike() -> None:
    found = partition([0, 1, 2] * 50)
    orders = {tuple(published(found, Randomness())[0].tolist()) for _ in range(20)}
    assert len(orders) == 20


def uniform(found: Sequence[Any], possible: int) -> bool:
    """Whether all possible outcomes seem equally likely (chi-squared)."""
    counts = Counter(found)
    expected = len(found) / possible
    distance = sum((n - expected) ** 2 / expected for n in counts.values())
    distance += expected * (possible - len(counts))
    return bool(distance < stats.chi2.ppf(1 - SURELY, possible - 1))


def orders_inside(n_groups: int, size: int, seed: int) -> list[tuple[int, ...]]:
    """The order of rows inside each of many groups of one size."""
    found = partition([group for group in range(n_groups) for _ in range(size)])
    rows, _ = published(found, Randomness(seed))
    return [tuple(int(row) % size for row in run) for run in rows.reshape(n_groups, size)]


def test_rows_inside_a_group_take_every_order_equally_often() -> None:
    assert uniform(orders_inside(12_000, 4, seed=1), possible=24)


def swap_with_anyone(rows: Any, starts: Any, words: Any) -> None:
    """The well-known wrong shuffle: every place swaps with any place."""
    for low, high in itertools.pairwise(starts.tolist()):
        for i in range(low, high):
            other = low + int(words[i] % np.uint64(high - low))
            rows[i], rows[other] = rows[other], rows[i]


def never_in_place(rows: Any, starts: Any, words: Any) -> None:
    """Sattolo's slip: off by one, so that no row stays where it was."""
    for low, high in itertools.pairwise(starts.tolist()):
        for i in range(high - 1, low, -1):
            other = low + int(words[i] % np.uint64(i - low))
            rows[i], rows[other] = rows[other], rows[i]


def no_shuffle(rows: Any, starts: Any, words: Any) -> None:
    """Input order inside a group: what every naive implementation publishes."""


@pytest.mark.parametrize("biased", [swap_with_anyone, never_in_place, no_shuffle])
def test_the_test_above_rejects_wrong_shuffles(
    biased: Callable[[Any, Any, Any], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "shuffle_groups", biased)
    assert not uniform(orders_inside(12_000, 4, seed=1), possible=24)


def group_orders(words: Callable[[int], Any] | None = None) -> list[tuple[int, ...]]:
    found = partition([0, 0, 1, 1, 2, 2])
    randomness = Randomness(3)
    if words is not None:
        biased = {"words": words, "half_words": randomness.half_words}
        randomness = type("Biased", (), biased)  # type: ignore[assignment]
    return [tuple(published(found, randomness)[1][::2].tolist()) for _ in range(3000)]


def test_groups_take_every_order_equally_often() -> None:
    assert uniform(group_orders(), possible=6)


def test_the_test_above_rejects_groups_in_their_own_order() -> None:
    assert not uniform(group_orders(words=np.arange), possible=6)


def test_published_places_do_not_follow_input_places() -> None:
    n = 20_000
    random_groups = np.random.default_rng(5).permutation(np.arange(n) // 10)
    for groups in (np.zeros(n, np.int32), np.arange(n), random_groups):
        rows, _ = published(Partition.of(groups.astype(np.int32)), Randomness(9))
        trend = stats.spearmanr(np.arange(n), rows)
        assert trend.pvalue > SURELY
        assert not np.array_equal(rows, np.argsort(groups, kind="stable"))


@pytest.mark.parametrize(
    ("groups", "sizes"),
    [([0, 0, 1], [1, 2]), ([0, 1, 1], [2, 2]), ([0, 0, 1], [1, 1]), ([0, 2, 1], [1, 2])],
)
def test_sizes_that_are_not_those_of_the_groups_order_nothing(
    groups: list[int], sizes: list[int]
) -> None:
    wrong = Partition(np.array(groups, np.int32), np.array(sizes, np.int64))
    with pytest.raises(ParameterError, match="not those of the groups"):
        wrong.published_order(Randomness(1).half_words(len(groups)))
