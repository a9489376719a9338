"""The groups of TopDown while they change: boxes, loads, points, and the rows to search through."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.algorithms.space import (
    PointArrays,
    Sets,
    Sides,
    add_point,
    clear_box,
    new_sides,
    penalty_of,
)
from sfumato.algorithms.topdown.rows import WIDTH, Rows, draw_above, draw_all, new_rows, write_slot
from sfumato.algorithms.topdown.split import Tree
from sfumato.core.arrays import Codes, Counts, Flags, Floats, Whole
from sfumato.core.compiled import inner, kernel

GONE = 2**62  # the load of no group


class Index(NamedTuple):
    """The leaves of the tree of splits as groups; two boxes after the last node are for trials.

    By node: ``loads``, ``spares`` (what a group of more than one point has), ``heads`` and
    ``n_points``; the points of a group are a ring, on from its head by ``following``. What is no
    leaf, or no longer a group, has a negative head. ``rows`` are drawn again when a group changes,
    so a search stays exact; ``stack``, ``bounds`` and ``wide`` are its own.
    """

    sides: Sides
    loads: Counts
    spares: Counts
    heads: Codes
    n_points: Codes
    following: Codes
    rows: Rows
    stack: Counts
    bounds: Floats
    wide: Flags


def new_index(tree: Tree, n_nodes: int, arrays: PointArrays, sets: Sets) -> Index:
    """Room for a tree of so many nodes."""
    n_axes, n_words = arrays.places.shape[1], int(sets.words[-1])
    rows = new_rows(tree.sides[:n_nodes], n_axes, n_words)
    room = WIDTH * len(rows.first) + 2  # a row of each level, and where the search starts
    return Index(
        sides=new_sides(n_nodes + 2, n_axes, n_words),
        loads=np.full(n_nodes, GONE, np.int64),
        spares=np.zeros(n_nodes, np.int64),
        heads=np.full(n_nodes, -1, np.int32),
        n_points=np.zeros(n_nodes, np.int32),
        following=np.arange(len(arrays.weights), dtype=np.int32),
        rows=rows,
        stack=np.zeros(room, np.int64),
        bounds=np.zeros(room),
        wide=np.zeros(room, np.bool_),
    )


@kernel
def fill_index(index: Index, tree: Tree, arrays: PointArrays, sets: Sets) -> None:
    """Make the regions that were not split groups, and draw all boxes."""
    for node in range(index.heads.size):
        if tree.sides[node, 0] >= 0:
            continue
        low, high = tree.segments[node, 0], tree.segments[node, 1]
        for i in range(low, high):
            index.following[i] = i + 1 if i + 1 < high else low
            add_point(index.sides, node, arrays, sets, i)
        index.heads[node] = low
        index.n_points[node] = high - low
        index.sides.penalties[node] = penalty_of(index.sides, node, sets)
        write_load(index, node, tree.loads[node])
    draw_all(index.rows, sets)


@inner
def put_load(index: Index, sets: Sets, group: Whole, load: Whole) -> None:
    """Say how many rows a group has, once its own box is drawn, and draw those around it."""
    write_load(index, group, load)
    draw_above(index.rows, sets, group)


@inner
def write_load(index: Index, group: Whole, load: Whole) -> None:
    """Say how many rows a group has; of one point nothing can be spared."""
    index.loads[group] = load
    index.spares[group] = load if index.n_points[group] > 1 else 0
    write_slot(index.rows, index.sides, group, float(load), index.spares[group])


@inner
def remove_group(index: Index, sets: Sets, group: Whole) -> None:
    """Take a group out."""
    clear_box(index.sides, group)
    index.loads[group] = GONE
    index.spares[group] = 0
    index.heads[group] = -1
    write_slot(index.rows, index.sides, group, np.inf, np.int64(0))
    draw_above(index.rows, sets, group)
