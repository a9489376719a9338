"""Which group is the cheapest to merge with: a search through the tree of splits.

The tree is a hierarchy of boxes with groups as its leaves. Every node knows the box around the
groups that are left below it and the smallest of their loads; when a group grows, shrinks or goes,
the nodes above it are drawn again. So the search stays exact however groups change.

Merging groups G and H costs |G| (p(G+H) - p(G)) + |H| (p(G+H) - p(H)), p the penalty. For any H in
the box N of a node the first term is at least that for the point of N nearest to G. The penalty
grows the less the more a box holds, so p(G+H) - p(H) is at least p(G+N) - p(N). Subtrees whose
bound is not below the best cost so far are passed by.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.algorithms._topdown_space import (
    Cloud,
    Sets,
    Sides,
    add_point,
    clear_box,
    new_sides,
    ones,
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
    from its head by ``following``. ``stack`` and ``bounds`` are the search's own.
    """

    parents: Codes
    children: Codes
    sides: Sides
    loads: Counts
    spares: Counts
    heads: Codes
    n_points: Codes
    following: Codes
    stack: Counts
    bounds: Floats


def new_index(tree: Tree, n_nodes: int, cloud: Cloud, sets: Sets) -> Index:
    """Room for a tree of so many nodes."""
    return Index(
        parents=tree.parents[:n_nodes],
        children=tree.sides[:n_nodes],
        sides=new_sides(n_nodes + 2, cloud.places.shape[1], int(sets.words[-1])),
        loads=np.full(n_nodes, GONE, np.int64),
        spares=np.zeros(n_nodes, np.int64),
        heads=np.full(n_nodes, -1, np.int32),
        n_points=np.zeros(n_nodes, np.int32),
        following=np.arange(len(cloud.weights), dtype=np.int32),
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
    """Say how many rows a group has; of one point nothing can be spared."""
    index.loads[group] = load
    index.spares[group] = load if index.n_points[group] > 1 else 0


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
    draw_nodes(index, sets, index.parents[group], False)


@kernel
def find_cheapest(
    index: Index, sets: Sets, group: Whole, spare: Whole, limit: float
) -> tuple[Whole, float]:
    """The group that costs least to merge with, and what it costs; -1 if none costs below a limit.

    With ``spare`` only groups of more than one point and so many rows are looked at.
    """
    parents, children, stack, bounds = index.parents, index.children, index.stack, index.bounds
    loads, spares, penalties = index.loads, index.spares, index.sides.penalties
    lows, highs, bits = index.sides.lows, index.sides.highs, index.sides.bits
    words, shares = sets.words, sets.shares
    best: Whole = np.int64(-1)
    least = limit
    node = np.int64(group)
    while parents[node] >= 0:  # from the group upwards: what is near is seen first
        above = parents[node]
        beside = children[above, 0] + children[above, 1] - node
        stack[0] = beside
        depth = 0
        look = 1  # how many nodes from here on the stack have no bound yet
        while True:
            # what merging with any group below a node costs at least; exact at a leaf
            kept = depth
            for t in range(depth, depth + look):
                at = stack[t]
                if loads[at] == GONE or spares[at] < spare:
                    continue
                union = 0.0  # penalty of the group together with all that is below the node
                near = 0.0  # and together with the nearest point of its box only
                for j in range(lows.shape[1]):
                    low, high = lows[group, j], highs[group, j]
                    from_low, to_high = lows[at, j], highs[at, j]
                    union += min(1.0, max(high, to_high) - min(low, from_low))
                    near += min(1.0, max(high, from_low) - min(low, to_high))
                for s in range(shares.size):
                    together, mine, shared = 0, 0, 0
                    for w in range(words[s], words[s + 1]):
                        together += ones(bits[group, w] | bits[at, w])
                        mine += ones(bits[group, w])
                        shared += ones(bits[group, w] & bits[at, w])
                    union += (together - 1) * shares[s]
                    near += (mine - 1 if shared > 0 else mine) * shares[s]
                if children[at, 0] < 0:
                    near = union
                bound = loads[group] * (near - penalties[group])
                bound += loads[at] * (union - penalties[at])
                if bound < least:
                    stack[kept] = at
                    bounds[kept] = bound
                    kept += 1
            if kept == depth + 2 and bounds[depth] < bounds[depth + 1]:
                stack[depth], stack[depth + 1] = stack[depth + 1], stack[depth]
                bounds[depth], bounds[depth + 1] = bounds[depth + 1], bounds[depth]
            depth = kept
            look = 0
            while depth > 0 and look == 0:
                depth -= 1
                if bounds[depth] < least:
                    at = stack[depth]
                    if children[at, 0] < 0:
                        best, least = np.int64(at), bounds[depth]
                    else:
                        stack[depth], stack[depth + 1] = children[at, 0], children[at, 1]
                        look = 2
            if look == 0:
                break
        node = np.int64(above)
    return best, least
