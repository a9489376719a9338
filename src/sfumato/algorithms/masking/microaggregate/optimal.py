"""The best groups of one column.

Hansen, Mukherjee: "A polynomial algorithm for optimal univariate microaggregation", TKDE 2003. In
the best partition into groups of k rows or more, groups are runs of the sorted values, of k to
2k - 1 rows each: a run of 2k rows is never worse when it is cut. So the least sum of squares
of the first i values is that of some j of them, k to 2k - 1 fewer, plus what the run between costs.
O(n k), after sorting.
"""

from __future__ import annotations

import numpy as np

from sfumato.core.arrays import Codes, Counts, Floats
from sfumato.core.compiled import kernel


def optimal(values: Floats, k: int) -> Codes:
    """The group of every row, for at least k values."""
    order = np.argsort(values, kind="stable")
    ends = run_ends(values[order] - values.mean(), k)
    groups = np.empty(len(values), np.int32)
    groups[order] = np.searchsorted(ends, np.arange(len(values)), side="right")
    return groups


@kernel
def run_ends(values: Floats, k: int) -> Counts:
    """Where each run of sorted values ends, the last one at their number."""
    n = len(values)
    costs, begins = np.full(n + 1, np.inf), np.zeros(n + 1, np.int64)
    costs[0] = 0.0
    sums, squares = np.zeros(n + 1), np.zeros(n + 1)
    for i in range(n):
        sums[i + 1], squares[i + 1] = sums[i] + values[i], squares[i] + values[i] ** 2
    for end in range(k, n + 1):
        for begin in range(max(0, end - 2 * k + 1), end - k + 1):
            if costs[begin] == np.inf:
                continue
            total = sums[end] - sums[begin]
            cost = costs[begin] + squares[end] - squares[begin] - total * total / (end - begin)
            if cost < costs[end]:
                costs[end], begins[end] = cost, begin
    ends = np.empty(n // k + 1, np.int64)
    made, end = 0, n
    while end > 0:
        ends[made] = end
        made, end = made + 1, begins[end]
    return ends[:made][::-1].copy()
