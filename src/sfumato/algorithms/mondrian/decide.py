"""The kernel's own choice of a cut, made on counts instead of rows.

Step 2 of regions.py: the values of a node along an axis are points of a frequency set, which the
kernel ranks and cuts as it does with those of a segment (kernel.py, ranking.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sfumato.algorithms.mondrian.arrays import Axes, CutRules, PointArrays, Workspace, new_workspace
from sfumato.algorithms.mondrian.bins import Bins
from sfumato.algorithms.mondrian.kernel import cut_axis
from sfumato.algorithms.mondrian.node_counts import Seen
from sfumato.algorithms.mondrian.ranking import find_median, rank_axes, rank_values
from sfumato.core.arrays import Codes, Counts, Flags, Ints, Whole
from sfumato.core.compiled import kernel
from sfumato.errors import OutOfMemory
from sfumato.models._rules import passes_rules

NONE = -1  # no code


class Half(NamedTuple):
    """One side of a cut: its rows, the axis whose turn is next, and its sensitive values."""

    load: int
    turn: int
    totals: Counts


class Cut(NamedTuple):
    """Which codes of an axis go left: those that are marked, or all ``upto`` one; what the halves
    are; ``quota`` rows of the code ``tie``, those with words up to ``word``.
    """

    axis: int
    marks: Flags | None
    upto: int
    halves: tuple[Half, Half]
    tie: int = NONE
    quota: int = 0
    word: int = 0


def decide(
    seen: Seen,
    axes: Axes,
    bins: Bins,
    cut_rules: CutRules,
    load: int,
    turn: int,
    totals: Counts,
) -> Cut | None:
    """The cut that the kernel makes in a region with these counts."""
    for axis in order_of(seen, axes, bins, cut_rules, load, turn):
        cut = cut_along(seen, axes, bins, cut_rules, axis, load, totals)
        if cut is not None:
            return cut
    return None


def order_of(
    seen: Seen, axes: Axes, bins: Bins, cut_rules: CutRules, load: int, turn: int
) -> list[int]:
    """The axes worth cutting, in the order to try them; none where there are too few rows."""
    if load < 2 * cut_rules.least:
        return []
    present = [
        seen.ends[axis] if bins.width[axis] > 1 else np.flatnonzero(seen.rows[bins.slots(axis)])
        for axis in range(len(bins.width))
    ]
    # of ordered axes nothing but the ends counts, of sets every value
    stamped = np.where(axes.is_set, axes.sizes, 1)
    workspace = new_workspace(max(map(len, present)), stamped, 0)
    found: list[int] = order_axes(_padded(present), axes, cut_rules, turn, workspace).tolist()
    return found


def cut_along(
    seen: Seen, axes: Axes, bins: Bins, cut_rules: CutRules, axis: int, load: int, totals: Counts
) -> Cut | None:
    """The kernel's cut along an axis that parts no equal rows, if one is safe."""
    values = Values.of(seen, bins, axis)
    workspace = workspace_for(values, axis, len(axes.sizes), len(totals))
    known = bins.all_known(axis, seen.ends[axis], int(seen.medians[axis]))
    rules = cut_rules._replace(all_cuts=cut_rules.all_cuts and known, relaxed=False)
    middle, left = try_axis(values.arrays, axes.is_set[axis], axis, rules, load, totals, workspace)
    if middle >= 0:
        marks, upto = values.cut(axis, values.arrays.codes[:middle, axis], axes)
        turn = (axis + 1) % len(axes.sizes)
        sides = (left, workspace.left.copy()), (load - left, workspace.right.copy())
        first, second = (Half(int(size), turn, histogram) for size, histogram in sides)
        return Cut(axis, marks, upto, (first, second))
    if cut_rules.sensitive and rules.all_cuts != cut_rules.all_cuts:
        raise OutOfMemory(
            f"no cut at the median of {int(axes.sizes[axis]):,} values is safe, and to look at "
            f"all others takes {8 * int(axes.sizes[axis]) * (1 + len(totals)):,} bytes for "
            'counts; allow eight times as much memory, use cuts="median", or round the values',
            doing="publishing",
        )
    return None


def cut_evenly(seen: Seen, axes: Axes, bins: Bins, axis: int, load: int) -> Cut:
    """The cut along an axis of a region whose rows may be divided at will, safe or not; what the
    halves hold is not known yet.
    """
    values = Values.of(seen, bins, axis)
    workspace = workspace_for(values, axis, len(axes.sizes), 0)
    median, below = median_of(values.arrays, axes.is_set[axis], axis, load, workspace)
    marks, upto = values.cut(axis, workspace.present[:median], axes)
    turn, left = (axis + 1) % len(axes.sizes), (load + 1) // 2
    halves = Half(left, turn, workspace.left), Half(load - left, turn, workspace.left)
    tie = int(values.last[workspace.present[median]])
    return Cut(axis, marks, upto, halves, tie, left - int(below))


