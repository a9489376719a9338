"""Mondrian's loop without the compiler, for models that exist only in Python.

It makes the same cuts as the kernel (a test holds the two together) and reads like the
paper's Figure 7; one call of the model per attempted cut makes it slower.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sfumato.algorithms.mondrian.arrays import Axes
from sfumato.algorithms.mondrian.guided import telling_cuts
from sfumato.algorithms.mondrian.guided_kernel import Target
from sfumato.algorithms.mondrian.workload_kernel import Asked
from sfumato.algorithms.mondrian.workload_plain import serving_cuts
from sfumato.algorithms.points import PointJudge, Points
from sfumato.core.arrays import Codes, Flags
from sfumato.models.bound import Bound


def cut_all_plain(
    points: Points,
    axes: Axes,
    bound: Bound,
    relaxed: bool,
    choose: str,
    cuts: str,
    asked: Asked | None,
    target: Target | None,
    turn: int,
) -> tuple[Codes, Codes]:
    """The group of every point, and the axis whose turn is next in every group."""
    judge = PointJudge(points, bound)
    groups = np.empty(len(points.weights), np.int32)
    turns: list[int] = []
    stack = [(np.arange(len(points.weights), dtype=np.int32), turn)]
    while stack:
        region, turn = stack.pop()
        dimensions = _dimensions(points, axes, region, turn, relaxed, choose)
        wanted = _wanted_cuts(points, axes, region, asked, target)
        cut = _first_allowable(region, wanted, judge) or _usual_cut(
            points, axes, region, dimensions, judge, relaxed, cuts
        )
        if cut is None:
            groups[region] = len(turns)
            turns.append(turn)
        else:
            axis, left, right = cut
            next_turn = (axis + 1) % len(axes.sizes)
            stack += [(right, next_turn), (left, next_turn)]
    return groups, np.array(turns, np.int32)


def _dimensions(
    points: Points, axes: Axes, region: Codes, turn: int, relaxed: bool, choose: str
) -> list[int]:
    """Dimensions worth cutting, in the order to try them."""
    d = len(axes.sizes)
    tried = [(turn + step) % d for step in range(d)]
    if choose == "widest":
        tried = sorted(range(d), key=lambda axis: -_width(points, axes, region, axis))
    return [axis for axis in tried if relaxed or np.ptp(points.codes[region, axis]) > 0]


def _width(points: Points, axes: Axes, region: Codes, axis: int) -> float:
    codes = points.codes[region, axis]
    if axes.is_set[axis]:
        distinct = len(np.unique(codes))
        return distinct / axes.sizes[axis] if distinct > 1 else 0.0
    at = axes.coordinates[axes.offsets[axis] :]
    return float(at[codes.max()] - at[codes.min()])


def _wanted_cuts(
    points: Points,
    axes: Axes,
    region: Codes,
    asked: Asked | None,
    target: Target | None,
) -> Iterator[tuple[int, Flags]]:
    """Cuts that serve a workload, or tell about a target, the best first."""
    if asked is not None:
        return serving_cuts(points, axes, region, asked)
    return iter(()) if target is None else telling_cuts(points, axes, region, target)


def _first_allowable(
    region: Codes, cuts: Iterator[tuple[int, Flags]], judge: PointJudge
) -> tuple[int, Codes, Codes] | None:
    for axis, left in cuts:
        if judge.pass_all(region[left], region[~left]):
            return axis, region[left], region[~left]
    return None


def _usual_cut(
    points: Points,
    axes: Axes,
    region: Codes,
    dimensions: list[int],
    judge: PointJudge,
    relaxed: bool,
    cuts: str,
) -> tuple[int, Codes, Codes] | None:
    """The first allowable cut along the first dimension that has one."""
    for axis in dimensions:
        for left in _candidates(points, axes, region, axis, relaxed, cuts):
            if judge.pass_all(region[left], region[~left]):
                return axis, region[left], region[~left]
    return None


def _candidates(
    points: Points, axes: Axes, region: Codes, axis: int, relaxed: bool, cuts: str
) -> Iterator[Flags]:
    """Cuts along a dimension as masks of the left half, in the order to try them."""
    codes, weights = points.codes[region, axis], points.weights[region]
    values, inverse = np.unique(codes, return_inverse=True)
    amounts = np.bincount(inverse, weights=weights).astype(np.int64)
    if axes.is_set[axis]:
        order = np.lexsort((values, -amounts))
        amounts = amounts[order]
        inverse = np.argsort(order)[inverse]
    upto = np.cumsum(amounts)
    load = int(upto[-1])
    median = int(np.searchsorted(2 * upto, load))
    if relaxed:
        quota = (load + 1) // 2 - (upto[median] - amounts[median])
        ties = np.flatnonzero(inverse == median)[:quota]
        left = inverse < median
        left[ties] = True
        yield left
    medians = [median, median - 1]
    if load - 2 * (upto[median] - amounts[median]) < 2 * upto[median] - load:
        medians.reverse()
    for cut in medians:
        yield inverse <= cut
    if cuts == "all":
        even = np.argsort(np.abs(2 * upto[:-1] - load), kind="stable")
        for cut in even:
            if cut not in medians:
                yield inverse <= cut
