"""Single-dimensional partitioning: the printed table, all grids as oracle, limits, boxes."""

from itertools import combinations, pairwise, product
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.algorithms import deadline
from sfumato.algorithms import intervals as single_dimensional
from sfumato.algorithms.deadline import NEVER
from sfumato.algorithms.intervals import SingleDimensional, Solution, _prepared
from sfumato.algorithms.intervals import ways as way_search
from sfumato.algorithms.intervals import weigh as weighing
from sfumato.algorithms.intervals.first_grids import Cheapest, first_grid, grid_of
from sfumato.algorithms.intervals.grid import OPEN, OUT, View
from sfumato.algorithms.intervals.kernel import FORBIDDEN, weigh_intervals
from sfumato.algorithms.intervals.ways import best_way, best_ways, costs_of
from sfumato.core.arrays import Counts
from sfumato.core.boxes import Ranges, ValueSets
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.core.randomness import Randomness
from sfumato.errors import Infeasible, ParameterError
from sfumato.models.anonymity import KAnonymity
from sfumato.models.base import BuiltIn
from sfumato.models.diversity import DistinctLDiversity
from tests.support.models import SETTINGS, InPython, NobodyAlone, bound_of, needs_of, passing
from tests.support.strategies import tables
from tests.support.tables import PATIENTS, groups_of, microdata

THOROUGH = SingleDimensional(time_limit=None)


def solved(table: Microdata, model: Any, algorithm: SingleDimensional = THOROUGH) -> Solution:
    return algorithm.solve(table, needs_of(model, table))


def divided(table: Microdata, model: Any, algorithm: SingleDimensional = THOROUGH) -> Partition:
    return algorithm.partition(table, needs_of(model, table), Randomness(0))


def all_grids(table: Microdata) -> list[Partition]:
    """The partition of every set of cuts."""
    axes = []
    for name in table.schema.quasi:
        codes = table.codes[name]
        present = np.unique(codes)
        cuts = [
            cut for size in range(len(present)) for cut in combinations(present[1:].tolist(), size)
        ]
        axes.append([np.searchsorted(np.array(cut), codes, "right") for cut in cuts])
    grids = []
    for chosen in product(*axes):
        groups = np.unique(np.stack(chosen), axis=1, return_inverse=True)[1]
        grids.append(Partition.of(groups.ravel().astype(np.int32)))
    return grids


def cheapest(table: Microdata, model: Any) -> int:
    needs = needs_of(model, table)
    return min(
        int((grid.sizes**2).sum()) for grid in all_grids(table) if passing(needs, table, grid).all()
    )


@st.composite
def tiny_tables(draw: st.DrawFn) -> Microdata:
    n = draw(st.integers(4, 24))
    shape = draw(st.sampled_from([(7,), (4, 4), (5, 3), (3, 3, 3)]))
    columns: dict[str, Any] = {
        f"q{j}": draw(st.lists(st.integers(0, size - 1), min_size=n, max_size=n))
        for j, size in enumerate(shape)
    }
    columns["s"] = draw(st.lists(st.sampled_from("abc"), min_size=n, max_size=n))
    return microdata(columns, sensitive=["s"])


class TestOptimal:
    @pytest.mark.slow
    @settings(deadline=None, max_examples=60)
    @given(table=tiny_tables(), k=st.integers(2, 6))
    def test_no_grid_is_cheaper_under_k_anonymity(self, table: Microdata, k: int) -> None:
        model = KAnonymity(min(k, table.n_rows))
        found = solved(table, model)
        assert found.optimal
        assert found.cost == cheapest(table, model)

    @pytest.mark.slow
    @settings(deadline=None, max_examples=60)
    @given(table=tiny_tables(), model=st.sampled_from(SETTINGS))
    def test_nor_under_any_other_model(self, table: Microdata, model: BuiltIn) -> None:
        if not passing(needs_of(model, table), table, all_grids(table)[0]).all():
            with pytest.raises(Infeasible):
                solved(table, model)
            return
        found = solved(table, model)
        assert found.optimal
        assert found.cost == cheapest(table, model)

    @pytest.mark.slow
    @settings(deadline=None, max_examples=40)
    @given(table=tiny_tables(), model=st.sampled_from(SETTINGS))
    def test_a_model_in_python_gives_the_same_grid(self, table: Microdata, model: BuiltIn) -> None:
        if not passing(needs_of(model, table), table, all_grids(table)[0]).all():
            return
        found = solved(table, InPython(model))
        assert found.cost == solved(table, model).cost
        finest = int((all_grids(table)[-1].sizes ** 2).sum())
        assert found.bound == finest

    @pytest.mark.slow
    @settings(deadline=None, max_examples=60)
    @given(table=tables(max_rows=20), k=st.integers(2, 4))
    def test_any_sort_of_column_makes_a_grid(self, table: Microdata, k: int) -> None:
        assume(table.n_rows > 1)
        model = KAnonymity(min(k, table.n_rows))
        found = divided(table, model)
        assert found.sizes.min() >= model.k
        assert int((found.sizes**2).sum()) == solved(table, model).cost
        assert found.boxes is not None
        for side in found.boxes:
            assert side.covers(table.codes[side.attribute.name], found.groups).all()

    @pytest.mark.slow
    def test_the_two_attributes_of_the_paper_are_solved(self) -> None:
        """A thousand skewed rows, fifty values: the search, not luck, must close the gap."""
        rng = np.random.default_rng(0)
        rows = np.clip(np.floor(rng.normal(25.5, 10, (1000, 2))), 0, 49).astype(int)
        table = microdata({"x": rows[:, 0], "y": rows[:, 1]})
        found = solved(table, KAnonymity(25))
        assert found.optimal
        assert found.visited > 100
        sizes = divided(table, KAnonymity(25)).sizes
        assert sizes.min() >= 25
        assert (sizes**2).sum() == found.cost


