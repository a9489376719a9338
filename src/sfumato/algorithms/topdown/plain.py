"""The merging of TopDown under models that exist only in Python: the compiled steps, one by one.

Searches and merges are those of the kernels; only the loop around them is here, because a user's
model has to be asked in between. Nothing is known of how many rows such a model wants, so no group
takes rows from another. A test holds the loop and its compiled twin together.
"""

from __future__ import annotations

import heapq

import numpy as np

from sfumato.algorithms.points import PointJudge, Points
from sfumato.algorithms.space import PointArrays, Sets
from sfumato.algorithms.topdown.index import GONE, Index
from sfumato.algorithms.topdown.merge import merge_groups
from sfumato.algorithms.topdown.search import find_neighbours
from sfumato.models.bound import Bound


def merge_all_plain(
    points: Points,
    arrays: PointArrays,
    sets: Sets,
    index: Index,
    bound: Bound,
) -> None:
    """Merge until every group passes."""
    judge = PointJudge(points, bound)

    def passes(group: int) -> bool:
        return judge.pass_all(arrays.member[_ring(index, group)])

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


def _ring(index: Index, group: int) -> list[int]:
    """The places of a group's points in the arrays."""
    places = [int(index.heads[group])]
    while index.following[places[-1]] != places[0]:
        places.append(int(index.following[places[-1]]))
    return places
