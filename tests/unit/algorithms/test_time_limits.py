"""One time limit for all methods that search: the same word, the same meaning, told honestly."""

import json
import tracemalloc
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.algorithms import deadline
from sfumato.algorithms.base import TIME_LIMIT
from sfumato.algorithms.intervals import _prepared, plain
from sfumato.algorithms.intervals import weigh as weighing
from sfumato.algorithms.intervals.grid import IN, OPEN, View
from sfumato.algorithms.intervals.kernel import FORBIDDEN
from sfumato.algorithms.ladders import ladder
from sfumato.algorithms.recoding import descent, local
from sfumato.algorithms.recoding.cuts import SIBLING
from sfumato.algorithms.recoding.local_kernel import add_words
from sfumato.algorithms.recoding.settling import _Compiled, compiled_search
from sfumato.core.arrays import Counts
from sfumato.core.partition import Partition
from sfumato.core.randomness import Randomness
from sfumato.errors import ParameterError
from sfumato.models.bound import Bound, compile_rules
from tests.support.models import InPython, bound_of, needs_of, passing
from tests.support.sealing import reseal
from tests.support.tables import microdata

SEARCHES: tuple[Any, ...] = (
    sf.LocalRecoding,
    sf.FullDomain,
    sf.Subtree,
    sf.Sibling,
    sf.SingleDimensional,
)
MODEL = sf.KAnonymity(4) & sf.DistinctLDiversity(2)


def table(n: int = 400, d: int = 4, size: int = 9, seed: int = 5) -> sf.Microdata:
    random = np.random.default_rng(seed)
    columns = {f"q{j}": random.binomial(size - 1, 0.4, n) for j in range(d)}
    return microdata({**columns, "s": random.choice(list("abcd"), n)}, sensitive=["s"])


