"""A model on a table: which attribute it is about, and when it is out of reach."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.schema import Schema
from sfumato.errors import Infeasible, SchemaError
from sfumato.models.anonymity import KAnonymity
from sfumato.models.base import BuiltIn
from sfumato.models.closeness import TCloseness
from sfumato.models.diversity import (
    DistinctLDiversity,
    EntropyLDiversity,
    LDiversity,
    RecursiveLDiversity,
)
from sfumato.models.requirements import (
    Requirement,
    compile_rules,
    passing,
    require_feasible,
    requirements,
)
from tests.support.models import InPython, NobodyAlone, needs_of
from tests.support.tables import microdata, partition

TWO = Schema(quasi=["a"], sensitive=["s", "t"])
NONE = Schema(quasi=["a"])
K, L = KAnonymity(2), LDiversity(2)


def test_a_diversity_model_is_about_every_sensitive_attribute() -> None:
    assert requirements(K & L, TWO) == (
        Requirement(K, None),
        Requirement(L, "s"),
        Requirement(L, "t"),
    )


def test_on_picks_one() -> None:
    on_t = LDiversity(3, on="t")
    assert requirements(on_t, TWO) == (Requirement(on_t, "t"),)
    assert str(Requirement(on_t, "t")) == "l-diversity (l = 3, on = t) on t"


def test_on_must_be_sensitive() -> None:
    with pytest.raises(SchemaError, match="'a', which is not sensitive") as caught:
        requirements(LDiversity(3, on="a"), TWO)
    assert caught.value.column == "a"


def test_a_model_about_values_needs_a_sensitive_column() -> None:
    with pytest.raises(SchemaError, match="needs a sensitive column"):
        requirements(K & L, NONE)
    assert requirements(K, NONE) == (Requirement(K, None),)


def test_a_users_own_model_sees_what_there_is() -> None:
    mine = NobodyAlone()
    assert requirements(mine, TWO) == (Requirement(mine, "s"), Requirement(mine, "t"))
    assert requirements(mine, NONE) == (Requirement(mine, None),)


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


@given(VALUES)
def test_largest_k(values: list[str | None]) -> None:
    error = refused(KAnonymity(1000), values)
    assert error is not None
    assert error.largest == len(values)
    assert refused(KAnonymity(len(values)), values) is None
    assert refused(KAnonymity(len(values) + 1), values) is not None


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


@given(VALUES)
def test_largest_distinct_l(values: list[str | None]) -> None:
    error = refused(DistinctLDiversity(1000), values)
    assert error is not None
    assert error.largest == len(set(values))
    if len(set(values)) > 1:
        assert refused(DistinctLDiversity(len(set(values))), values) is None
    assert refused(DistinctLDiversity(len(set(values)) + 1), values) is not None


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
    compiled = compile_rules(needs_of(KAnonymity(2) & LDiversity(1.5), table), table)
    assert compiled is not None
    assert compiled.offsets == {"s": 0, "t": 3}
    assert compiled.whole_counts.tolist() == [1, 1, 1, 1, 2]
    assert compiled.rules[:, 3:].tolist() == [[0, 1], [0, 3], [3, 5]]
    assert compiled.least == 2


@given(st.integers(2, 9), st.integers(2, 9))
def test_least_is_the_largest_of_the_parts(k: int, l: int) -> None:
    table = microdata({"a": [0] * 9, "s": list("abcdefghi")}, sensitive=["s"])
    compiled = compile_rules(needs_of(KAnonymity(k) & DistinctLDiversity(l), table), table)
    assert compiled is not None
    assert compiled.least == max(k, l)


def test_what_has_no_compiled_form_is_not_compiled() -> None:
    table = microdata({"a": [1, 2], "s": ["x", "y"]}, sensitive=["s"])
    for model in (NobodyAlone(), K & NobodyAlone(), InPython(L)):
        assert compile_rules(needs_of(model, table), table) is None
    assert compile_rules(needs_of(K & L, table), table) is not None