class TestPatients:
    """Figure 2 of the Mondrian paper: a 2-anonymous grid of six patients."""

    TABLE = microdata(PATIENTS, sensitive=["disease"])

    def test_the_printed_grid_is_beaten_by_two_groups_of_three(self) -> None:
        """The paper prints groups of four and two, which cost 20; cutting age at 26 costs 18."""
        printed = Partition.of(np.array([0, 1, 0, 0, 1, 0], np.int32))
        assert groups_of(printed.groups) in [
            groups_of(grid.groups) for grid in all_grids(self.TABLE)
        ]
        found = solved(self.TABLE, KAnonymity(2))
        assert (found.cost, int((printed.sizes**2).sum())) == (18, 20)
        assert found.starts == {"age": (0, 2), "sex": (0,), "zipcode": (0,)}

    def test_a_release_shows_the_same_intervals_to_all(self) -> None:
        release = sf.publish(self.TABLE, THOROUGH, KAnonymity(2), labels="text", seed=1)
        shown = set(release.table.column("age").to_pylist())
        starts = solved(self.TABLE, KAnonymity(2)).starts["age"]
        assert len(shown) <= len(starts)


class TestBoxes:
    def test_intervals_end_at_values_that_occur_anywhere_in_them(self) -> None:
        table = microdata({"x": [1, 2, 3, 3, 7, 8, 9, 9], "y": [0, 0, 0, 0, 5, 5, 5, 5]})
        found = divided(table, KAnonymity(4))
        assert found.boxes is not None
        side = found.boxes.sides[0]
        assert isinstance(side, Ranges)
        ends = {(int(low), int(high)) for low, high in zip(side.low, side.high, strict=True)}
        assert ends == {(0, 2), (3, 5)}

    def test_groups_of_one_interval_show_it_alike(self) -> None:
        """Nobody with y = 1 has x = 1, yet the interval of x is the same for both."""
        table = microdata({"x": [1, 2, 2, 2, 2, 2], "y": [0, 0, 0, 1, 1, 1]})
        found = divided(table, KAnonymity(3))
        assert found.n_groups == 2
        assert found.boxes is not None
        side = found.boxes.sides[0]
        assert isinstance(side, Ranges)
        assert side.low.tolist() == [0, 0]
        assert side.high.tolist() == [1, 1]

    def test_unordered_categories_are_cut_in_the_order_of_their_codes(self) -> None:
        table = microdata({"job": ["cook"] * 2 + ["judge"] * 2 + ["clerk"] * 2})
        found = divided(table, KAnonymity(3))
        assert found.boxes is not None
        side = found.boxes.sides[0]
        assert isinstance(side, ValueSets)
        assert found.n_groups == 1
        assert side.codes.tolist() == [0, 1, 2]

    def test_a_missing_value_is_the_last_one(self) -> None:
        table = microdata({"x": [1, 1, 2, 2, None, None]})
        found = divided(table, KAnonymity(2))
        assert found.n_groups == 3
        assert found.boxes is not None
        side = found.boxes.sides[0]
        assert isinstance(side, Ranges)
        assert sorted(side.low.tolist()) == [-1, 0, 1]
        assert side.missing.sum() == 1

    def test_values_that_do_not_occur_are_no_cuts(self) -> None:
        table = microdata({"x": [0, 0, 9, 9]}, orders={"x": range(10)})
        assert solved(table, KAnonymity(2)).starts == {"x": (0, 9)}


