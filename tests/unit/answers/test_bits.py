import numpy as np
import pytest

from sfumato.answers import bits
from sfumato.answers.group_bounds import Scope
from sfumato.answers.rows import Rows
from sfumato.queries.values import Values
from tests.support.tables import microdata


@pytest.mark.parametrize("values", [3, 50, 64, 65, 200, 300])
def test_bits_and_counts_say_the_same(values: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(values)
    sick = [np.sort(random.permutation(values)[: min(3, values)]) for _ in range(40)]
    column = microdata({"s": np.concatenate(sick)})
    groups = np.repeat(np.arange(40, dtype=np.int32), [len(one) for one in sick])
    coded = [(column.quasi[0], column.codes["s"])]
    fast = Rows.of(coded, groups, 40)
    assert (fast.bits is None) == (column.quasi[0].size > 256)
    monkeypatch.setattr(bits, "_MOST_WORDS", 0)
    slow = Rows.of(coded, groups, 40)
    assert slow.bits is None
    where = {"s": Values(frozenset(range(0, values, 2)))}
    scope = Scope.whole(slow.sizes())
    assert fast.tally(where, scope).tolist() == slow.tally(where, scope).tolist()


def test_a_value_twice_has_no_bit_of_its_own() -> None:
    column = microdata({"s": [1, 1, 2]})
    coded = [(column.quasi[0], column.codes["s"])]
    assert Rows.of(coded, np.array([0, 0, 1], np.int32), 2).bits is None
    assert Rows.of(coded, np.array([0, 1, 1], np.int32), 2).bits is not None
    assert Rows.of(coded, np.array([0, 1, 1], np.int32), 3).bits is None  # a group is empty


def test_keys_of_bits_are_counted_like_any_others(monkeypatch: pytest.MonkeyPatch) -> None:
    column = microdata({"s": [1, 2, 2, 3, 1, 3]})
    coded = [(column.quasi[0], column.codes["s"])]
    groups = np.array([0, 0, 1, 1, 2, 2], np.int32)
    fast = Rows.of(coded, groups, 3)
    monkeypatch.setattr(bits, "_MOST_WORDS", 0)
    slow = Rows.of(coded, groups, 3)
    scope = Scope(np.array([0.5, 1.0, 0.0]), np.array([1, 0, 2]), np.array([1, 2, 0]))
    for where in ({}, {"s": Values(frozenset([1, 3]))}):
        one, other = fast.tally_by(where, "s", scope), slow.tally_by(where, "s", scope)
        assert one.estimate.tolist() == other.estimate.tolist()
        assert (one.lo.tolist(), one.hi.tolist()) == (other.lo.tolist(), other.hi.tolist())
