"""Requirements bound to a table: feasibility, verdicts, compiled rules."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.arrays import Flags
from sfumato.core.histograms import Histograms
from sfumato.errors import Infeasible
from sfumato.models.anonymity import KAnonymity
from sfumato.models.base import BuiltIn
from sfumato.models.bound import compile_rules, require_feasible
from sfumato.models.closeness import TCloseness
from sfumato.models.diversity import (
    DistinctLDiversity,
    EntropyLDiversity,
    LDiversity,
    RecursiveLDiversity,
)
from tests.support.models import InPython, NobodyAlone, bound_of, needs_of, passing
from tests.support.tables import microdata, partition

K, L = KAnonymity(2), LDiversity(2)


@dataclass(frozen=True)
class QuarterOfAll:
    """A user's model of sizes that looks at the whole table."""

    needs_sensitive: bool = False

    def passes(self, groups: Histograms) -> Flags:
        return np.asarray(4 * groups.sizes >= groups.whole.sum())


def test_passing_joins_the_verdicts_of_all_attributes() -> None:
    table = microdata(
        {"a": [1] * 6, "s": list("xyxyxx"), "t": list("uvuuuv")}, sensitive=["s", "t"]
    )
    of = partition([0, 0, 1, 1, 2, 2])
    assert passing(needs_of(L, table), table, of).tolist() == [True, False, False]
    assert passing(needs_of(LDiversity(2, on="s"), table), table, of).tolist() == [
        True,
        True,
        False,
    ]


def test_some_rows_are_compared_with_the_whole_table() -> None:
    """Rows of one value are far from the table they are of, and at distance 0 from themselves."""
    table = microdata({"a": [1] * 4, "s": list("xxyy")}, sensitive=["s"])
    bound = bound_of(TCloseness(0.4), table)
    assert bound.passing(partition([0, 0]), np.array([0, 1])).tolist() == [False]
    assert bound.passing(partition([0, 0]), np.array([1, 2])).tolist() == [True]
    assert bound.passing(partition([0, 1, 1]), np.array([0, 1, 3])).tolist() == [False, True]


def test_a_model_of_sizes_knows_how_large_the_table_is() -> None:
    table = microdata({"a": [1] * 8, "s": list("abcdefgh")}, sensitive=["s"])
    bound = bound_of(QuarterOfAll(), table)
    assert bound.passing(partition([0, 1, 1]), np.array([0, 1, 3])).tolist() == [False, True]


def test_what_is_asked_of_one_attribute_is_counted_once() -> None:
    table = microdata({"a": [1] * 4, "s": list("xxyy"), "t": list("uvvv")}, sensitive=["s", "t"])
    bound = require_feasible(needs_of(K & LDiversity(1.2) & DistinctLDiversity(2), table), table)
    sizes, s, t, again_s, again_t = bound.everyone
    assert (s is again_s, t is again_t) == (True, True)
    assert [seen.whole.tolist() for seen in (sizes, s, t)] == [[4], [2, 2], [1, 3]]


def refused(model: BuiltIn, values: list[str | None]) -> Infeasible | None:
    table = microdata({"a": [0] * len(values), "s": values}, sensitive=["s"])
    try:
        require_feasible(needs_of(model, table), table)
    except Infeasible as error:
        return error if error.model == model else pytest.fail(f"blames {error.model}")
    return None


def whole(largest: float | None) -> int:
    assert largest is not None
    assert largest == int(largest)
    return int(largest)


VALUES = st.lists(st.none() | st.sampled_from("abcdef"), min_size=2, max_size=30)


def most_frequent(values: list[str | None]) -> set[str | None]:
    top = max(values.count(value) for value in values)
    return {value for value in values if values.count(value) == top}


@pytest.mark.slow
@given(VALUES)
def test_largest_k(values: list[str | None]) -> None:
    error = refused(KAnonymity(1000), values)
    assert error is not None
    assert error.largest == len(values)
    assert refused(KAnonymity(len(values)), values) is None
    assert refused(KAnonymity(len(values) + 1), values) is not None