class TestLimits:
    TABLE = microdata(
        dict(zip("xyz", np.random.default_rng(7).binomial(9, 0.5, (3, 300)), strict=True))
    )

    def test_a_node_limit_leaves_a_gap_that_is_told(self) -> None:
        found = solved(self.TABLE, KAnonymity(5), SingleDimensional(None, node_limit=2))
        best = solved(self.TABLE, KAnonymity(5))
        assert found.visited == 2 < best.visited
        assert best.optimal
        assert not found.optimal
        assert best.gap == 0
        assert found.bound <= best.cost <= found.cost
        assert 0 < found.gap < 1

    def test_a_release_tells_how_good_it_is(self) -> None:
        found = divided(self.TABLE, KAnonymity(5), SingleDimensional(None, node_limit=2))
        assert found.notes["visited"] == 2
        assert found.notes["optimal"] is False
        assert found.notes["lower_bound"] < (found.sizes**2).sum()

    def test_no_time_at_all_still_gives_a_safe_grid(self) -> None:
        found = divided(self.TABLE, KAnonymity(5), SingleDimensional(time_limit=1e-9))
        assert found.sizes.min() >= 5

    @pytest.mark.parametrize(
        "limits",
        [{"time_limit": 0}, {"time_limit": np.inf}, {"node_limit": 0}, {"node_limit": -3}],
    )
    def test_a_limit_is_positive(self, limits: dict[str, Any]) -> None:
        (name,) = limits
        with pytest.raises(ParameterError, match=name) as caught:
            SingleDimensional(**limits)
        assert caught.value.parameter == name

    def test_progress_is_the_share_that_is_proven(self) -> None:
        heard: list[float] = []
        THOROUGH.solve(self.TABLE, needs_of(KAnonymity(5), self.TABLE), heard.append)
        assert heard == sorted(heard)
        assert 0 <= heard[0] <= heard[-1] <= 1


