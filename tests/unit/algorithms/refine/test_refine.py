"""Refined boxes: never worse, as safe as before, near the optimum where that is known."""

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.algorithms import deadline
from sfumato.algorithms import refine as refining
from sfumato.algorithms.refine import _loss, _Search, refined
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.core.randomness import Randomness
from sfumato.errors import Infeasible, ParameterError
from sfumato.models.bound import compile_rules
from tests.support.models import NobodyAlone, bound_of, needs_of, passing
from tests.support.sealing import reseal
from tests.support.tables import microdata

METHODS: tuple[Any, ...] = (sf.Mondrian, sf.TopDown, sf.Frontier)
MODELS: tuple[Any, ...] = (
    sf.KAnonymity(3),
    sf.KAnonymity(4) & sf.DistinctLDiversity(3),
    sf.LDiversity(3),
    sf.EntropyLDiversity(2),
    sf.RecursiveLDiversity(3, 2),
    sf.KAnonymity(2) & sf.TCloseness(0.5),
)


def people(n: int = 300, seed: int = 5, values: int = 6) -> Microdata:
    random = np.random.default_rng(seed)
    ages = random.integers(20, 60, n).tolist()
    return microdata(
        {
            "age": [None if age == 33 else age for age in ages],
            "job": random.choice([f"j{i}" for i in range(9)], n),
            "grade": random.choice(["low", "middle", "high"], n),
            "town": random.choice([f"t{i}" for i in range(70)], n),
            "disease": random.choice([f"d{i}" for i in range(values)], n),
        },
        sensitive=["disease"],
        orders={"grade": ["low", "middle", "high"]},
    )


def divided(table: Microdata, method: Any, model: Any, seed: int = 1, **options: Any) -> Partition:
    found: Partition = method(**options).partition(table, needs_of(model, table), Randomness(seed))
    return found


