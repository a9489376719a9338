"""MDAV over points: the steps that __init__.py names, over a tree that loses points."""

from __future__ import annotations

import numpy as np

from sfumato.algorithms.masking.microaggregate.tree import (
    Tree,
    apart,
    farthest,
    nearest,
    plant,
    take_out,
)
from sfumato.core.arrays import Codes, Counts, Floats, Whole
from sfumato.core.compiled import inner, kernel

EXACT = 10_000  # points up to which the centre is looked up before every step
_STEPS = 32  # beyond, after each such share of the points that are left


@kernel
def mdav(tree: Tree, k: int, groups: Codes, control: Counts) -> int:
    """Fill ``groups``, by the numbers of the points, and return how many groups there are."""
    plant(tree)
    n, made = len(tree.rows), 0
    places, distances = np.empty(k, np.int64), np.empty(k)
    total = _total(tree)
    # outermost first, of a moment ago: rows, and where their points stand
    order, coordinates, looked = np.empty(0, np.int64), np.empty((0, 0)), 0
    left = n
    due = n + 1
    while left >= 3 * k and not control[1]:
        if left <= EXACT:
            first = tree.points[farthest(tree, total / left)].copy()
        else:
            if left < due:
                order, coordinates = _outermost(tree, total / left, groups)
                looked, due = 0, left - left // _STEPS
            while groups[order[looked]] >= 0:
                looked += 1
            first = coordinates[looked].copy()
        second = tree.points[farthest(tree, first)].copy()
        _gather(tree, first, k, made, groups, total, places, distances)
        _gather(tree, second, k, made + 1, groups, total, places, distances)
        left, made = left - 2 * k, made + 2
        control[0] = n - left
    if left >= 2 * k:
        first = tree.points[farthest(tree, total / left)].copy()
        _gather(tree, first, k, made, groups, total, places, distances)
        made += 1
    for row in range(n):
        if groups[row] < 0:
            groups[row] = made
    return made + 1


@inner
def _total(tree: Tree) -> Floats:
    total = np.zeros(tree.points.shape[1])
    for place in range(len(tree.rows)):
        total += tree.points[place]
    return total


@inner
def _outermost(tree: Tree, centre: Floats, groups: Codes) -> tuple[Counts, Floats]:
    """The points that are left, farthest from the centre first: their rows and coordinates."""
    there = np.flatnonzero(groups[tree.rows] < 0)
    away = np.empty(len(there))
    for i in range(len(there)):
        away[i] = -apart(tree.points, there[i], centre)
    places = there[np.argsort(away)]
    return tree.rows[places].astype(np.int64), tree.points[places]


@inner
def _gather(
    tree: Tree,
    at: Floats,
    k: Whole,
    number: Whole,
    groups: Codes,
    total: Floats,
    places: Counts,
    distances: Floats,
) -> None:
    """Make a group of the k points nearest to one, and take them out."""
    nearest(tree, at, k, places, distances)
    chosen = np.sort(places[:k])
    for i in range(k - 1, -1, -1):  # from behind: what fills a gap is never one of those to come
        place = chosen[i]
        groups[tree.rows[place]] = number
        total -= tree.points[place]
        take_out(tree, place)