class TestTimeLimit:
    """The clock moves by one at every look, so that a limit ends the search at a known step."""

    TABLE = microdata(
        {
            **dict(zip("xyz", np.random.default_rng(7).binomial(7, 0.5, (3, 300)), strict=True)),
            "s": np.random.default_rng(8).choice(list("abcd"), 300),
        },
        sensitive=["s"],
    )
    MODELS = (KAnonymity(5), DistinctLDiversity(3), InPython(DistinctLDiversity(3)))

    @staticmethod
    def clock(patch: pytest.MonkeyPatch) -> tuple[list[int], list[int]]:
        """The moments at which the clock was read, and those at which intervals were weighed."""
        read, worked = [0], list[int]()

        def tick() -> float:
            read.append(read[-1] + 1)
            return read[-1]

        def weigh(*arguments: Any) -> None:
            worked.append(read[-1])
            weigh_intervals(*arguments)

        patch.setattr(deadline, "monotonic", tick)
        patch.setattr(single_dimensional, "compile_first", lambda: None)
        patch.setattr(weighing, "weigh_intervals", weigh)
        return read, worked

    @pytest.mark.slow
    @pytest.mark.parametrize("model", MODELS, ids=str)
    def test_no_phase_weighs_anything_after_it(
        self, model: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        read, worked = self.clock(monkeypatch)
        best = solved(self.TABLE, model, SingleDimensional(None, node_limit=40))
        visited = set()
        for limit in [*range(1, 30), *range(30, read[-1], 23)]:
            read[:], worked[:] = [0], []
            found = solved(self.TABLE, model, SingleDimensional(time_limit=limit))
            until = 1 + limit
            assert worked == [] or max(worked) < until
            assert read[-1] == until  # and nobody looks again after having been told
            assert found.cut_short
            assert found.bound <= found.cost
            assert found.bound <= best.cost
            needs = needs_of(model, self.TABLE)
            grid = divided_by(self.TABLE, found)
            assert passing(needs, self.TABLE, grid).all()
            assert (grid.sizes**2).sum() == found.cost
            visited.add(found.visited)
        assert 0 in visited  # limits that passed before the first node, and after
        assert len(visited) > 2

    def test_more_time_is_never_worse(self, monkeypatch: pytest.MonkeyPatch) -> None:
        read, _ = self.clock(monkeypatch)
        costs = []
        for limit in (1, 6, 20, 80, 320, 1280):
            read[:] = [0]
            costs.append(
                solved(self.TABLE, DistinctLDiversity(3), SingleDimensional(time_limit=limit)).cost
            )
        assert costs == sorted(costs, reverse=True)
        assert costs[0] == self.TABLE.n_rows**2 > costs[1]  # the first look already finds cuts

    @pytest.mark.slow
    def test_a_long_look_is_broken_off_in_the_middle(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """One attribute of many values: its only look takes several portions."""
        table = microdata({"x": np.arange(400) % 200})
        read, worked = self.clock(monkeypatch)
        monkeypatch.setattr(weighing, "_PORTION", 1)
        found = solved(table, KAnonymity(2), SingleDimensional(time_limit=50))
        assert 40 < len(worked) < 50
        assert found.cut_short
        assert found.cost == 400**2
        read[:], worked[:] = [0], []
        assert solved(table, KAnonymity(2)).cost == 2 * 400
        assert len(worked) >= 200 * 201 / 2


def divided_by(table: Microdata, found: Solution) -> Partition:
    """The cells of the intervals that were chosen."""
    cells = [np.searchsorted(found.starts[name], table.codes[name], "right") for name in "xyz"]
    groups = np.unique(np.stack(cells), axis=1, return_inverse=True)[1]
    return Partition.of(groups.ravel().astype(np.int32))


def test_a_users_model_is_kept_and_never_called_optimal() -> None:
    table = microdata(
        {"x": np.arange(24) % 6, "y": np.arange(24) % 4, "s": list("abcabd") * 4}, sensitive=["s"]
    )
    found = divided(table, NobodyAlone())
    assert passing(needs_of(NobodyAlone(), table), table, found).all()
    assert not solved(table, NobodyAlone()).optimal


def test_two_sensitive_columns_are_both_kept() -> None:
    rng = np.random.default_rng(3)
    table = microdata(
        {
            "x": rng.integers(0, 9, 80),
            "s": rng.choice(list("abc"), 80),
            "t": rng.integers(0, 4, 80),
        },
        sensitive=["s", "t"],
    )
    model = DistinctLDiversity(3)
    found = divided(table, model)
    assert passing(needs_of(model, table), table, found).all()
    assert solved(table, model).cost == cheapest(table, model)


def test_the_groups_are_the_cells_of_the_starts() -> None:
    table = TestLimits.TABLE
    starts = solved(table, KAnonymity(5)).starts
    cells: dict[tuple[int, ...], set[int]] = {}
    for row in range(table.n_rows):
        cell = tuple(
            sum(int(table.codes[name][row]) >= start for start in starts[name]) for name in starts
        )
        cells.setdefault(cell, set()).add(row)
    assert groups_of(divided(table, KAnonymity(5)).groups) == set(map(frozenset, cells.values()))


@st.composite
def step_costs(draw: st.DrawFn) -> Counts:
    n = draw(st.integers(2, 6))
    costs = np.full((n, n), FORBIDDEN, np.int64)
    for a, b in combinations(range(n), 2):
        costs[a, b] = draw(st.integers(0, 20) | st.just(FORBIDDEN))
    return costs


class Given(NamedTuple):
    """Intervals whose costs are given."""

    costs: Counts

    @property
    def n_slabs(self) -> int:
        return len(self.costs) - 1

    def lines(self, first: int, last: int) -> Counts:
        return self.costs[first:last]


@pytest.mark.parametrize("kept", [0, 2**24])
@pytest.mark.parametrize("block", [1, 13, 2**20])
@given(costs=step_costs())
def test_ways_are_those_of_trying_them_all(costs: Counts, block: int, kept: int) -> None:
    """However many lines are held at a time, and whether they are weighed once or twice."""
    n = len(costs)
    ways = {
        way: sum(int(costs[a, b]) for a, b in pairwise(way))
        for size in range(n - 1)
        for inner in combinations(range(1, n - 1), size)
        for way in [(0, *inner, n - 1)]
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(way_search, "_BLOCK", block)
        patch.setattr(way_search, "_KEPT", kept)
        through, around, on_way = best_ways(Given(costs))
        alone = best_way(Given(costs))
        starts, ends = np.triu_indices(n, 1)
        assert (costs_of(Given(costs), starts, ends) == costs[starts, ends]).all()
    for b in range(n):
        with_b = [cost for way, cost in ways.items() if b in way]
        without = [cost for way, cost in ways.items() if b not in way]
        assert through[b] == min([*with_b, FORBIDDEN])
        assert around[b] == min([*without, FORBIDDEN])
    assert alone.cost == through[0]
    assert (alone.boundaries == on_way).all()
    if through[0] < FORBIDDEN:
        assert ways[tuple(np.flatnonzero(on_way).tolist())] == through[0]


@settings(deadline=None, max_examples=30)
@given(table=tiny_tables(), k=st.integers(2, 5))
def test_a_bound_never_exceeds_the_best_grid(table: Microdata, k: int) -> None:
    model = KAnonymity(min(k, table.n_rows))
    crowd, weigh = _prepared(bound_of(model, table), NEVER)
    view = View.through(crowd, crowd.marks(OPEN))
    best = cheapest(table, model)
    found = Cheapest(grid_of(crowd, crowd.marks(OUT)))
    first_grid(crowd, weigh, found)
    assert found.grid.cost >= best
    for axis in range(len(crowd.slices)):
        assert best_ways(weigh(view.strip(axis), FORBIDDEN))[0][0] <= best