@pytest.fixture
def ticks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A clock that moves by one whenever it is read, and what it shows."""
    shows = [0]

    def tick() -> float:
        shows[0] += 1
        return shows[0]

    monkeypatch.setattr(deadline, "monotonic", tick)
    return shows


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("method", METHODS)
def test_boxes_lose_less_and_groups_still_pass(method: Any, model: Any) -> None:
    table = people()
    plain, once, thrice = (divided(table, method, model, refine=passes) for passes in (0, 1, 3))
    assert _loss(table, thrice) <= _loss(table, once) < _loss(table, plain)
    for found in (once, thrice):
        assert passing(needs_of(model, table), table, found).all()
        assert found.n_rows == table.n_rows
        assert found.notes == {"cut_short": False}


@given(
    table=st.builds(people, n=st.integers(8, 60), seed=st.integers(0, 10**6)),
    model=st.sampled_from(MODELS),
    method=st.sampled_from(METHODS),
    passes=st.integers(1, 3),
)
@settings(max_examples=60, deadline=None)
def test_no_table_gets_worse(table: Microdata, model: Any, method: Any, passes: int) -> None:
    needs = needs_of(model, table)
    try:
        plain = divided(table, method, model)
    except Infeasible:
        return
    found = divided(table, method, model, refine=passes)
    assert _loss(table, found) <= _loss(table, plain) + 1e-9
    assert passing(needs, table, found).all()


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_what_kernels_know_of_groups_is_true(model: Any) -> None:
    """Loads, boxes and lists are kept up to date, rebuilt group after rebuilt group."""
    table = people()
    bound = bound_of(model, table)
    rules = compile_rules(bound)
    assert rules is not None
    start = divided(table, sf.Mondrian, model)
    search = _Search(start, bound, rules, Randomness(3).key("test"))
    assert search.run(2, deadline.NEVER, lambda _: None)
    found, groups = search.partition(), search._groups
    alive = np.flatnonzero(groups.loads)
    assert groups.loads[alive].tolist() == found.sizes.tolist()
    told = float((groups.loads[alive] * groups.sides.penalties[alive]).sum())
    assert told == pytest.approx(_loss(table, found))
    assert told < _loss(table, start) * 0.9
    assert sorted([*alive, *groups.free[: groups.n_free[0]]]) == list(range(len(groups.loads)))


def test_sets_too_large_for_bits_are_counted_exactly_at_the_end() -> None:
    random = np.random.default_rng(7)
    table = microdata({name: random.permutation(600).astype(str) for name in "ab"})
    bound = bound_of(sf.KAnonymity(2), table)
    pairs = Partition.of((np.arange(600) // 2).astype(np.int32))  # nothing can be better
    found = refined(pairs, bound, 2, None, Randomness(1))
    assert _loss(table, found) == _loss(table, pairs)


def optimum(table: Microdata, k: int) -> float:
    """The least loss of all partitions into groups of k rows or more."""
    n = table.n_rows
    best = {frozenset[int](): 0.0}

    def loss(rows: tuple[int, ...]) -> float:
        total = 0.0
        for attribute in table.quasi:
            codes = table.codes[attribute.name][list(rows)]
            at = attribute.coordinates
            wide = at[codes.max()] - at[codes.min()]
            share = (len(set(codes.tolist())) - 1) / max(1, attribute.size - 1)
            total += len(rows) * (wide if attribute.ordered else share)
        return total

    def rest(rows: frozenset[int]) -> float:
        if rows not in best:
            first, *others = sorted(rows)
            best[rows] = min(
                (
                    loss((first, *more)) + rest(rows - {first, *more})
                    for size in range(k - 1, len(others) + 1)
                    if size == len(others) or len(others) - size >= k
                    for more in itertools.combinations(others, size)
                ),
                default=np.inf,
            )
        return best[rows]

    return rest(frozenset(range(n)))


def test_tiny_tables_come_near_the_optimum() -> None:
    sums = np.zeros(3)
    for seed in range(40):
        random = np.random.default_rng(seed)
        table = microdata(
            {
                "x": [*random.integers(0, 10, 7), 10],
                "y": random.integers(0, 10, 8),
                "z": random.choice(list("abcd"), 8),
            }
        )
        plain = divided(table, sf.Mondrian, sf.KAnonymity(2))
        better = divided(table, sf.Mondrian, sf.KAnonymity(2), refine=6)
        losses = [optimum(table, 2), _loss(table, better), _loss(table, plain)]
        assert losses[0] <= losses[1] + 1e-9
        sums += losses
    best, near, far = sums
    assert near <= 1.08 * best
    assert far >= 1.2 * best


@pytest.mark.parametrize("method", METHODS)
def test_the_seed_decides(method: Any) -> None:
    table = people()
    one, again, other = (
        divided(table, method, sf.LDiversity(3), seed, refine=1) for seed in (1, 1, 2)
    )
    assert (one.groups == again.groups).all()
    assert (one.groups != other.groups).any()


@pytest.mark.parametrize("method", METHODS)
def test_a_limit_gives_a_safe_table_whenever_it_strikes(method: Any, ticks: list[int]) -> None:
    table, model = people(), sf.KAnonymity(3) & sf.DistinctLDiversity(2)
    needs = needs_of(model, table)
    losses, struck = [], 0
    for limit in range(1, 20):
        ticks[0] = 0
        found = divided(table, method, model, refine=2, time_limit=limit)
        assert passing(needs, table, found).all()
        losses.append(_loss(table, found))
        struck += found.notes["cut_short"]
        assert ticks[0] <= limit + 1
    assert 10 < struck < 19
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0]


def test_long_work_is_done_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    table = people()
    whole = divided(table, sf.Mondrian, sf.KAnonymity(3), refine=1)
    monkeypatch.setattr(refining, "_WORK", 1)
    heard: list[float] = []
    found = sf.Mondrian(refine=1).partition(
        table, needs_of(sf.KAnonymity(3), table), Randomness(1), heard.append
    )
    assert (found.groups == whole.groups).all()
    assert len(heard) > 8 * 50
    assert heard == sorted(heard)
    assert heard[0] == 0.5
    assert 0.99 < heard[-1] < 1


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("passes", [-1, 1.0, True, "1", None])
def test_passes_are_a_whole_number(method: Any, passes: Any) -> None:
    with pytest.raises(ParameterError, match="refine must be") as caught:
        method(refine=passes)
    assert caught.value.parameter == "refine"


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("limit", [0, -1, np.inf, np.nan])
def test_a_limit_is_one(method: Any, limit: float) -> None:
    with pytest.raises(ParameterError, match="time_limit"):
        method(time_limit=limit)


@pytest.mark.parametrize("method", METHODS)
def test_a_model_of_ones_own_is_refused(method: Any) -> None:
    with pytest.raises(ParameterError, match="refine=0"):
        divided(people(), method, NobodyAlone(), refine=1)


@pytest.mark.parametrize("method", METHODS)
def test_beyond_memory_it_is_refused(method: Any) -> None:
    needs = needs_of(sf.LDiversity(2), people())
    method().require_planned(needs)
    with pytest.raises(ParameterError, match="refine looks at all groups"):
        method(refine=1).require_planned(needs)


@pytest.mark.parametrize("method", METHODS)
def test_a_release_states_it_and_earlier_ones_did_not(method: Any, tmp_path: Path) -> None:
    release = sf.publish(people(), method(refine=1), sf.LDiversity(2))
    written = release.write(tmp_path / "out")
    assert sf.verify(written).ok
    path = written / "release.json"
    stated = json.loads(path.read_text())

    def restated(**options: Any) -> bool:
        algorithm = {**stated["algorithm"], **options}
        told = {key: value for key, value in algorithm.items() if value is not ...}
        text = json.dumps({**stated, "algorithm": told}, indent=2, ensure_ascii=False)
        path.write_text(text + "\n")
        return sf.verify(reseal(written)).ok

    assert (stated["algorithm"]["refine"], stated["algorithm"]["time_limit"]) == (1, 60.0)
    assert restated(refine=..., time_limit=...)
    assert not restated(refine=...)
    assert not restated(refine=-1)
    assert not restated(refine="Ada has flu")
