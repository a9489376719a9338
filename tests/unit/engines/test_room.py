"""How much memory is enough, as errors state it."""

from __future__ import annotations

import re

import pytest

from sfumato.engines.room import Room
from sfumato.errors import OutOfMemory


def stated(memory: int, rows: int, times: int) -> int:
    """The memory that a refusal asks for."""
    with pytest.raises(OutOfMemory) as refused:
        Room.of(memory, 7).for_larger(times).require(rows, "why")
    found = re.search(r"allow ([\d,]+) bytes", str(refused.value))
    assert found is not None
    return int(found[1].replace(",", ""))


@pytest.mark.parametrize("times", [1, 5])
@pytest.mark.parametrize("rows", [19, 100_330, 5_000_000])
@pytest.mark.parametrize("memory", [10, 190, 10_000])
def test_what_is_stated_is_enough_and_no_more(memory: int, rows: int, times: int) -> None:
    least = stated(memory, rows, times)
    assert Room.of(least, 7).for_larger(times).rows == rows
    assert Room.of(least - 1, 7).for_larger(times).rows < rows
