"""A k-d tree from which points are taken out, for neighbours and for the farthest point.

A balanced tree: the children of node i are 2i + 1 and 2i + 2, all leaves are on one level, and the
points of a leaf stand next to each other, those that are left before those that were taken. Every
node has the tight box of the points that are left in it, so both searches skip what is too far, or
not far enough, and nothing else: they are exact. Taking points out costs their leaf and the boxes
above it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.core.arrays import Codes, Counts, Floats, Whole
from sfumato.core.compiled import inner

LEAF = 12  # points that a leaf has at most when a tree is planted
DEPTH = 64  # nodes that wait to be looked at, at most


class Tree(NamedTuple):
    """Points in the order of the leaves, with the box and the number of points of every node."""

    points: Floats
    rows: Codes
    starts: Counts
    counts: Counts
    lows: Floats
    highs: Floats


def new_tree(points: Floats) -> Tree:
    """Room for a tree over these points, in the order in which they come."""
    n, width = points.shape
    leaves = 1
    while n > LEAF * leaves:
        leaves *= 2
    nodes = 2 * leaves - 1
    return Tree(
        np.ascontiguousarray(points, np.float64).copy(),
        np.arange(n, dtype=np.int32),
        np.zeros(nodes + 1, np.int64),
        np.zeros(nodes, np.int64),
        np.zeros((nodes, width)),
        np.zeros((nodes, width)),
    )


@inner
def plant(tree: Tree) -> None:
    """Cut at the median of the widest side, level by level."""
    nodes = len(tree.counts)
    tree.counts[0] = len(tree.rows)
    for node in range(nodes):
        low, high = tree.starts[node], tree.starts[node] + tree.counts[node]
        _box_points(tree, node, low, high)
        if 2 * node + 1 < nodes:
            middle = (low + high) // 2
            _select(tree, low, high - 1, middle, _widest(tree, node))
            tree.starts[2 * node + 1], tree.counts[2 * node + 1] = low, middle - low
            tree.starts[2 * node + 2], tree.counts[2 * node + 2] = middle, high - middle


@inner
def nearest(tree: Tree, at: Floats, k: Whole, places: Counts, distances: Floats) -> None:
    """The places in the tree of the k points nearest to one, nearest first.

    There are so many. Of points as far as the k-th those that are met first are taken.
    """
    for i in range(k):
        distances[i] = np.inf
    inner_nodes = len(tree.counts) // 2
    waiting = np.empty(DEPTH, np.int64)
    gaps = np.empty(DEPTH)
    waiting[0], gaps[0], depth = 0, 0.0, 1
    while depth:
        depth -= 1
        node = waiting[depth]
        if gaps[depth] >= distances[k - 1]:
            continue
        if node >= inner_nodes:
            for place in range(tree.starts[node], tree.starts[node] + tree.counts[node]):
                _insert(places, distances, k, place, apart(tree.points, place, at))
            continue
        left, right = 2 * node + 1, 2 * node + 2
        to_left, to_right = _gap(tree, left, at), _gap(tree, right, at)
        if to_left < to_right:  # the nearer one is looked at first
            left, right, to_left, to_right = right, left, to_right, to_left
        if to_left < distances[k - 1]:
            waiting[depth], gaps[depth], depth = left, to_left, depth + 1
        if to_right < distances[k - 1]:
            waiting[depth], gaps[depth], depth = right, to_right, depth + 1


@inner
def farthest(tree: Tree, at: Floats) -> int:
    """The place in the tree of the point farthest from one."""
    inner_nodes = len(tree.counts) // 2
    waiting = np.empty(DEPTH, np.int64)
    reaches = np.empty(DEPTH)
    waiting[0], reaches[0], depth = 0, np.inf, 1
    found, best = -1, -1.0
    while depth:
        depth -= 1
        node = waiting[depth]
        if reaches[depth] <= best:
            continue
        if node >= inner_nodes:
            for place in range(tree.starts[node], tree.starts[node] + tree.counts[node]):
                distance = apart(tree.points, place, at)
                if distance > best:
                    found, best = place, distance
            continue
        left, right = 2 * node + 1, 2 * node + 2
        to_left, to_right = _reach(tree, left, at), _reach(tree, right, at)
        if to_left > to_right:  # the one that reaches farther is looked at first
            left, right, to_left, to_right = right, left, to_right, to_left
        if to_left > best:
            waiting[depth], reaches[depth], depth = left, to_left, depth + 1
        if to_right > best:
            waiting[depth], reaches[depth], depth = right, to_right, depth + 1
    return found


@inner
def take_out(tree: Tree, place: Whole) -> None:
    """Take the point at a place out; the last one that is left in its leaf takes its place."""
    node = _leaf_of(tree, place)
    tree.counts[node] -= 1
    _swap(tree, place, tree.starts[node] + tree.counts[node])
    _box_points(tree, node, tree.starts[node], tree.starts[node] + tree.counts[node])
    while node:
        node = (node - 1) // 2
        left, right = 2 * node + 1, 2 * node + 2
        tree.counts[node] -= 1
        for j in range(tree.lows.shape[1]):
            tree.lows[node, j] = min(tree.lows[left, j], tree.lows[right, j])
            tree.highs[node, j] = max(tree.highs[left, j], tree.highs[right, j])


@inner
def _leaf_of(tree: Tree, place: Whole) -> int:
    """By the starts of the leaves, which ascend."""
    low, high = len(tree.counts) // 2, len(tree.counts) - 1
    while low < high:
        middle = (low + high + 1) // 2
        if tree.starts[middle] <= place:
            low = middle
        else:
            high = middle - 1
    return low


@inner
def apart(points: Floats, place: Whole, at: Floats) -> float:
    """The squared distance."""
    total = 0.0
    for j in range(len(at)):
        difference = points[place, j] - at[j]
        total += difference * difference
    return total


@inner
def _gap(tree: Tree, node: Whole, at: Floats) -> float:
    """The squared distance to the nearest point that a box could hold; an empty one has none."""
    if tree.counts[node] == 0:
        return np.inf
    total = 0.0
    for j in range(len(at)):
        difference = max(tree.lows[node, j] - at[j], at[j] - tree.highs[node, j])
        if difference > 0:
            total += difference * difference
    return total


@inner
def _reach(tree: Tree, node: Whole, at: Floats) -> float:
    """The squared distance to the farthest point that a box could hold; an empty one has none."""
    if tree.counts[node] == 0:
        return -1.0
    total = 0.0
    for j in range(len(at)):
        difference = max(at[j] - tree.lows[node, j], tree.highs[node, j] - at[j])
        total += difference * difference
    return total


@inner
def _insert(places: Counts, distances: Floats, k: Whole, place: Whole, distance: float) -> None:
    """Into a short sorted list, from which the last one falls out."""
    if distance >= distances[k - 1]:
        return
    i = k - 1
    while i > 0 and distances[i - 1] > distance:
        distances[i], places[i] = distances[i - 1], places[i - 1]
        i -= 1
    distances[i], places[i] = distance, place


@inner
def _box_points(tree: Tree, node: Whole, low: Whole, high: Whole) -> None:
    for j in range(tree.lows.shape[1]):
        least, most = np.inf, -np.inf
        for place in range(low, high):
            least = min(least, tree.points[place, j])
            most = max(most, tree.points[place, j])
        tree.lows[node, j], tree.highs[node, j] = least, most


@inner
def _widest(tree: Tree, node: Whole) -> int:
    widest = 0
    for j in range(1, tree.lows.shape[1]):
        side = tree.highs[node, j] - tree.lows[node, j]
        if side > tree.highs[node, widest] - tree.lows[node, widest]:
            widest = j
    return widest


@inner
def _select(tree: Tree, low: Whole, high: Whole, middle: Whole, j: Whole) -> None:
    """Hoare's selection: what is smaller along a side comes before the middle."""
    while low < high:
        pivot = tree.points[(low + high) // 2, j]
        i, last = low, high
        while i <= last:
            while tree.points[i, j] < pivot:
                i += 1
            while tree.points[last, j] > pivot:
                last -= 1
            if i <= last:
                _swap(tree, i, last)
                i += 1
                last -= 1
        if middle <= last:
            high = last
        elif middle >= i:
            low = i
        else:
            return


@inner
def _swap(tree: Tree, one: Whole, other: Whole) -> None:
    if one == other:
        return
    tree.rows[one], tree.rows[other] = tree.rows[other], tree.rows[one]
    for j in range(tree.points.shape[1]):
        kept = tree.points[one, j]
        tree.points[one, j] = tree.points[other, j]
        tree.points[other, j] = kept
