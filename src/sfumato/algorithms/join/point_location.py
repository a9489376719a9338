"""Which box does a point fall into: a tree of boxes, searched for every point.

The tree is that of a bulk-loaded R-tree: boxes are halved by their middles along the attribute on
which those lie furthest apart, until few are left, and every node knows the box around its boxes.
Sets of unordered values count in it by their first and last code; whether a value is in a set is
looked up at the end.

Boxes of clusters overlap, and a point may lie in several. Where these are more than may be named,
chance names some of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.core.arrays import Codes, Counts, Flags, Floats, Whole, Words
from sfumato.core.boxes import Ranges, ValueSets
from sfumato.core.compiled import announce, inner, kernel
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.core.randomness import Randomness

_FEW = 4  # boxes in a leaf
_MULTIPLIER = np.uint64(6364136223846793005)  # of Knuth's generator: one word makes many
_INCREMENT = np.uint64(1442695040888963407)
_SHIFT = np.uint64(33)
_DEPTH = 64  # halving keeps the tree balanced, so more than enough


class Boxed(NamedTuple):
    """By box and attribute the first and last code; ``sizes`` of the domains. Of an attribute that
    ``is_set``, box b has the values ``codes[starts[b, j]:starts[b + 1, j]]``, ascending.
    """

    low: Codes
    high: Codes
    sizes: Counts
    is_set: Flags
    starts: Counts
    codes: Codes


class Tree(NamedTuple):
    """By node: the box around its boxes (``low``, ``high``), which are ``order[first:last]``, and
    its children, or -1 for a leaf.
    """

    order: Counts
    low: Codes
    high: Codes
    first: Counts
    last: Counts
    left: Counts
    right: Counts


def boxes_around(table: Microdata, partition: Partition) -> Boxed:
    """The tightest boxes around the groups of a table."""
    shape = (partition.n_groups, len(table.quasi))
    low, high = np.empty(shape, np.int32), np.empty(shape, np.int32)
    starts = np.zeros((partition.n_groups + 1, len(table.quasi)), np.int64)
    is_set = np.array([not attribute.ordered for attribute in table.quasi])
    listed: list[Codes] = []
    filled = 0
    for j, attribute in enumerate(table.quasi):
        codes = table.codes[attribute.name]
        if attribute.ordered:
            ranges = Ranges.around(attribute, codes, partition)
            low[:, j], high[:, j] = ranges.low, ranges.high
        else:
            sets = ValueSets.around(attribute, codes, partition)
            low[:, j], high[:, j] = sets.codes[sets.starts[:-1]], sets.codes[sets.starts[1:] - 1]
            starts[:, j] = sets.starts + filled
            listed.append(sets.codes)
            filled += len(sets.codes)
    values = np.concatenate(listed) if listed else np.zeros(0, np.int32)
    return Boxed(low, high, table.quasi_sizes(), is_set, starts, values.astype(np.int32))


class Inside(NamedTuple):
    """The points of each box: those of box b are ``points[starts[b]:starts[b + 1]]``, ascending."""

    starts: Counts
    points: Codes


def fall(boxes: Boxed, points: Codes, randomness: Randomness) -> Codes:
    """A box that each point lies in, a random one of several, or -1."""
    inside = inside_of(boxes, points, randomness.words(len(points)), 1)
    found = np.full(len(points), -1, np.int32)
    found[inside.points] = np.repeat(np.arange(len(boxes.low)), np.diff(inside.starts))
    return found


def inside_of(boxes: Boxed, points: Codes, words: Words, most: int) -> Inside:
    """The points of all boxes; a point has ``most`` of them, by its word, if it lies in more."""
    announce(_inside_all)
    return Inside(*_inside_all(boxes, _tree(boxes), points, words, most))


def _tree(boxes: Boxed) -> Tree:
    n, d = boxes.low.shape
    room = 2 * n + 1
    tree = Tree(
        order=np.arange(n),
        low=np.empty((room, d), np.int32),
        high=np.empty((room, d), np.int32),
        first=np.zeros(room, np.int64),
        last=np.zeros(room, np.int64),
        left=np.full(room, -1, np.int64),
        right=np.full(room, -1, np.int64),
    )
    _build(boxes, tree, np.zeros(n), np.zeros(_DEPTH, np.int64))
    return tree


@kernel
def _build(boxes: Boxed, tree: Tree, middles: Floats, stack: Counts) -> None:
    tree.last[0] = tree.order.size
    n_nodes = 1
    depth = 1
    stack[0] = 0
    while depth > 0:
        depth -= 1
        node = stack[depth]
        first, last = tree.first[node], tree.last[node]
        axis = _bound(boxes, tree, node)
        if last - first <= _FEW or axis < 0:
            continue
        for at in range(first, last):
            b = tree.order[at]
            middles[at] = boxes.low[b, axis] + boxes.high[b, axis]
        sorted_places = np.argsort(middles[first:last], kind="mergesort")
        tree.order[first:last] = tree.order[first:last][sorted_places]
        middle = (first + last) // 2
        for child in range(2):
            tree.first[n_nodes] = first if child == 0 else middle
            tree.last[n_nodes] = middle if child == 0 else last
            stack[depth] = n_nodes
            depth += 1
            n_nodes += 1
        tree.left[node], tree.right[node] = n_nodes - 2, n_nodes - 1


@inner
def _bound(boxes: Boxed, tree: Tree, node: Whole) -> Whole:
    """Draw the box around a node; the attribute along which middles are furthest apart, or -1."""
    best: Whole = np.int64(-1)
    furthest = 0.0
    for j in range(boxes.low.shape[1]):
        low, high = boxes.low[tree.order[tree.first[node]], j], np.int32(0)
        least, most = 2**62, -1
        for at in range(tree.first[node], tree.last[node]):
            b = tree.order[at]
            low = min(low, boxes.low[b, j])
            high = max(high, boxes.high[b, j])
            middle = boxes.low[b, j] + boxes.high[b, j]
            least = min(least, middle)
            most = max(most, middle)
        tree.low[node, j], tree.high[node, j] = low, high
        apart = (most - least) / boxes.sizes[j]
        if apart > furthest:
            furthest = apart
            best = np.int64(j)
    return best


@kernel
def _inside_all(
    boxes: Boxed, tree: Tree, points: Codes, words: Words, most: int
) -> tuple[Counts, Codes]:
    """All points twice: how many each box has, then which."""
    n_boxes = boxes.low.shape[0]
    starts = np.zeros(n_boxes + 1, np.int64)
    covering = np.empty(n_boxes, np.int64)
    stack = np.zeros(_DEPTH, np.int64)
    for i in range(points.shape[0]):
        for at in range(_find_some(boxes, tree, points, i, words, most, covering, stack)):
            starts[covering[at] + 1] += 1
    for b in range(n_boxes):
        starts[b + 1] += starts[b]
    filled = starts[:-1].copy()
    inside = np.empty(starts[-1], np.int32)
    for i in range(points.shape[0]):
        for at in range(_find_some(boxes, tree, points, i, words, most, covering, stack)):
            inside[filled[covering[at]]] = i
            filled[covering[at]] += 1
    return starts, inside


@inner
def _find_some(
    boxes: Boxed,
    tree: Tree,
    points: Codes,
    i: int,
    words: Words,
    most: int,
    covering: Counts,
    stack: Counts,
) -> int:
    """List the boxes that a point lies in, or ``most`` of them, each as likely."""
    n = _find(boxes, tree, points, i, covering, stack)
    if n <= most:
        return n
    word = words[i]
    for at in range(most):
        word = word * _MULTIPLIER + _INCREMENT
        other = at + np.int64((word >> _SHIFT) % np.uint64(n - at))
        covering[at], covering[other] = covering[other], covering[at]
    return most


@inner
def _find(boxes: Boxed, tree: Tree, points: Codes, i: int, covering: Counts, stack: Counts) -> int:
    """List the boxes that a point lies in, and say how many there are."""
    n = 0
    depth = 1
    stack[0] = 0
    while depth > 0:
        depth -= 1
        node = stack[depth]
        if not _within(tree.low, tree.high, node, points, i):
            continue
        if tree.left[node] >= 0:
            stack[depth] = tree.left[node]
            stack[depth + 1] = tree.right[node]
            depth += 2
            continue
        for at in range(tree.first[node], tree.last[node]):
            b = tree.order[at]
            if _within(boxes.low, boxes.high, b, points, i) and _in_sets(boxes, b, points, i):
                covering[n] = b
                n += 1
    return n


@inner
def _within(low: Codes, high: Codes, box: Whole, points: Codes, i: int) -> bool:
    for j in range(points.shape[1]):
        if points[i, j] < low[box, j] or points[i, j] > high[box, j]:
            return False
    return True


@inner
def _in_sets(boxes: Boxed, box: Whole, points: Codes, i: int) -> bool:
    for j in range(points.shape[1]):
        if not boxes.is_set[j]:
            continue
        low, high = boxes.starts[box, j], boxes.starts[box + 1, j]
        while low < high:
            middle = (low + high) // 2
            if boxes.codes[middle] < points[i, j]:
                low = middle + 1
            else:
                high = middle
        if low == boxes.starts[box + 1, j] or boxes.codes[low] != points[i, j]:
            return False
    return True
