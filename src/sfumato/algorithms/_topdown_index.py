"""The tree of splits as a hierarchy of boxes, with groups as its leaves.

Every node knows the box around the groups that are left below it and the smallest of their loads;
when a group grows, shrinks or goes, the nodes above it are drawn again. So a search through the
tree (_topdown_search.py) stays exact however groups change.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.algorithms._topdown_blocks import Blocks, new_blocks, write_slot
from sfumato.algorithms._topdown_space import (
    Cloud,
    Sets,
    Sides,
    add_point,
    clear_box,
    new_sides,
    penalty_of,
)
from sfumato.algorithms._topdown_split import Tree
from sfumato.core.arrays import Codes, Counts, Floats, Whole
from sfumato.core.compiled import inner, kernel

GONE = 2**62  # the load of no group


class Index(NamedTuple):
    """The tree of splits as a hierarchy of boxes; two boxes after the last node are for trials.

    By node: ``loads`` (the smallest below), ``spares`` (the largest load below of a group with
    more than one point). By leaf: ``heads`` and ``n_points``; the points of a group are a ring, on
    from its head by ``following``, and ``blocks`` hold the groups side by side. ``stack`` and
    ``bounds`` are the search's own.
    """

    parents: Codes
    children: Codes
    sides: Sides
    loads: Counts
    spares: Counts
    heads: Codes
    n_points: Codes
    following: Codes
    blocks: Blocks
    stack: Counts
    bounds: Floats


def new_index(tree: Tree, n_nodes: int, cloud: Cloud, sets: Sets) -> Index:
    """Room for a tree of so many nodes."""
    parents, children = tree.parents[:n_nodes], tree.sides[:n_nodes]
    n_axes, n_words = cloud.places.shape[1], int(sets.words[-1])
    return Index(
        parents=parents,
        children=children,
        sides=new_sides(n_nodes + 2, n_axes, n_words),
        loads=np.full(n_nodes, GONE, np.int64),
        spares=np.zeros(n_nodes, np.int64),
        heads=np.full(n_nodes, -1, np.int32),
        n_points=np.zeros(n_nodes, np.int32),
        following=np.arange(len(cloud.weights), dtype=np.int32),
        blocks=new_blocks(parents, children, n_axes, n_words),
        stack=np.zeros(n_nodes + 2, np.int64),
        bounds=np.zeros(n_nodes + 2),
    )


@kernel
def fill_index(index: Index, tree: Tree, cloud: Cloud, sets: Sets) -> None:
    """Make the regions that were not split groups, and draw all boxes."""
    for node in range(index.parents.size - 1, -1, -1):  # children before parents
        if index.children[node, 0] >= 0:
            draw_nodes(index, sets, node, True)
            continue
        low, high = tree.segments[node, 0], tree.segments[node, 1]
        for i in range(low, high):
            index.following[i] = i + 1 if i + 1 < high else low
            add_point(index.sides, node, cloud, sets, i)
        index.heads[node] = low
        index.n_points[node] = high - low
        index.sides.penalties[node] = penalty_of(index.sides, node, sets)
        put_load(index, node, tree.loads[node])


@inner
def put_load(index: Index, group: Whole, load: Whole) -> None:
    """Say how many rows a group has, once its box is drawn; of one point nothing can be spared."""
    index.loads[group] = load
    index.spares[group] = load if index.n_points[group] > 1 else 0
    write_slot(index.blocks, index.sides, group, float(load), index.spares[group])


@inner
def draw_nodes(index: Index, sets: Sets, node: Whole, only: bool) -> None:
    """Draw a node from its children, and unless ``only`` it the nodes above, while they change."""
    children, loads, spares = index.children, index.loads, index.spares
    lows, highs, bits = index.sides.lows, index.sides.highs, index.sides.bits
    changed = True
    while node >= 0 and changed:
        one, other = children[node, 0], children[node, 1]
        load, spare = min(loads[one], loads[other]), max(spares[one], spares[other])
        changed = load != loads[node] or spare != spares[node]
        loads[node], spares[node] = load, spare
        for j in range(lows.shape[1]):
            low = min(lows[one, j], lows[other, j])
            high = max(highs[one, j], highs[other, j])
            changed |= low != lows[node, j] or high != highs[node, j]
            lows[node, j], highs[node, j] = low, high
        for w in range(bits.shape[1]):
            word = bits[one, w] | bits[other, w]
            changed |= word != bits[node, w]
            bits[node, w] = word
        if changed and load < GONE:
            index.sides.penalties[node] = penalty_of(index.sides, node, sets)
        changed &= not only
        node = index.parents[node]


@inner
def remove_group(index: Index, sets: Sets, group: Whole) -> None:
    """Take a group out of the tree."""
    clear_box(index.sides, group)
    index.loads[group] = GONE
    index.spares[group] = 0
    index.heads[group] = -1
    write_slot(index.blocks, index.sides, group, np.inf, np.int64(0))
    draw_nodes(index, sets, index.parents[group], False)
