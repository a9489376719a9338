"""The merging of TopDown under models that exist only in Python: the compiled steps, one by one.

Searches and merges are those of the kernels; only the loop around them is here, because a user's
model has to be asked in between. Nothing is known of how many rows such a model wants, so no group
takes rows from another. A test holds the loop and its compiled twin together.
"""

from __future__ import annotations

import heapq

import numpy as np

from sfumato.algorithms.points import Points
from sfumato.algorithms.topdown.index import GONE, Index
from sfumato.algorithms.topdown.merge import merge_groups
from sfumato.algorithms.topdown.search import find_neighbours
from sfumato.algorithms.topdown.space import PointArrays, Sets
from sfumato.core.arrays import Codes, Counts
from sfumato.core.histograms import Histograms
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.models.requirements import Requirement


def merge_all_plain(
    points: Points,
    arrays: PointArrays,
    sets: Sets,
    index: Index,
    table: Microdata,
    needs: tuple[Requirement, ...],
) -> None:
    """Merge until every group passes."""
    judge = _Judge(points, table, needs)

    def passes(group: int) -> bool:
        return judge.passes(arrays.member[_ring(index, group)])

    leaves = np.flatnonzero(index.heads >= 0).tolist()
    queue = [(int(index.loads[group]), group) for group in leaves if not passes(group)]
    heapq.heapify(queue)
    while queue:
        load, group = heapq.heappop(queue)
        if index.loads[group] != load:  # merged since
            continue
        partner, *_ = find_neighbours(index, sets, group, GONE, 1.0)
        if partner < 0:
            break  # all rows are together
        merged = int(merge_groups(index, sets, group, partner))
        if not passes(merged):
            heapq.heappush(queue, (int(index.loads[merged]), merged))


class _Judge:
    """Asks the models about one group at a time, given as points."""

    def __init__(self, points: Points, table: Microdata, needs: tuple[Requirement, ...]) -> None:
        self.table = table
        self.needs = needs
        order = np.argsort(points.point_of_row, kind="stable")
        self.rows = np.split(order, np.cumsum(points.weights)[:-1])
        everyone = Partition.of(np.zeros(table.n_rows, np.int32))
        self.whole = [need.histograms(table, everyone).whole for need in needs]

    def passes(self, members: Codes) -> bool:
        """Whether these points are a safe group."""
        rows = np.concatenate([self.rows[point] for point in members])
        return all(
            bool(need.model.passes(self._seen(need, rows, whole))[0])
            for need, whole in zip(self.needs, self.whole, strict=True)
        )

    def _seen(self, need: Requirement, rows: Codes, whole: Counts) -> Histograms:
        if need.attribute is None:
            return Histograms.of_sizes(np.array([len(rows)], np.int64))
        attribute = self.table.attributes[need.attribute]
        counts = np.bincount(self.table.codes[need.attribute][rows], minlength=len(whole))
        return Histograms.of_matrix(attribute, counts[np.newaxis], whole)


def _ring(index: Index, group: int) -> list[int]:
    """The places of a group's points in the arrays."""
    places = [int(index.heads[group])]
    while index.following[places[-1]] != places[0]:
        places.append(int(index.following[places[-1]]))
    return places
