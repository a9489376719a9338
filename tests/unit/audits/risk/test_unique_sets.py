"""Minimal unique sets, against a search of all sets of columns of tiny tables."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import combinations

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.audits.risk.kernel import SEVERAL, alone_on

Row = tuple[int, ...]
NAMES = ("a", "b", "c", "d")


def alone(rows: list[Row], who: list[int], columns: tuple[int, ...]) -> set[int]:
    """People who are the only ones with some combination of values; the definition."""
    people = defaultdict(set)
    for row, person in zip(rows, who, strict=True):
        people[tuple(row[j] for j in columns)].add(person)
    return {next(iter(some)) for some in people.values() if len(some) == 1}


def rows_alone(rows: list[Row], who: list[int], columns: tuple[int, ...]) -> set[int]:
    """The rows of such combinations."""
    people = defaultdict(set)
    for row, person in zip(rows, who, strict=True):
        people[tuple(row[j] for j in columns)].add(person)
    return {
        place for place, row in enumerate(rows) if len(people[tuple(row[j] for j in columns)]) == 1
    }


def minimal(rows: list[Row], who: list[int], largest: int) -> dict[tuple[str, ...], int]:
    """Every set of columns with the people who are alone on it with a row, and on no part of it."""
    found = {}
    for size in range(1, largest + 1):
        for columns in combinations(range(len(rows[0])), size):
            parts = [part for less in range(1, size) for part in combinations(columns, less)]
            known = set().union(*(rows_alone(rows, who, part) for part in parts))
            fresh = rows_alone(rows, who, columns) - known
            if fresh:
                named = tuple(NAMES[j] for j in columns)
                found[named] = len({who[place] for place in fresh})
    return found


def table_of(rows: list[Row], who: list[int]) -> pa.Table:
    columns = {NAMES[j]: [row[j] for row in rows] for j in range(len(rows[0]))}
    return pa.table({**columns, "who": who})


row_lists = st.integers(1, 4).flatmap(
    lambda width: st.lists(st.tuples(*[st.integers(0, 3)] * width), min_size=1, max_size=25)
)


@given(row_lists)
@settings(max_examples=150, deadline=None)
def test_all_sets_are_found_and_no_others(rows: list[Row]) -> None:
    names, who = NAMES[: len(rows[0])], list(range(len(rows)))
    risk = sf.assess(table_of(rows, who), sf.Schema(quasi=names))
    assert risk.sets is not None
    assert {one.columns: one.people for one in risk.sets.sets} == minimal(rows, who, 3)
    assert risk.unique_rows == len(alone(rows, who, tuple(range(len(names)))))
    for column in risk.sets.columns:
        others = tuple(j for j, name in enumerate(names) if name != column.name)
        assert column.alone_without == (len(alone(rows, who, others)) if others else 0)


@given(row_lists, st.integers(0, 2**32 - 1))
@settings(max_examples=100, deadline=None)
def test_people_with_several_rows_are_counted_once(rows: list[Row], seed: int) -> None:
    who = np.random.default_rng(seed).integers(0, max(1, len(rows) // 2), len(rows)).tolist()
    names = NAMES[: len(rows[0])]
    risk = sf.assess(table_of(rows, who), sf.Schema(quasi=names), person="who")
    assert risk.sets is not None
    assert {one.columns: one.people for one in risk.sets.sets} == minimal(rows, who, 3)
    assert risk.people == len(set(who))
    assert risk.unique_rows == len(alone(rows, who, tuple(range(len(names)))))


def test_large_domains_are_hashed_and_huge_ones_numbered_first() -> None:
    """Codes that are far apart take the other way through the kernel; the result is the same."""
    draw = np.random.default_rng(3)
    small = draw.integers(0, 12, (400, 3)).astype(np.int32)
    who = np.arange(400, dtype=np.int32)
    near = alone_on(small, np.arange(3), np.full(3, 12), who)
    far = alone_on(small * 1000, np.arange(3), np.full(3, 12_000), who)
    assert near.tolist() == far.tolist()
    keys = Counter(map(tuple, small.tolist()))
    assert near.tolist() == [keys[tuple(row)] == 1 for row in small.tolist()]


def test_nobody_is_alone_where_several_are() -> None:
    codes = np.array([[0], [1], [1]], np.int32)
    who = np.array([SEVERAL, 4, 4], np.int32)
    found = alone_on(codes, np.zeros(1, np.int64), np.array([2]), who)
    assert found.tolist() == [False, True, True]


def test_too_many_columns_are_searched_less_deeply() -> None:
    draw = np.random.default_rng(1)
    names = [f"c{j}" for j in range(120)]
    table = pa.table({name: draw.integers(0, 1000, 3000) for name in names})
    found = sf.assess(table, sf.Schema(quasi=names)).sets
    assert found is not None
    assert found.largest < 3
    assert max(len(one.columns) for one in found.sets) <= found.largest
