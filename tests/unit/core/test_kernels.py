"""Numbering rows, gathering them by group, shuffling them."""

from collections import Counter
from typing import Any

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core._kernels import (
    _mixed,
    argsort_words,
    number_rows,
    rows_and_words,
    rows_by_group,
    shuffle_groups,
)
from sfumato.core.arrays import Codes

BEYOND_64_BITS = 2**31 - 1

# an inner kernel has no way in from Python; this one does
mix: Any = numba.njit(lambda key: _mixed(key))


def numbered_naively(rows: list[tuple[int, ...]]) -> tuple[list[int], list[int], list[int]]:
    first: dict[tuple[int, ...], int] = {}
    for i, row in enumerate(rows):
        first.setdefault(row, i)
    place = {row: number for number, row in enumerate(first)}
    counts = Counter(rows)
    return [place[row] for row in rows], list(first.values()), [counts[row] for row in first]


def assert_numbered(codes: Codes, sizes: list[int]) -> None:
    number, first, count = number_rows(codes, np.array(sizes, np.int64))
    expected = numbered_naively([tuple(row) for row in codes.tolist()])
    assert (number.tolist(), first.tolist(), count.tolist()) == expected


@st.composite
def code_tables(draw: st.DrawFn, top: int) -> Codes:
    d = draw(st.integers(1, 4))
    code = st.integers(0, top) | st.integers(0, 2) | st.integers(top - 1, top)
    rows = draw(st.lists(st.tuples(*[code] * d), min_size=1, max_size=40))
    return np.array(rows, np.int32)


@given(code_tables(top=30_000))
def test_packed_rows_are_numbered_as_they_appear(codes: Codes) -> None:
    assert_numbered(codes, [30_001] * codes.shape[1])


@given(code_tables(top=BEYOND_64_BITS - 1))
def test_hashed_rows_are_numbered_as_they_appear(codes: Codes) -> None:
    wide = np.hstack([codes, codes[:, :1], codes[:, :1]])
    assert_numbered(wide, [BEYOND_64_BITS] * wide.shape[1])


@pytest.mark.parametrize("size", [200, BEYOND_64_BITS], ids=["packed", "hashed"])
def test_many_different_rows_make_the_table_grow(size: int) -> None:
    codes = np.random.default_rng(1).integers(0, 200, (20_000, 3), dtype=np.int32)
    assert_numbered(codes, [size] * 3)


def test_the_largest_domain_that_can_be_packed() -> None:
    sizes = [2**31 - 1, 2**31 - 1, 2]  # just below 2**63
    top = [2**31 - 2, 2**31 - 2, 1]
    codes = np.array([top, [0, 0, 0], top, [top[0], 0, 1], [0, top[1], 1]], np.int32)
    assert_numbered(codes, sizes)


def mixed(*codes: int) -> np.uint64:
    """The hash of a row, code after code."""
    key = np.uint64(0)
    for code in codes:
        key = mix(key ^ np.uint64(code))
    return key


def colliding_rows() -> Codes:
    """Two different rows with the same hash.

    Beginnings whose hashes agree in their upper 33 bits (a birthday among some hundred thousand)
    collide under last codes that differ as their lower 31 bits do.
    """
    beginnings = np.random.default_rng(1).integers(0, BEYOND_64_BITS, (300_000, 2))
    keys = np.array([mixed(*beginning) for beginning in beginnings.tolist()], np.uint64)
    order = np.argsort(keys)
    apart = keys[order][1:] ^ keys[order][:-1]
    at = int(np.argmin(apart))
    one, other = beginnings[order[at]], beginnings[order[at + 1]]
    return np.array([[*one, 0], [*other, apart[at]]], np.int32)


@pytest.mark.slow
def test_rows_with_equal_hashes_stay_apart() -> None:
    one, other = colliding_rows().tolist()
    assert one != other
    assert mixed(*one) == mixed(*other)
    assert_numbered(np.array([one, other, one, other, other], np.int32), [BEYOND_64_BITS] * 3)


@given(st.lists(st.integers(0, 6), max_size=50))
def test_rows_by_group_keep_their_order(groups: list[int]) -> None:
    rows, starts = rows_by_group(np.array(groups, np.int32), 7)
    expected = [[i for i, found in enumerate(groups) if found == g] for g in range(7)]
    assert [rows[starts[g] : starts[g + 1]].tolist() for g in range(7)] == expected


@given(st.lists(st.integers(0, 6), max_size=50), st.integers(0, 2**32))
def test_a_shuffle_moves_no_row_out_of_its_group(groups: list[int], seed: int) -> None:
    rows, starts = rows_by_group(np.array(groups, np.int32), 7)
    shuffled = rows.copy()
    words = np.random.default_rng(seed).integers(0, 2**32 - 1, len(groups), np.uint32)
    shuffle_groups(shuffled, starts, words)
    for g in range(7):
        inside = slice(starts[g], starts[g + 1])
        assert sorted(shuffled[inside]) == rows[inside].tolist()


def test_a_shuffle_is_the_one_of_fisher_and_yates() -> None:
    rows = np.array([10, 11, 12, 13, 20, 21], np.int32)
    words = np.array([99, 2**31, 2**31, 2**31 + 1, 99, 2**31 - 1], np.uint32)
    # a word is a share of 2**32: i = 3: half of 4 = 2; i = 2: half of 3, rounded down = 1;
    # i = 1: half of 2 = 1; second group: just below half of 2 = 0
    shuffle_groups(rows, np.array([0, 4, 6]), words)
    assert rows.tolist() == [10, 13, 11, 12, 21, 20]


@pytest.mark.parametrize("n", [0, 1, 2, 3, 1000, 5000])
@pytest.mark.parametrize("bits", [1, 8, 64])
def test_random_words_are_sorted_stably(n: int, bits: int) -> None:
    """Few bits: many equal words, all in the first drawers, or all in the last."""
    words = np.random.default_rng(n).integers(0, 2**bits, n, dtype=np.uint64, endpoint=False)
    for some in (words, ~words, words << np.uint64(64 - bits)):
        assert argsort_words(some).tolist() == np.argsort(some, kind="stable").tolist()


def test_rows_keep_their_words() -> None:
    generator = np.random.default_rng(3)
    groups = generator.integers(0, 40, 3000).astype(np.int32)
    words = generator.integers(0, 2**32, 3000, dtype=np.uint32)
    rows, starts = rows_by_group(groups, 40)
    sorted_rows, moved = rows_and_words(groups, starts, words)
    assert sorted_rows.tolist() == rows.tolist()
    assert moved.tolist() == words[rows].tolist()
