"""The first version: which signatures, and at what cost."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.core.arrays import Counts
from sfumato.core.randomness import Randomness
from sfumato.statdb.layout.signature_kernel import take_largest
from sfumato.statdb.layout.signatures import plan


def plain_largest(left: Counts, mixed: Counts, m: int) -> list[tuple[tuple[int, ...], int]]:
    """All values sorted again for every signature: the rule as signatures.py words it."""
    found: list[tuple[tuple[int, ...], int]] = []
    while True:
        order = mixed[np.argsort(-left[mixed], kind="stable")]
        chosen, others = order[:m], order[m:]
        rest = int(left[others[0]]) if len(others) else 0
        x = min(int(left[chosen[-1]]), int(left.sum()) // m - rest)
        if len(chosen) < m or x < 1:
            return found
        left[chosen] -= x
        found.append((tuple(chosen.tolist()), x))


@pytest.mark.slow
@given(st.lists(st.integers(0, 40), min_size=1, max_size=60), st.integers(2, 6))
@settings(max_examples=300, deadline=None)
def test_the_heap_takes_what_sorting_would(counts: list[int], m: int) -> None:
    left, again = (np.array(counts, np.int64) for _ in range(2))
    mixed = np.random.default_rng(sum(counts)).permutation(len(counts)).astype(np.int64)
    ranks = np.argsort(mixed)
    occurring = mixed[left[mixed] > 0]
    heap = occurring[np.argsort(-left[occurring], kind="stable")]
    lines, times = take_largest(left, ranks, heap, m)
    expected = plain_largest(again, mixed, m) if len(counts) >= m else []
    assert [(tuple(line), x) for line, x in zip(lines.tolist(), times.tolist(), strict=True)] == (
        expected
    )
    assert left.tolist() == again.tolist()


@pytest.mark.slow
def test_a_million_values_that_all_differ() -> None:
    """Sorting them again for each of the 100,000 signatures would outlast the limit of a test."""
    n, m = 1_000_000, 10
    found = plan(np.ones(n, np.int64), m, "signatures", Randomness(1))
    assert len(found) == n // m
    assert np.bincount(found.values, minlength=n).tolist() == [1] * n
    assert Counter(found.groups.tolist()) == {1: n // m}