@pytest.fixture
def ticks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A clock that moves by one whenever it is read, and what it shows."""
    shows = [0]

    def tick() -> float:
        shows[0] += 1
        return shows[0]

    monkeypatch.setattr(deadline, "monotonic", tick)
    return shows


@pytest.mark.parametrize("method", SEARCHES)
class TestEveryMethod:
    def test_has_the_same_limit(self, method: Any) -> None:
        (limit,) = (field for field in fields(method) if field.name == "time_limit")
        assert limit.default == TIME_LIMIT
        assert method(time_limit=None).time_limit is None

    @pytest.mark.parametrize("limit", [0, -1, np.inf, np.nan])
    def test_refuses_what_is_no_limit(self, method: Any, limit: float) -> None:
        with pytest.raises(ParameterError, match="time_limit") as caught:
            method(time_limit=limit)
        assert caught.value.parameter == "time_limit"

    @pytest.mark.slow
    @pytest.mark.parametrize("model", [MODEL, InPython(sf.DistinctLDiversity(2))], ids=str)
    def test_gives_a_safe_table_whenever_it_strikes(
        self, method: Any, model: Any, ticks: list[int]
    ) -> None:
        data = table()
        needs = needs_of(model, data)
        method(time_limit=10**9).partition(data, needs, Randomness(1))
        enough, struck = ticks[0], 0
        for limit in sorted({1, 2, 3, 5, 8, *np.linspace(9, enough + 9, 8).astype(int).tolist()}):
            ticks[0] = 0
            found = method(time_limit=limit).partition(data, needs, Randomness(1))
            assert passing(needs, data, found).all()
            assert len(found.groups) == data.n_rows
            struck += found.notes["cut_short"]
        assert struck >= 5

    def test_stops_looking_soon_after_it(self, method: Any, ticks: list[int]) -> None:
        """What is done afterwards does not grow with the work that was left."""
        after = []
        for d in (4, 8):
            data = table(d=d)
            ticks[0] = 0
            method(time_limit=20).partition(data, needs_of(sf.KAnonymity(4), data), Randomness(1))
            after.append(ticks[0] - 21)
        assert max(after) <= 32

    def test_changes_nothing_where_it_does_not_strike(self, method: Any) -> None:
        data = table(d=3)
        needs = needs_of(MODEL, data)
        never = method(time_limit=None).partition(data, needs, Randomness(1))
        late = method(time_limit=3600).partition(data, needs, Randomness(1))
        assert (never.groups == late.groups).all()
        assert never.notes == late.notes
        assert never.notes["cut_short"] is False

    def test_is_told_to_the_owner_and_in_no_file(
        self, method: Any, tmp_path: Path, ticks: list[int]
    ) -> None:
        release = sf.publish(table(), method(time_limit=2), MODEL)
        assert ticks[0] > 2
        assert release.manifest.search["cut_short"] is True
        stated = json.loads((release.write(tmp_path / "out") / "release.json").read_text())
        assert stated["algorithm"]["time_limit"] == 2
        assert "cut_short" not in json.dumps(stated)
        assert sf.verify(tmp_path / "out").ok

    def test_releases_of_earlier_versions_do_not_state_it(
        self, method: Any, tmp_path: Path
    ) -> None:
        written = sf.publish(table(100, 2), method(), MODEL).write(tmp_path / "out")
        path = written / "release.json"
        stated = json.loads(path.read_text())
        assert stated["algorithm"].pop("time_limit") == TIME_LIMIT
        path.write_text(json.dumps(stated, indent=2, ensure_ascii=False) + "\n")
        # single-dimensional partitioning has always stated it
        assert sf.verify(reseal(written)).ok == (method is not sf.SingleDimensional)


class TestWhatIsFound:
    """Cut short, a search still gives more than nothing."""

    def test_levels_come_with_a_bound_that_holds(self, ticks: list[int]) -> None:
        data = table()
        needs = needs_of(sf.KAnonymity(4), data)
        best = sf.FullDomain(time_limit=None).solve(data, needs)
        assert best.optimal
        for limit in range(1, best.visited, 3):
            ticks[0] = 0
            found = sf.FullDomain(time_limit=limit).solve(data, needs)
            assert found.bound <= best.cost <= found.cost
            assert found.cut_short
            assert found.visited <= limit + 1

    def test_a_large_lattice_comes_with_a_bound_that_holds(
        self, ticks: list[int], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        data = table()
        needs = needs_of(sf.KAnonymity(4), data)
        best = sf.FullDomain(time_limit=None).solve(data, needs)
        monkeypatch.setattr("sfumato.algorithms.recoding.full_domain._SEARCHED", 1)
        whole = sf.FullDomain(time_limit=None).solve(data, needs)
        for limit in (1, 4, 12, 24):
            ticks[0] = 0
            found = sf.FullDomain(time_limit=limit).solve(data, needs)
            assert found.bound <= best.cost <= found.cost
            assert found.bound <= whole.bound
            assert found.cut_short

    @pytest.mark.parametrize(("method", "some"), [(sf.Subtree, 15), (sf.Sibling, 60)])
    def test_cuts_come_from_what_there_was_time_for(
        self, method: Any, some: int, ticks: list[int]
    ) -> None:
        data = table()
        losses = []
        for limit in (1, some, 10**9):
            ticks[0] = 0
            release = sf.publish(data, method(time_limit=limit), sf.KAnonymity(4), seed=1)
            assert release.manifest.search["cut_short"] is (limit < 10**9)
            losses.append(release.metrics["ncp"])
        assert losses[0] == 1  # nothing but the roots
        assert losses[0] > losses[1] >= losses[2]

    def test_local_recoding_groups_the_rest_in_strides(self, ticks: list[int]) -> None:
        data = table(d=6)
        needs = needs_of(sf.KAnonymity(4), data)
        found = sf.LocalRecoding(time_limit=40, visits=1).partition(data, needs, Randomness(1))
        assert found.notes["cut_short"] is True
        assert found.notes["visited"] <= 40
        assert found.n_groups > 20  # not all that was left in one

    def test_long_attributes_get_some_cuts_before_all_are_looked_at(
        self, ticks: list[int], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        random = np.random.default_rng(3)
        data = microdata({"x": random.integers(0, 2000, 4000), "y": random.integers(0, 2000, 4000)})
        monkeypatch.setattr(weighing, "_PORTION", 2**16)
        needs = needs_of(sf.KAnonymity(5), data)
        found = sf.SingleDimensional(time_limit=60).solve(data, needs)
        assert found.cut_short
        assert found.cost < 4000 * 40


@pytest.mark.slow
def test_two_long_attributes_do_not_make_a_square(
    ticks: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A matrix of all intervals would take 28 GB."""
    random = np.random.default_rng(4)
    data = microdata({"x": random.permutation(60_000), "y": random.permutation(60_000)})
    monkeypatch.setattr(weighing, "_PORTION", 2**18)
    needs = needs_of(sf.KAnonymity(5), data)
    sf.SingleDimensional(time_limit=2).solve(data, needs)  # the compiler's memory is not ours
    tracemalloc.start()
    try:
        ticks[0] = 0
        found = sf.SingleDimensional(time_limit=400).solve(data, needs)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.cost < 60_000**2
    assert peak < 200 * 2**20


