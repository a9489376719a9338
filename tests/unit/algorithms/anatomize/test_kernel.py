"""The loop of Anatomize against the paper's own words, and how much it looks at."""

import os
import subprocess
import sys
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sfumato.algorithms.anatomize.kernel import create_groups


@given(st.lists(st.integers(1, 9), min_size=2, max_size=30), st.integers(2, 6), st.integers(0, 99))
def test_every_group_takes_from_the_largest_bins(sizes: list[int], l: int, seed: int) -> None:
    l = min(l, len(sizes), sum(sizes) // max(sizes))
    starts = np.append(0, np.cumsum(sizes))
    slots = np.full(starts[-1], -1, np.int32)
    left = np.array(sizes, np.int64)
    order = np.argsort(-left, kind="stable")
    n_groups = create_groups(left, order, starts, l, np.array([seed], np.uint64), slots)
    bins = [slots[low:high].tolist() for low, high in pairwise(starts)]
    rest = list(sizes)
    for group in range(n_groups):
        taken = [place for place, held in enumerate(bins) if group in held]
        assert len(taken) == l
        others = [rows for place, rows in enumerate(rest) if place not in taken]
        assert min(rest[place] for place in taken) >= max(others, default=0)
        for place in taken:
            rest[place] -= 1
    assert sum(rows > 0 for rows in rest) < l
    assert left.tolist() == rest


COUNTED = """
import numpy as np
from sfumato.algorithms.anatomize.kernel import create_groups

class Counting(np.ndarray):
    looks = 0
    def __getitem__(self, place):
        Counting.looks += 1
        return super().__getitem__(place)

n, l = 2000, 5
sizes = np.ones(n, np.int64).view(Counting)
slots = np.full(n, -1, np.int32)
groups = create_groups(sizes, np.arange(n), np.arange(n + 1), l, np.array([7], np.uint64), slots)
print(groups, Counting.looks)
"""


def test_a_group_costs_as_much_however_many_values_tie() -> None:
    """As many values as rows: the looks at bins are counted in the uncompiled loop."""
    plain = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", COUNTED],
        env=plain,
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    groups, looks = map(int, done.stdout.split())
    assert groups == 400
    assert looks < 20 * 2000
