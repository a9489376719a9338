"""The cut that serves a workload most, chosen by counts instead of rows.

Step 2 of regions.py where there is a workload: what a cut gains hangs on how many rows each cell
has, and on the ends of every axis (workload.py), so counts of values are all it takes. The kernel
that scores a segment's cuts (workload_kernel.py) scores those of a node.
"""

from __future__ import annotations

import numpy as np

from sfumato.algorithms.mondrian.arrays import Axes, CutRules, PointArrays, Workspace
from sfumato.algorithms.mondrian.bins import Bins
from sfumato.algorithms.mondrian.decide import Cut, Half, Values, workspace_for
from sfumato.algorithms.mondrian.kernel import cut_by_side
from sfumato.algorithms.mondrian.node_counts import Seen
from sfumato.algorithms.mondrian.workload_kernel import (
    Asked,
    ServingSpace,
    new_serving_space,
    score_counted,
)
from sfumato.core.arrays import Counts, Flags, Whole
from sfumato.core.compiled import kernel


def decide_serving(
    seen: Seen,
    axes: Axes,
    bins: Bins,
    cut_rules: CutRules,
    load: int,
    totals: Counts,
    asked: Asked,
) -> Cut | None:
    """The cut that the kernel makes for the workload in a region with these counts, if any."""
    if load < 2 * cut_rules.least:
        return None
    serving = _counted(seen, axes, asked)
    score_counted(axes, cut_rules, asked, load, serving)
    gains = serving.gains
    while gains.any():
        best = int(np.argmax(gains))
        axis = int(asked.axis_of[best])
        values = Values.of(seen, bins, axis)
        cells = asked.cells[axes.offsets[axis] + values.last]
        right = serving.places[cells] > serving.places[best]
        cut = _cut(values, axes, axis, right, cut_rules, load, totals)
        if cut is not None:
            return cut
        gains[best] = 0
    return None


def _counted(seen: Seen, axes: Axes, asked: Asked) -> ServingSpace:
    """The rows of every cell, and the first and the last cell of each axis."""
    serving = new_serving_space(asked)
    np.add.at(serving.amounts, asked.cells, seen.rows)
    for axis, (start, size) in enumerate(zip(axes.offsets, axes.sizes, strict=True)):
        codes = slice(start, start + size)
        found = asked.cells[codes][seen.rows[codes] > 0]
        serving.ends[axis] = found.min(), found.max()
    return serving


def _cut(
    values: Values,
    axes: Axes,
    axis: int,
    right: Flags,
    cut_rules: CutRules,
    load: int,
    totals: Counts,
) -> Cut | None:
    """The cut that has these values on its right, if both halves are safe."""
    workspace = workspace_for(values, axis, len(axes.sizes), len(totals))
    workspace.stack[0] = 0, len(right), load, 0
    workspace.totals[0] = totals
    workspace.ranks[: len(right)] = right
    left = int(values.arrays.weights[~right].sum())
    middle = try_side(values.arrays, cut_rules, axis, left, workspace)
    if middle < 0:
        return None
    marks, upto = values.cut(axis, values.arrays.codes[:middle, axis], axes)
    turn = (axis + 1) % len(axes.sizes)
    first = Half(left, turn, workspace.left.copy())
    return Cut(axis, marks, upto, (first, Half(load - left, turn, workspace.right.copy())))


@kernel
def try_side(
    arrays: PointArrays, cut_rules: CutRules, axis: Whole, left: int, workspace: Workspace
) -> Whole:
    """Cut where ranks are 0 and 1, as the kernel does with a segment."""
    return cut_by_side(arrays, cut_rules, np.int64(axis), np.int64(left), np.int64(0), workspace)
