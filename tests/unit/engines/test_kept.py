"""What a process keeps for tasks to come, and how much of it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sfumato.engines.kept import Kept


def test_what_fits_is_kept_until_it_is_forgotten() -> None:
    kept = Kept()
    assert kept.get("me", "a") is None
    assert kept.put("me", "a", [1, 2], 1000)
    assert kept.get("me", "a") == [1, 2]
    assert kept.put("me", "a", [3], 1000)
    assert kept.put("you", "a", [4], 1000)
    assert kept.get("me", "a") == [3]
    kept.forget("me")
    assert kept.get("me", "a") is None
    assert kept.get("you", "a") == [4]
    kept.forget()
    assert kept.get("you", "a") is None


def test_all_values_together_take_no_more_than_the_room() -> None:
    kept = Kept()
    array = np.zeros(1000, np.int64)
    assert not kept.put("me", "a", array, 8000)
    assert kept.put("me", "a", array, 9000)
    assert not kept.put("me", "b", pa.array(array), 9000)
    assert kept.get("me", "b") is None
    assert kept.get("me", "a") is array
    assert kept.put("me", "b", pa.array(array), 18_000)
    # one that takes the place of another is not counted twice
    assert kept.put("me", "a", array + 1, 18_000)
    assert not kept.put("me", "a", np.zeros(2000, np.int64), 18_000)
    assert kept.get("me", "a")[0] == 1


def test_what_others_left_makes_room_only_if_it_has_to() -> None:
    kept = Kept()
    array = np.zeros(1000, np.int64)
    for owner in "abc":
        assert kept.put(owner, 1, array, 18_000)
    assert kept.get("a", 1) is None
    assert kept.get("b", 1) is None
    assert kept.get("c", 1) is array
    assert kept.put("b", 1, array, 18_000)
    assert kept.get("c", 1) is array


def test_memory_that_values_share_with_others_is_not_copied_to_be_counted() -> None:
    array = np.zeros(10**7)
    kept = Kept()
    assert kept.put("me", "a", {"column": array}, 10**8)
    assert kept.get("me", "a")["column"] is array
