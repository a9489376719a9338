"""Answers in the generalization framework: G-Count, and the version behind them.

Xiao, Tao: "Dynamic anonymization", SIGMOD 2008, section 7. The dimensions of the query space are
the quasi-identifiers with a condition, in the order of the schema; the condition must be a range of
codes. The box of a group is the least one around its rows in that space. A group lies inside the
query (type 1) if all its rows do, and outside (type 3) if they all lie in one of the two margins of
some dimension. G-Count (Figure 6), for every bucket, here every cohort:

    4-7.   n_1 groups lie inside: as many as there are rows of every value in S_c
    8-14.  n_3 groups lie outside, y_i of them in margin i
    15.    [n_1 alpha, (|B|/|K| - n_3) alpha]

**Beyond the paper.** Figure 6 gives margin after margin all that it can use, so a row in several
margins is lost for the later ones. By Hall's theorem, rows for y_i groups in every margin i can be
found exactly if no set S of margins gets more than the rows that lie in one of them allow:

    sum of y_i over S  <=  R(S) = min over values v of the number of v's rows in the union of S

The largest n_3 is a whole-number program of 2 lambda variables. (Lemma 8 calls the best
decomposition NP-hard to find; that needs many dimensions.) From y = 0, two moves are made, as far
as the R(S) allow, until none is possible: one more group in a margin, or one less in a margin and
one more in two others. That reached the optimum wherever it was compared: in tests, and on 600,000
salaries, where intervals become a third shorter. With more than three dimensions there are too many
sets S; then it is Figure 6, where rows that lie in no margin still to come are spent first, equal
ones in the order of their places. Either way the answer depends on the query and the store alone,
and takes time linear in the rows of the buckets.

After it the rest cannot make another group inside or outside: whatever rows were used, of every
margin, and of S_c, some value has none left. So the interval is that of ``g_decompose``.

A counterfeit, a place without a row, makes no group certain: a group that holds one is not of type
1. But it may stand in any margin. Groups are as many as the most frequent value has rows.
With counterfeits, values of groups are more than rows. The number of rows is public, so no interval
ends above it, and all rows are counted exactly; the version is the same.
"""

from __future__ import annotations

from collections import deque
from itertools import pairwise

import numpy as np

from sfumato.answers.group_bounds import Counted
from sfumato.core.arrays import Codes, Counts, Flags
from sfumato.core.partition import LEFT_OUT
from sfumato.statdb.count.cell_kernel import MOST_DIMS, yields_of
from sfumato.statdb.layout.bucketization import Bucketization


def g_count(alpha: Counts, inside: Counts, partly: Counts, n_rows: int) -> Counted:
    """Line 15, from wanted values and groups of types 1 and 2 per bucket.

    The estimate is the middle: how much of a box lies in the query is not looked at.
    """
    lo = int(alpha @ inside)
    hi = min(lo + int(alpha @ partly), n_rows)
    return Counted((lo + hi) / 2, lo, hi)


def g_decompose(buckets: Bucketization, margins: Flags, inside: Flags, occupied: Flags) -> Codes:
    """The group of every place, LEFT_OUT where none is.

    ``margins`` has two lines per dimension, lower and upper; ``inside[i]`` says which places lie in
    no margin from dimension i on, ``occupied`` which have a row.
    """
    groups = np.full(buckets.n_places, LEFT_OUT, np.int32)
    n_groups = 0
    for b in range(buckets.n_buckets):
        for k in range(buckets.cohorts[b]):
            lines = _held(buckets.segments(b, k), occupied)
            if not lines.size:
                continue
            if len(margins) <= 2 * MOST_DIMS:
                places = shared_out(lines, margins, occupied)
            else:
                places = decompose_cohort(lines, margins, inside)
            groups[places] = n_groups + np.arange(places.shape[1])
            n_groups += places.shape[1]
    return groups


