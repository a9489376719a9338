"""TopDown: small tables worked by hand, missing values, sets, users' models, options, progress."""

import threading
from typing import Any

import numpy as np
import pytest

import sfumato.algorithms.topdown as module
from sfumato.algorithms.base import describe
from sfumato.algorithms.mondrian import Mondrian
from sfumato.algorithms.topdown import TopDown
from sfumato.core.boxes import Boxes, Ranges
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.core.randomness import Randomness
from sfumato.errors import Infeasible, ParameterError
from sfumato.metrics.information_loss import ncp
from sfumato.models.anonymity import KAnonymity
from sfumato.models.diversity import DistinctLDiversity
from tests.support.models import NobodyAlone, needs_of
from tests.support.tables import groups_of, microdata


def divided(table: Microdata, model: Any, seed: int = 0, **options: Any) -> Partition:
    return TopDown(**options).partition(table, needs_of(model, table), Randomness(seed))


def skewed(n: int, seed: int = 0) -> Microdata:
    rng = np.random.default_rng(seed)
    return microdata({"x": rng.gamma(2.0, 20.0, n).astype(int), "y": rng.integers(0, 60, n)})


def loss(table: Microdata, found: Partition) -> float:
    sides = tuple(
        Ranges.around(attribute, table.codes[attribute.name], found) for attribute in table.quasi
    )
    return ncp(Boxes(sides), found.sizes)


@pytest.mark.parametrize("seed", range(5))
def test_clusters_are_found(seed: int) -> None:
    """Three heaps far apart: whatever the order, they are the groups."""
    table = microdata(
        {"x": [0, 1, 2, 50, 51, 52, 97, 98, 100], "y": [5, 4, 5, 90, 91, 92, 1, 2, 3]}
    )
    found = divided(table, KAnonymity(3), seed)
    assert groups_of(found.groups) == {frozenset(range(i, i + 3)) for i in (0, 3, 6)}


@pytest.mark.parametrize("seed", range(5))
def test_unordered_values_are_sets(seed: int) -> None:
    table = microdata({"job": list("aabbccdd"), "town": list("ppqqrrss")})
    found = divided(table, KAnonymity(2), seed)
    assert groups_of(found.groups) == {frozenset((i, i + 1)) for i in (0, 2, 4, 6)}


@pytest.mark.parametrize("seed", range(5))
def test_missing_values_stay_among_themselves(seed: int) -> None:
    table = microdata({"x": [None, None, None, 1, 2, 3, 4]})
    found = divided(table, KAnonymity(3), seed)
    assert groups_of(found.groups) == {frozenset((0, 1, 2)), frozenset((3, 4, 5, 6))}


def test_a_frequent_vector_is_a_group_of_its_own() -> None:
    table = microdata({"x": [1] * 20 + [50, 51, 52]})
    found = divided(table, KAnonymity(3))
    assert sorted(found.sizes.tolist()) == [3, 20]


def test_values_closer_than_floats_tell_apart_are_still_split() -> None:
    table = microdata({"x": [2**60, 2**60, 2**60 + 1, 2**60 + 1, 2**61, 2**61]})
    assert divided(table, KAnonymity(2)).n_groups == 3


@pytest.mark.parametrize("k", [2, 5])
def test_less_is_lost_than_by_mondrian(k: int) -> None:
    """At small k; where many rows lie in each group's reach, even cuts are as good."""
    table = skewed(3000)
    other = Mondrian().partition(table, needs_of(KAnonymity(k), table), Randomness(0))
    assert loss(table, divided(table, KAnonymity(k))) < loss(table, other)


def test_a_users_model_and_its_refusal() -> None:
    table = microdata({"x": [1, 2, 3, 4, 5], "s": list("aabab")}, sensitive=["s"])
    for rows in groups_of(divided(table, NobodyAlone()).groups):
        assert len({table.codes["s"][row] for row in rows}) == 2
    alike = microdata({"x": [1, 2, 3], "s": list("aaa")}, sensitive=["s"])
    with pytest.raises(Infeasible):
        divided(alike, NobodyAlone())


def test_a_sensitive_column_of_many_values_is_counted_in_classes() -> None:
    n = 3000
    rng = np.random.default_rng(0)
    table = microdata({"x": rng.integers(0, 500, n), "s": np.arange(n)}, sensitive=["s"])
    found = divided(table, DistinctLDiversity(4))
    assert found.sizes.min() >= 4
    assert found.n_groups > n / 10


def test_the_seed_decides() -> None:
    table = skewed(400)
    one, again, other = (divided(table, KAnonymity(4), seed) for seed in (1, 1, 2))
    assert one.groups.tolist() == again.groups.tolist()
    assert groups_of(one.groups) != groups_of(other.groups)


def test_options() -> None:
    stated = {"name": "topdown", "rounds": 2, "refine": 0, "time_limit": 60.0}
    assert describe(TopDown(rounds=2)) == stated
    with pytest.raises(ParameterError):
        TopDown(rounds=0)


def test_a_watched_run_finds_the_same_and_tells_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = skewed(5000)
    alone = divided(table, KAnonymity(3))
    monkeypatch.setattr(module, "_WATCHED", 0)
    heard: list[float] = []
    threads = set(threading.enumerate())
    watched = TopDown().partition(
        table, needs_of(KAnonymity(3), table), Randomness(0), heard.append
    )
    assert watched.groups.tolist() == alone.groups.tolist()
    assert all(0 <= share <= 1 for share in heard)
    assert heard == sorted(heard)
    assert set(threading.enumerate()) <= threads