def workspace_for(values: Values, axis: int, d: int, n_values: int) -> Workspace:
    """A workspace for the values along an axis, one of so many."""
    n = len(values.last)
    workspace = new_workspace(n, np.full(d, n), n_values)
    workspace.bounds[axis] = 0, n - 1
    return workspace


class Values(NamedTuple):
    """The slots of an axis in which a node has rows, ascending, as points of a frequency set.

    Along the axis a point has its place among them; ``last`` is the last code that it stands for.
    """

    last: Counts
    arrays: PointArrays

    @classmethod
    def of(cls, seen: Seen, bins: Bins, axis: int) -> Values:
        """Those of a node."""
        slots = bins.slots(axis)
        rows, values = seen.rows[slots], seen.values[slots]
        last = bins.last_codes(axis, int(seen.medians[axis]))
        present = np.flatnonzero(rows)
        present = present[np.argsort(last[present])]
        arrays = _frequency_set(axis, len(bins.width), rows[present], values[present])
        return cls(last[present], arrays)

    def cut(self, axis: int, left: Ints, axes: Axes) -> tuple[Flags | None, int]:
        """Which codes go left, if these points do: marks of a set, or the last one."""
        codes = self.last[left]
        if not axes.is_set[axis]:
            return None, int(codes.max(initial=NONE))
        marks = np.zeros(int(axes.sizes[axis]), np.bool_)
        marks[codes] = True
        return marks, NONE


def _padded(present: Sequence[Counts]) -> Codes:
    """The values present along every axis as a matrix; shorter columns repeat their last one."""
    longest = max(map(len, present))
    return np.stack(
        [np.append(codes, np.full(longest - len(codes), codes[-1])) for codes in present],
        axis=1,
        dtype=np.int32,
    )


def _frequency_set(axis: int, d: int, rows: Counts, values: Counts) -> PointArrays:
    """One point for every value along an axis."""
    n = len(rows)
    codes = np.zeros((n, d), np.int32)
    codes[:, axis] = np.arange(n)
    owner, found = np.nonzero(values)
    return PointArrays(
        codes,
        rows,
        np.arange(n, dtype=np.int32),
        np.searchsorted(owner, np.arange(n + 1)).astype(np.int64),
        found.astype(np.int32),
        values[owner, found],
    )


def both_safe(cut_rules: CutRules, halves: tuple[Half, Half]) -> bool:
    """Whether the halves of a cut keep all rules."""
    scratch = np.zeros(len(cut_rules.whole) + 1, np.int64)
    return all(
        half.load >= cut_rules.least and is_safe(cut_rules, half.totals, half.load, scratch)
        for half in halves
    )


@kernel
def is_safe(cut_rules: CutRules, totals: Counts, load: int, scratch: Counts) -> bool:
    """Whether rows with these sensitive values keep all rules."""
    return passes_rules(cut_rules.rules, totals, np.int64(load), cut_rules.whole, scratch)


@kernel
def median_of(
    arrays: PointArrays, is_set: bool, axis: Whole, load: int, workspace: Workspace
) -> tuple[Whole, Whole]:
    """Rank the values along an axis; the rank of the median, and how many rows lie below it."""
    rank_values(
        arrays, is_set, np.int64(axis), np.int64(0), np.int64(len(arrays.weights)), workspace
    )
    return find_median(np.int64(load), workspace)


@kernel
def order_axes(
    codes: Codes, axes: Axes, cut_rules: CutRules, turn: int, workspace: Workspace
) -> Counts:
    """The axes worth cutting, in the order to try them."""
    nothing = np.zeros(0, np.int64)
    none = np.zeros(0, np.int32)
    arrays = PointArrays(codes, nothing, none, nothing, none, nothing)
    n_axes = rank_axes(
        arrays, axes, cut_rules, np.int64(0), np.int64(len(codes)), np.int64(turn), workspace
    )
    return workspace.order[:n_axes].copy()


@kernel
def try_axis(
    arrays: PointArrays,
    is_set: bool,
    axis: Whole,
    cut_rules: CutRules,
    load: int,
    totals: Counts,
    workspace: Workspace,
) -> tuple[Whole, Whole]:
    """Cut the points along an axis, as the kernel does with a segment."""
    return cut_axis(
        arrays,
        is_set,
        np.int64(axis),
        cut_rules,
        np.int64(0),
        np.int64(len(arrays.weights)),
        np.int64(load),
        totals,
        workspace,
    )