def shared_out(places: Counts, margins: Flags, occupied: Flags) -> Counts:
    """The places of a cohort, a line per value: columns are groups, inside, by margin, and rest."""
    if not len(margins):
        return places
    bits = 1 << np.arange(len(margins))
    cells = np.where(
        occupied[places], (margins[:, places] * bits[:, None, None]).sum(axis=0), bits.sum()
    )
    counts = np.array([np.bincount(line, minlength=2 ** len(bits)) for line in cells], np.int64)
    yields = yields_of(counts, len(margins))
    inside = int(counts[:, 0].min())
    return np.array(
        [
            _ordered(line, own, inside, dealt(count, yields))
            for line, own, count in zip(places, cells, counts, strict=True)
        ]
    )


def dealt(cells: Counts, yields: Counts) -> Counts:
    """How many rows of each cell (a column) every margin (a line) takes to have its yield."""
    taken = np.zeros((len(yields), len(cells)), np.int64)
    left = cells.copy()
    for margin, wanted in enumerate(yields.tolist()):
        while wanted > 0:
            path = _path(margin, taken, left)
            step = min(wanted, int(left[path[-1][1]]))
            for (_, cell), (giver, _) in pairwise(path):
                step = min(step, int(taken[giver, cell]))
            for (taker, cell), (giver, _) in pairwise(path):
                taken[taker, cell] += step
                taken[giver, cell] -= step
            taken[path[-1]] += step
            left[path[-1][1]] -= step
            wanted -= step
    return taken


def decompose_cohort(places: Counts, margins: Flags, inside: Flags) -> Counts:
    """The same by Figure 6."""
    left = [line.tolist() for line in places]
    chosen: list[list[int]] = [[] for _ in left]

    def spend(among: Flags, first: Flags) -> None:
        candidates = [[place for place in line if among[place]] for line in left]
        y = min(map(len, candidates))
        for line, found, taken in zip(left, candidates, chosen, strict=True):
            best = sorted(found, key=lambda place: not first[place])[:y]
            taken.extend(best)
            for place in best:
                line.remove(place)

    spend(inside[0], inside[0])
    for margin in range(len(margins)):
        spend(margins[margin], inside[margin // 2 + 1])
    for line, taken in zip(left, chosen, strict=True):
        taken.extend(line)
    return np.array(chosen, np.int64)


def _held(places: Counts, occupied: Flags) -> Counts:
    """Rows first, and as many columns as the value with the most rows needs."""
    order = np.argsort(~occupied[places], axis=1, kind="stable")
    columns = int(occupied[places].sum(axis=1).max())
    return np.take_along_axis(places, order, axis=1)[:, :columns]


def _ordered(line: Counts, cells: Counts, inside: int, taken: Counts) -> Counts:
    """The places of one value in the order of groups."""
    piles = {cell: line[cells == cell] for cell in np.unique(cells).tolist()}
    used = dict.fromkeys(piles, 0)
    parts = []
    wanted = [
        (0, inside),
        *((cell, int(taken[margin, cell])) for margin, cell in np.argwhere(taken)),
    ]
    for cell, rows in wanted:
        if rows:
            parts.append(piles[cell][used[cell] : used[cell] + rows])
            used[cell] += rows
    parts.extend(pile[used[cell] :] for cell, pile in piles.items())
    return np.concatenate(parts)


def _path(margin: int, taken: Counts, left: Counts) -> list[tuple[int, int]]:
    """Margins and cells: each takes a row of its cell from the next, the last from what is left."""
    paths: deque[list[tuple[int, int]]] = deque([[(margin, -1)]])
    seen = {margin}
    while True:
        path = paths.popleft()
        taker = path[-1][0]
        for cell in np.flatnonzero(np.arange(len(left)) >> taker & 1).tolist():
            here = [*path[:-1], (taker, cell)]
            if left[cell]:
                return here
            for giver in np.flatnonzero(taken[:, cell]).tolist():
                if giver not in seen:
                    seen.add(giver)
                    paths.append([*here, (giver, -1)])
