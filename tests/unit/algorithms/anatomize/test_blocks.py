"""The paper's groups beyond memory: what every block gets, and that chance decides which rows."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.algorithms.anatomize import blocks
from sfumato.algorithms.anatomize.blocks import (
    BlockPlan,
    find_cuts,
    needed_bytes,
    plan_blocks,
    share_out,
)
from sfumato.core.arrays import Codes, Counts
from sfumato.core.keyed import Key
from sfumato.core.randomness import Randomness
from sfumato.engines.coded import ROW, SENSITIVE
from sfumato.engines.room import Room
from sfumato.engines.stream import Scratch, StreamEngine
from sfumato.errors import OutOfMemory
from tests.support.seeds import long_seed

KEY = Key(bytes(16))


@st.composite
def eligible(draw: st.DrawFn) -> tuple[Counts, int]:
    """Counts of which none is more than 1/l of all, some with nothing to spare."""
    l = draw(st.integers(2, 6))
    most = draw(st.integers(1, 60))
    tight = [most] * draw(st.integers(0, l))
    counts = tight + draw(st.lists(st.integers(0, most), max_size=10))
    while sum(counts) < l * max([1, *counts]):
        counts.append(most)
    return np.array(counts, np.int64), l


@given(eligible(), st.integers(1, 12))
def test_every_block_is_as_eligible_as_the_table(case: tuple[Counts, int], n_blocks: int) -> None:
    counts, l = case
    shares = share_out(counts, l, n_blocks)
    assert shares.sum(axis=1).tolist() == counts.tolist()
    assert shares.min() >= 0
    loads = shares.sum(axis=0)
    assert (shares.max(axis=0) * l <= loads).all()
    assert loads.min() >= l
    assert shares.shape[1] <= n_blocks
    # no block is much larger than its share of the table, which is what has to fit
    assert loads.max() < -(-int(counts.sum()) // n_blocks) + 3 * l
    exact = counts[:, None] * loads / counts.sum()
    assert np.abs(shares - exact).max() < max(2, n_blocks)


def coded(values: Codes, rows: int) -> Iterator[pa.Table]:
    """Coded parts of so many rows."""
    lists = pa.FixedSizeListArray.from_arrays(pa.array(values.astype(np.int16)), 1)
    table = pa.table({ROW: np.arange(len(values)), SENSITIVE: lists})
    for low in range(0, len(values), rows):
        yield table.slice(low, rows)


def engine(values: Codes, folder: Path, rows: int = 97) -> StreamEngine:
    return StreamEngine(lambda: coded(values, rows), Scratch(folder), lambda: None)


def of_rows(plan: BlockPlan, values: Codes) -> Codes:
    return np.concatenate([plan.of_rows(part) for part in coded(values, 100)])


@pytest.mark.parametrize("per_bin", [1, 8, 64, 10_000])
def test_cuts_leave_every_block_its_share(
    per_bin: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However coarse the bins are in which words are counted."""
    monkeypatch.setattr(blocks, "_ROWS_PER_BIN", per_bin)
    drawn = np.random.default_rng(1).choice(6, 3000, p=[0.2, 0.2, 0.2, 0.2, 0.199, 0.001])
    values: Codes = drawn.astype(np.int32)
    counts = np.bincount(values, minlength=8)  # two values that nobody has
    shares = share_out(counts, 4, 7)
    cuts = find_cuts(engine(values, tmp_path), shares, 0, KEY)
    plan = BlockPlan(4, "ill", 0, shares.sum(axis=0), cuts, KEY, ())
    found = of_rows(plan, values)
    for value in range(8):
        mine = np.bincount(found[values == value], minlength=7)
        assert mine.tolist() == shares[value].tolist()


def test_rows_of_a_value_are_in_any_block_with_equal_chances(tmp_path: Path) -> None:
    """Whatever their place; the control is the order of the rows itself."""
    values = np.repeat(np.arange(4, dtype=np.int32), 500)
    early = []
    for run in range(40):
        room = Room(600, 1, 10**9, 10**9)
        plan = plan_blocks(
            engine(values, tmp_path), np.bincount(values), "ill", 0, 2, room,
            Randomness(long_seed(run)),
        )  # fmt: skip
        assert plan.loads.tolist() == [500] * 4
        found = of_rows(plan, values)
        early.append(np.mean(found[:250] == 0))
    assert abs(np.mean(early) - 0.25) < 4.5 * np.sqrt(0.25 * 0.75 / (40 * 250))
    in_order = np.arange(500) // 125
    assert abs(np.mean(in_order[:250] == 0) - 0.25) > 0.2


def test_blocks_do_not_depend_on_parts(tmp_path: Path) -> None:
    values = np.random.default_rng(2).integers(0, 9, 2000).astype(np.int32)
    room = Room(300, 1, 10**9, 10**9)
    plans = [
        plan_blocks(
            engine(values, tmp_path, rows), np.bincount(values), "ill", 0, 3, room,
            Randomness(bytes(range(16))),
        )
        for rows in (1, 333, 2000)
    ]  # fmt: skip
    found = [of_rows(plan, values).tolist() for plan in plans]
    assert found[0] == found[1] == found[2]


def test_too_little_memory_says_how_much_is_enough(tmp_path: Path) -> None:
    """And little less is too little."""
    counts, none = np.full(1_000_000, 10), engine(np.zeros(0, np.int32), tmp_path)
    room = Room.of(512 * 2**20, 3)
    said = r"1,000,000 sensitive values to 7 blocks; allow [\d,]+"
    with pytest.raises(OutOfMemory, match=said) as raised:
        plan_blocks(none, counts, "ill", 0, 2, room, Randomness())
    enough = int(str(raised.value).rpartition(" ")[2].replace(",", ""))
    assert enough < 2 * 2**30
    assert blocks._fits(counts, 2, room.with_memory(enough))
    assert not blocks._fits(counts, 2, room.with_memory(enough * 95 // 100))


def test_a_million_values_take_what_they_take() -> None:
    """Ten million rows of a million values, in a gigabyte: three blocks or so."""
    counts = np.full(1_000_000, 10)
    assert needed_bytes(counts, 3) < 700 * 2**20
    assert needed_bytes(counts, 1) == 0  # one block needs no cuts


@pytest.mark.parametrize(
    ("n_values", "times", "rows"),
    [(20_000, 3, 6000), (20_000, 3, 600), (2_000, 200, 40_000), (50, 20_000, 5000)],
)
def test_planning_takes_no_more_than_it_is_said_to(
    n_values: int, times: int, rows: int, tmp_path: Path
) -> None:
    """Nor much less, or people would be sent to buy memory."""
    values = np.tile(np.arange(n_values, dtype=np.int32), times)
    counts = np.bincount(values)
    parts, room = engine(values, tmp_path, 10_000), Room(rows, 10**9, 10**12, 10**12)
    tracemalloc.start()
    plan = plan_blocks(parts, counts, "ill", 0, 2, room, Randomness(bytes(range(16))))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    needed = needed_bytes(counts, len(plan.loads))
    assert needed / 2 < peak < needed + 2**21  # and what a part takes
