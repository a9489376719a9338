"""How alike people of a group are, against all pairs counted one by one."""

from __future__ import annotations

from itertools import combinations
from statistics import fmean

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.attribute import Kind, encode
from sfumato.metrics.likeness import difference_in_groups

Rows = list[tuple[int | None, int]]


def by_hand(values: list[float], groups: list[int], distances: bool) -> float | None:
    def mean(some: list[float]) -> float:
        pairs = list(combinations(some, 2))
        return fmean(abs(a - b) if distances else a != b for a, b in pairs) if pairs else 0.0

    if not mean(values):
        return None
    parts = [[v for v, g in zip(values, groups, strict=True) if g == one] for one in set(groups)]
    return sum(len(part) * mean(part) for part in parts) / len(values) / mean(values)


@given(
    st.lists(st.tuples(st.one_of(st.none(), st.integers(0, 5)), st.integers(0, 3)), min_size=1),
    st.booleans(),
)
def test_it_is_what_all_pairs_give(rows: Rows, distances: bool) -> None:
    kind = Kind.NUMERICAL if distances else Kind.CATEGORICAL
    column = pa.chunked_array([pa.array([value for value, _ in rows], pa.int64())])
    attribute, codes = encode("x", column, kind=kind)
    groups = np.unique([group for _, group in rows], return_inverse=True)[1].astype(np.int32)
    values = attribute.coordinates[codes] if distances else codes
    expected = by_hand(values.tolist(), groups.tolist(), distances)
    found = difference_in_groups(attribute, codes, groups)
    assert found == (None if expected is None else pytest.approx(expected, abs=1e-9))


def test_groups_of_anybody_have_one_and_neighbours_less() -> None:
    ages = np.random.default_rng(1).integers(0, 90, 4000)
    attribute, codes = encode("age", pa.chunked_array([pa.array(ages)]))
    anybody = (np.arange(4000) // 10).astype(np.int32)
    neighbours = np.empty(4000, np.int32)
    neighbours[np.argsort(ages, kind="stable")] = anybody
    assert difference_in_groups(attribute, codes, anybody) == pytest.approx(1, abs=0.03)
    near = difference_in_groups(attribute, codes, neighbours)
    assert near is not None
    assert near < 0.05