def test_a_step_is_weighed_without_all_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sibling: 300 values mean some hundred recodings, not some ten thousand."""
    made = []

    def recoding(cut: Any) -> Any:
        made.append(cut)
        return SIBLING.recoding(cut)

    random = np.random.default_rng(2)
    data = microdata({"x": random.integers(0, 300, 2000), "y": random.integers(0, 300, 2000)})
    counted = SIBLING._replace(recoding=recoding)
    monkeypatch.setattr(sf.Sibling, "scheme", counted)
    found = sf.Sibling().partition(data, needs_of(sf.KAnonymity(3), data), Randomness(1))
    assert found.notes["visited"] > 300
    assert len(made) <= 4 * 600


class TestTwins:
    """Shortcuts against the long way."""

    @settings(deadline=None, max_examples=20)
    @given(seed=st.integers(0, 10**6))
    def test_sums_of_words_follow_the_levels(self, seed: int) -> None:
        data = table(60, 3, seed=seed)
        rules = compile_rules(bound_of(MODEL, data))
        assert rules is not None
        ladders = [ladder(each) for each in data.quasi]
        search = compiled_search(bound_of(MODEL, data), rules, ladders, Randomness(seed))
        assert isinstance(search, _Compiled)
        random = np.random.default_rng(seed)
        for _ in range(5):
            levels = random.integers(0, [len(one.classes) for one in ladders])
            search.settle(levels)
            fresh = np.zeros_like(search.bench.sums)
            add_words(search.space, fresh, levels)
            alive = search.alive[: search.n_alive]
            assert (fresh[alive] == search.bench.sums[alive]).all()

    @settings(deadline=None, max_examples=40)
    @given(
        seed=st.integers(0, 10**6),
        model=st.sampled_from([MODEL, sf.TCloseness(0.2), sf.EntropyLDiversity(3.5)]),
    )
    def test_the_rest_joins_as_many_groups_as_it_takes(self, seed: int, model: Any) -> None:
        data = table(60, 1, seed=seed)
        needs = needs_of(model, data)
        groups = np.random.default_rng(seed).integers(-1, 9, 60).astype(np.int32)
        groups[groups >= 0] = np.unique(groups[groups >= 0], return_inverse=True)[1]
        found = local._with_the_rest(groups, Bound.of(needs, data))
        expected = np.zeros_like(groups)
        for first in range(int(groups.max()), -1, -1):
            joined = np.where((groups < 0) | (groups >= first), first, groups)
            together = Partition.of(np.where(joined == first, 0, 1).astype(np.int32))
            if passing(needs, data, together)[0]:
                expected = joined
                break
        assert (found == expected).all() or not (groups < 0).any()

    @settings(deadline=None, max_examples=40)
    @given(seed=st.integers(0, 10**6), most=st.integers(1, 4000), axis=st.integers(0, 2))
    def test_intervals_are_the_same_however_they_are_weighed(
        self, seed: int, most: int, axis: int
    ) -> None:
        data = table(80, 3, seed=seed)
        random = np.random.default_rng(seed)
        found: dict[str, Counts] = {}
        diverse = sf.DistinctLDiversity(3)
        for name, model, spread, portion, entries in (
            ("wide", diverse, 2**22, 2**21, 2**20),
            ("narrow", diverse, 0, 1, 2**20),
            ("plain", InPython(diverse), 2**22, 2**21, 7),
        ):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(weighing, "_SPREAD", spread)
                patch.setattr(weighing, "_PORTION", portion)
                patch.setattr(plain, "_ENTRIES", entries)
                crowd, weigh = _prepared(bound_of(model, data), deadline.NEVER)
                marks = crowd.marks(OPEN)
                if not found:
                    decided = np.flatnonzero(marks == OPEN)
                    chosen = random.choice([0, 1, 2], len(decided)).astype(np.int8)
                marks[decided] = chosen
                strip = View.through(crowd, marks).strip(axis)
                whole = weigh(strip, FORBIDDEN)
                found[name] = whole.lines(0, whole.n_slabs)
                part = weigh(strip, most).lines(0, whole.n_slabs)
            same = part == found[name]
            assert same[found[name] <= most].all()
            assert (part[~same] == FORBIDDEN).all()
        assert (found["wide"] == found["narrow"]).all()
        allowed = found["wide"] < FORBIDDEN
        assert (allowed == (found["plain"] < FORBIDDEN)).all()

    @settings(deadline=None, max_examples=20)
    @given(seed=st.integers(0, 10**6))
    def test_a_quick_no_is_a_no(self, seed: int) -> None:
        """Steps that are refused by sizes alone are refused by the whole verdict, too."""
        data = table(120, 3, seed=seed)
        needs = needs_of(MODEL, data)
        quick = sf.Sibling().partition(data, needs, Randomness(1))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(descent, "leaves_too_few", lambda *_: False)
            patch.setattr("sfumato.algorithms.recoding.judge.Judge.too_small", lambda *_: False)
            slow = sf.Sibling().partition(data, needs, Randomness(1))
        assert (quick.groups == slow.groups).all()
        assert quick.notes == slow.notes


def test_coarse_cuts_lie_among_the_finer_ones() -> None:
    data = table(500, 2, 60)
    crowd, _ = _prepared(bound_of(MODEL, data), deadline.NEVER)
    coarse, fine = crowd.every(4), crowd.every(16)
    assert ((coarse == OPEN) <= (fine == OPEN)).all()
    assert 0 < (coarse == OPEN).sum() <= 2 * 3
    assert (coarse == IN).sum() == 4