@pytest.mark.slow
@given(VALUES)
def test_largest_l(values: list[str | None]) -> None:
    error = refused(LDiversity(1000), values)
    assert error is not None
    assert error.value in most_frequent(values)
    assert ("(missing)" if error.value is None else repr(error.value)) in str(error)
    largest = whole(error.largest)
    assert ("no l is feasible" if largest == 1 else f"feasible l is {largest}") in str(error)
    if largest > 1:  # less promises nothing
        assert refused(LDiversity(largest), values) is None
    assert refused(LDiversity(largest + 1), values) is not None


@pytest.mark.slow
@given(VALUES)
def test_largest_distinct_l(values: list[str | None]) -> None:
    error = refused(DistinctLDiversity(1000), values)
    assert error is not None
    assert error.largest == len(set(values))
    if len(set(values)) > 1:
        assert refused(DistinctLDiversity(len(set(values))), values) is None
    assert refused(DistinctLDiversity(len(set(values)) + 1), values) is not None


@pytest.mark.slow
@given(VALUES)
def test_largest_entropy_l(values: list[str | None]) -> None:
    error = refused(EntropyLDiversity(1000), values)
    assert error is not None
    assert error.largest is not None
    assert error.value in most_frequent(values)
    if error.largest > 1:
        assert refused(EntropyLDiversity(error.largest), values) is None
    assert refused(EntropyLDiversity(error.largest + 0.001), values) is not None


@pytest.mark.parametrize("l", [2, 3, 5, 6])
def test_largest_entropy_l_of_equal_shares(l: int) -> None:
    error = refused(EntropyLDiversity(l + 1), [*"abcdef"[:l]] * 4)
    assert error is not None
    assert error.largest == l


@pytest.mark.slow
@given(VALUES, st.sampled_from([0.5, 1.0, 2.0, 3.5]))
def test_largest_recursive_l(values: list[str | None], c: float) -> None:
    error = refused(RecursiveLDiversity(c, 1000), values)
    assert error is not None
    assert error.value in most_frequent(values)
    largest = whole(error.largest)
    assert refused(RecursiveLDiversity(c, max(2, largest + 1)), values) is not None
    if largest > 1:
        assert refused(RecursiveLDiversity(c, largest), values) is None
    elif not largest:
        assert "larger c" in str(error)


@pytest.mark.slow
@given(VALUES, st.sampled_from([0.0, 0.3]))
def test_the_whole_table_is_always_close_to_itself(values: list[str | None], t: float) -> None:
    assert refused(TCloseness(t), values) is None


def test_a_users_own_model_is_refused_too() -> None:
    table = microdata({"a": [1, 2], "s": ["x", "x"]}, sensitive=["s"])
    mine = NobodyAlone()
    with pytest.raises(Infeasible, match="on s") as caught:
        require_feasible(needs_of(mine, table), table)
    assert caught.value.model is mine
    assert caught.value.largest is None


def test_rules_of_several_attributes_stand_side_by_side() -> None:
    table = microdata({"a": [1, 2, 3], "s": list("xyz"), "t": list("uvv")}, sensitive=["s", "t"])
    compiled = compile_rules(bound_of(KAnonymity(2) & LDiversity(1.5), table))
    assert compiled is not None
    assert compiled.offsets == {"s": 0, "t": 3}
    assert compiled.whole_counts.tolist() == [1, 1, 1, 1, 2]
    assert compiled.rules[:, 3:].tolist() == [[0, 1], [0, 3], [3, 5]]
    assert compiled.least == 2


@given(st.integers(2, 9), st.integers(2, 9))
def test_least_is_the_largest_of_the_parts(k: int, l: int) -> None:
    table = microdata({"a": [0] * 9, "s": list("abcdefghi")}, sensitive=["s"])
    compiled = compile_rules(bound_of(KAnonymity(k) & DistinctLDiversity(l), table))
    assert compiled is not None
    assert compiled.least == max(k, l)


def test_what_has_no_compiled_form_is_not_compiled() -> None:
    table = microdata({"a": [1, 2], "s": ["x", "y"]}, sensitive=["s"])
    for model in (NobodyAlone(), K & NobodyAlone(), InPython(L)):
        assert compile_rules(bound_of(model, table)) is None
    assert compile_rules(bound_of(K & L, table)) is not None
