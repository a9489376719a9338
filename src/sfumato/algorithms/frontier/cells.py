"""A table's rows in an order in which neighbours stand together: leaf by leaf, cell by cell.

Cutting moves points so that both halves of a region are neighbours in the arrays
(mondrian/kernel.py). After the last cut they stand in the order in which a walk through the tree of
all cuts meets them, which is the order of a space-filling curve that follows the data.
"""

from __future__ import annotations

import numpy as np

from sfumato.algorithms.mondrian import CutPoints
from sfumato.algorithms.mondrian.arrays import (
    Axes,
    CutRules,
    PointArrays,
    Workspace,
    axes_of,
    new_workspace,
)
from sfumato.algorithms.mondrian.kernel import cut_all
from sfumato.core.arrays import Codes, Counts
from sfumato.core.compiled import kernel
from sfumato.core.microdata import Microdata
from sfumato.models._rules import SIZE, Rule, rule_matrix


def cells_in_order(table: Microdata, leaves: CutPoints, rows: int) -> tuple[Codes, Counts]:
    """The cell of every row, leaf after leaf, in each as a walk through its cuts meets them; and
    the rows of every leaf.

    Leaves are cut on into cells of at least so many ``rows``.
    """
    points, of_place = leaves.points, leaves.groups[leaves.member]
    order = np.argsort(of_place, kind="stable")
    sizes = np.bincount(of_place)
    loads = np.bincount(of_place, weights=points.weights).astype(np.int64)
    n = len(order)
    arrays = PointArrays(
        points.codes[order], points.weights[order], leaves.member[order],
        np.zeros(n + 1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int64),
    )  # fmt: skip
    by_size = rule_matrix([(Rule(SIZE, rows, least=rows), 0, 0)])
    cut_rules = CutRules(
        by_size, np.zeros(0), rows, sensitive=False, relaxed=False, round_robin=False, all_cuts=True
    )
    axes = axes_of(table)
    workspace = new_workspace(int(sizes.max()), axes.sizes, 0)
    cells = np.empty(n, np.int32)
    _cut_each(arrays, axes, cut_rules, workspace, np.append(0, np.cumsum(sizes)), loads, cells)
    along = cells[arrays.member]
    cells[arrays.member] = np.cumsum(np.diff(along, prepend=along[0]) != 0)
    return cells[points.point_of_row], loads


@kernel
def _cut_each(
    arrays: PointArrays,
    axes: Axes,
    cut_rules: CutRules,
    workspace: Workspace,
    starts: Counts,
    loads: Counts,
    groups: Codes,
) -> None:
    """Cut every one of the segments between ``starts``."""
    control = np.zeros(2, np.int64)
    for segment in range(loads.size):
        workspace.stack[0, 0] = starts[segment]
        workspace.stack[0, 1] = starts[segment + 1]
        workspace.stack[0, 2] = loads[segment]
        workspace.stack[0, 3] = 0
        cut_all(arrays, axes, cut_rules, workspace, groups, control)
