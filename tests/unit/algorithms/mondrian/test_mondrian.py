"""Mondrian: the printed tables, the slips of the paper, users' models, interruption."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sfumato.algorithms.mondrian as module
from sfumato.algorithms.base import describe
from sfumato.algorithms.mondrian import Mondrian
from sfumato.core.arrays import Counts
from sfumato.core.boxes import Ranges, ValueSets
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.core.randomness import Randomness
from sfumato.errors import Infeasible, ParameterError
from sfumato.models.anonymity import KAnonymity
from sfumato.models.closeness import TCloseness
from sfumato.models.diversity import DistinctLDiversity, LDiversity
from tests.support.models import NobodyAlone, needs_of, passing
from tests.support.tables import PATIENTS, groups_of, microdata, partition
from tests.support.waiting import PATIENCE


def divided(
    table: Microdata, model: Any, algorithm: Mondrian | None = None, seed: int = 0, **options: Any
) -> Partition:
    algorithm = algorithm or Mondrian(**options)
    return algorithm.partition(table, needs_of(model, table), Randomness(seed))


def line(values: list[Any], sensitive: str | None = None) -> Microdata:
    """A table with one quasi-identifier, x."""
    columns: dict[str, Any] = {"x": values}
    if sensitive is not None:
        columns["s"] = list(sensitive)
    return microdata(columns, sensitive=["s"] if sensitive is not None else [])


def values_of(table: Microdata, found: Partition, name: str = "x") -> list[list[Any]]:
    """The sorted values of every group."""
    column = table.attributes[name].decode(table.codes[name]).to_pylist()
    return sorted(sorted(column[row] for row in rows) for rows in groups_of(found.groups))


class TestPatients:
    """Figures 1 to 3 and 6 of the paper: six patients."""

    FIGURE_2 = (0, 1, 0, 0, 1, 0)
    FIGURE_3 = (0, 1, 0, 2, 1, 2)

    def printed(self, table: Microdata, found: Partition) -> list[dict[str, Any]]:
        """The generalized rows, as the paper prints them."""
        rows: list[dict[str, Any]] = [{} for _ in range(table.n_rows)]
        for attribute in table.quasi:
            codes = table.codes[attribute.name]
            if attribute.ordered:
                side = Ranges.around(attribute, codes, found)
                low = attribute.decode(side.low).to_pylist()
                high = attribute.decode(side.high).to_pylist()
                shown = [(a, b) if a != b else a for a, b in zip(low, high, strict=True)]
            else:
                sets = ValueSets.around(attribute, codes, found)
                assert set(np.diff(sets.starts)) == {1}
                shown = attribute.decode(sets.codes).to_pylist()
            for row, group in enumerate(found.groups):
                rows[row][attribute.name] = shown[group]
        return rows

    def test_figure_1_is_open_to_the_joining_attack(self) -> None:
        """Every patient is the only one with their age, sex and zipcode."""
        table = microdata(PATIENTS, sensitive=["disease"])
        assert len({tuple(row) for row in table.quasi_codes().tolist()}) == 6

    def test_figure_2_is_a_valid_partition_with_the_printed_boxes(self) -> None:
        table = microdata(PATIENTS, sensitive=["disease"])
        found = partition(self.FIGURE_2)
        assert passing(needs_of(KAnonymity(2), table), table, found).all()
        men = {"age": (25, 28), "sex": "Male", "zipcode": (53710, 53711)}
        women = {"age": (25, 28), "sex": "Female", "zipcode": 53712}
        # the paper recodes all ages to one interval; the women's own box is narrower
        women["age"] = (25, 27)
        assert self.printed(table, found) == [men, women, men, men, women, men]

    @pytest.mark.parametrize("quasi", [("zipcode", "age", "sex"), ("sex", "age", "zipcode")])
    def test_figure_3(self, quasi: tuple[str, ...]) -> None:
        """All three ranges are equally wide, so the column named first is cut first."""
        table = microdata(PATIENTS, quasi=quasi, sensitive=["disease"])
        found = divided(table, KAnonymity(2))
        assert groups_of(found.groups) == groups_of(np.array(self.FIGURE_3))
        young = {"age": (25, 26), "sex": "Male", "zipcode": 53711}
        women = {"age": (25, 27), "sex": "Female", "zipcode": 53712}
        older = {"age": (27, 28), "sex": "Male", "zipcode": (53710, 53711)}
        assert self.printed(table, found) == [young, women, young, older, women, older]

    def test_age_first_gives_another_partition(self) -> None:
        table = microdata(PATIENTS, sensitive=["disease"])
        found = divided(table, KAnonymity(2))
        assert values_of(table, found, "age") == [[25, 25, 26], [27, 27, 28]]

    @pytest.mark.parametrize("seed", range(5))
    def test_figure_6(self, seed: int) -> None:
        table = microdata(PATIENTS, quasi=["zipcode"], sensitive=["disease"])
        found = divided(table, KAnonymity(3), relaxed=True, seed=seed)
        assert values_of(table, found, "zipcode") == [
            [53710, 53711, 53711],
            [53711, 53712, 53712],
        ]

    def test_strictly_figure_6_has_one_group(self) -> None:
        table = microdata(PATIENTS, quasi=["zipcode"], sensitive=["disease"])
        assert divided(table, KAnonymity(3)).n_groups == 1


@pytest.mark.parametrize("model", [KAnonymity(2), KAnonymity(2) & TCloseness(0.99)])
def test_ties_at_the_median_are_cut_below_it(model: Any) -> None:
    """The erratum: "<= median" leaves nothing on the right, "< median" is allowable.

    With seven rows k = 2 the bound of Theorem 2 is 2 + 4, and one group would break it.
    """
    table = line([1, 1, 1, 2, 2, 2, 2], "aaaaaaa")
    assert values_of(table, divided(table, model)) == [[1] * 3, [2] * 4]


@pytest.mark.parametrize("model", [KAnonymity(2), KAnonymity(2) & TCloseness(0.99)])
def test_the_more_even_of_two_median_cuts_comes_first(model: Any) -> None:
    """Of ten rows, 4 are below the median and 7 not above it; 3 and 6 are as even."""
    table = line([1] * 4 + [2] * 3 + [3] * 3, "a" * 10)
    assert values_of(table, divided(table, model)) == [[1] * 4, [2] * 3, [3] * 3]
    assert values_of(table, divided(table, KAnonymity(4))) == [[1] * 4, [2] * 3 + [3] * 3]
    even = line([1] * 3 + [2] * 3 + [3] * 3, "a" * 9)
    assert values_of(even, divided(even, KAnonymity(3))) == [[1] * 3, [2] * 3, [3] * 3]
    assert values_of(even, divided(even, KAnonymity(3), cuts="median"))[0] == [1] * 3


def test_other_cuts_help_where_the_median_fails() -> None:
    """Both median cuts leave two a against one b; after the fourth row both sides are even."""
    table = line([1, 2, 3, 4, 5, 6], "aabbab")
    assert divided(table, LDiversity(2), cuts="median").n_groups == 1
    assert values_of(table, divided(table, LDiversity(2))) == [[1, 2, 3, 4], [5, 6]]


def test_a_dimension_without_a_cut_gives_way_to_the_next() -> None:
    table = microdata({"x": [1, 9, 9, 9], "y": [1, 1, 2, 2], "z": [1, 50, 50, 100]})
    found = divided(table, KAnonymity(2))
    assert groups_of(found.groups) == {frozenset({0, 1}), frozenset({2, 3})}


def test_taking_turns_differs_from_the_widest() -> None:
    # x is always wide enough to be cut again; y has its turn only when they alternate
    table = microdata({"x": [1, 2, 3, 4] * 2, "y": [1] * 4 + [2] * 4, "z": [0, 9] * 4})
    found = {
        choose: divided(table, KAnonymity(2), choose=choose) for choose in ("widest", "round-robin")
    }
    assert values_of(table, found["round-robin"], "x") == [[1, 2], [1, 2], [3, 4], [3, 4]]
    assert {size for choice in found.values() for size in choice.sizes} == {2}


def test_missing_values_are_cut_off_first() -> None:
    table = line([1, 1, 50, 50, None, None])
    found = divided(table, KAnonymity(2))
    assert groups_of(found.groups) == {frozenset(pair) for pair in [(0, 1), (2, 3), (4, 5)]}


def test_unordered_values_are_cut_into_even_sets() -> None:
    table = line(list("aaaaabbbcc"))
    found = divided(table, KAnonymity(5))
    assert values_of(table, found) == [list("aaaaa"), list("bbbcc")]


def test_several_sensitive_attributes_must_all_be_safe() -> None:
    table = microdata(
        {"x": [1, 2, 3, 4], "s": list("abab"), "t": list("uuvv")}, sensitive=["s", "t"]
    )
    assert divided(table, DistinctLDiversity(2, on="s")).n_groups == 2
    assert divided(table, DistinctLDiversity(2)).n_groups == 1


@pytest.mark.parametrize("relaxed", [False, True])
@pytest.mark.parametrize("cuts", ["all", "median"])
def test_a_users_own_model_in_plain_python(relaxed: bool, cuts: str) -> None:
    table = line([1, 1, 2, 2, 3, 3, 4, 4, None], "ababababa")
    mine = NobodyAlone()
    found = divided(table, mine, relaxed=relaxed, cuts=cuts)
    assert found.n_groups > 1
    assert passing(needs_of(mine, table), table, found).all()


def test_a_users_own_model_is_refused_like_any_other() -> None:
    with pytest.raises(Infeasible):
        divided(line([1, 2, 3], "aaa"), NobodyAlone())


def test_which_tied_rows_go_where_is_random() -> None:
    table = line([1] * 30)
    results = [
        groups_of(divided(table, KAnonymity(3), relaxed=True, seed=s).groups) for s in range(5)
    ]
    assert all(one != other for i, one in enumerate(results) for other in results[:i])
    again = groups_of(divided(table, KAnonymity(3), relaxed=True, seed=0).groups)
    assert again == results[0]


def test_a_strict_partition_needs_no_chance() -> None:
    table = line([1, 2, 2, 3, 3, 3, 4, 5, 5, 6])
    one, other = (groups_of(divided(table, KAnonymity(2), seed=seed).groups) for seed in (1, 2))
    assert one == other


@pytest.mark.parametrize(
    ("options", "parameter"), [({"choose": "narrowest"}, "choose"), ({"cuts": "some"}, "cuts")]
)
def test_options_that_do_not_exist(options: dict[str, Any], parameter: str) -> None:
    with pytest.raises(ParameterError) as caught:
        Mondrian(**options)
    assert caught.value.parameter == parameter


def test_a_description_has_the_name_and_every_option() -> None:
    assert describe(Mondrian(relaxed=True)) == {
        "name": "mondrian",
        "relaxed": True,
        "choose": "widest",
        "cuts": "all",
        "refine": 0,
        "time_limit": 60.0,
    }


Watch = Callable[[Callable[[Counts], Any], int, Any], Any]


def crowd(n: int) -> Microdata:
    drawn = np.random.default_rng(0).integers(0, 1000, (3, n))
    return microdata(dict(zip("xyz", drawn, strict=True)))


def test_a_watched_run_settles_every_row(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Counts] = []

    def watching(run: Callable[[Counts], Any], total: int, progress: Any) -> Any:
        control = np.zeros(2, np.int64)
        seen.append(control)
        assert total == table.n_rows
        return run(control)

    table = crowd(500)
    unwatched = divided(table, KAnonymity(3))
    monkeypatch.setattr(module, "_WATCHED", 1)
    monkeypatch.setattr(module, "watch", watching)
    assert groups_of(divided(table, KAnonymity(3)).groups) == groups_of(unwatched.groups)
    assert [control.tolist() for control in seen] == [[500, 0]]


def test_a_stopped_kernel_leaves_rows_unsettled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop as soon as the first rows are settled; on a busy machine, try again."""

    class StoppedError(Exception):
        pass

    settled: list[int] = []

    def impatient(run: Callable[[Counts], Any], total: int, progress: Any) -> Any:
        control = np.zeros(2, np.int64)
        thread = threading.Thread(target=run, args=(control,), daemon=True)
        thread.start()
        while control[0] == 0 and thread.is_alive():
            pass
        control[1] = 1
        thread.join(PATIENCE)
        assert not thread.is_alive()
        settled.append(int(control[0]))
        raise StoppedError

    table = crowd(250_000)
    monkeypatch.setattr(module, "watch", impatient)
    for _ in range(5):
        with pytest.raises(StoppedError):
            divided(table, KAnonymity(2))
        if settled[-1] < table.n_rows:
            break
    assert 0 < settled[-1] < table.n_rows
