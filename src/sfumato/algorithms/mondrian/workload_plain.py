"""Cuts that serve a workload, scored by definition; the twin of workload_kernel."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sfumato.algorithms.mondrian.arrays import Axes
from sfumato.algorithms.mondrian.workload_kernel import Asked
from sfumato.algorithms.points import Points
from sfumato.core.arrays import Codes, Counts, Flags


def serving_cuts(
    points: Points, axes: Axes, region: Codes, asked: Asked
) -> Iterator[tuple[int, Flags]]:
    """Axes and masks of the left half, the cut that serves the workload most first."""
    cells = asked.cells[axes.offsets + points.codes[region]]
    weights = points.weights[region]
    boxes = [_box(cells[:, axis], bool(axes.is_set[axis])) for axis in range(len(axes.sizes))]
    wants = np.array([asked.wanted[:, box].any(axis=1) for box in boxes])
    across = np.array([~asked.wanted[:, box].all(axis=1) for box in boxes])
    doubt: Flags = np.logical_and(wants.all(axis=0), across.any(axis=0))
    found: list[tuple[int, int, int, Flags]] = []
    for axis, box in enumerate(boxes):
        line = _line(box, bool(axes.is_set[axis]), asked, doubt & asked.asks[:, axis])
        alone: Flags = np.equal(across.sum(axis=0), across[axis])
        place = np.argsort(line)[np.searchsorted(box, cells[:, axis])]
        for cut in np.unique(place)[:-1]:
            left = place <= cut
            gain = _gain(asked, doubt, alone, line, place, left, weights)
            found.append((-gain, int(line[cut]), axis, left))
    found.sort(key=lambda one: one[:2])
    yield from ((axis, left) for minus_gain, _, axis, left in found if minus_gain < 0)


def _box(cells: Codes, is_set: bool) -> Counts:
    """The cells that a published box shows along an axis."""
    return np.unique(cells) if is_set else np.arange(cells.min(), cells.max() + 1)


def _line(box: Counts, is_set: bool, asked: Asked, asking: Flags) -> Counts:
    """The cells in the order in which they are cut: of a set, those that are wanted first."""
    if not is_set:
        return box
    unwanted = ~asked.wanted[asking][:, box]
    return box[np.lexsort((box, *unwanted[::-1]))]


def _gain(
    asked: Asked,
    doubt: Flags,
    alone: Flags,
    line: Counts,
    place: Counts,
    left: Flags,
    weights: Counts,
) -> int:
    """Rows that queries are no longer in doubt about, times the queries' weights."""
    gain = 0
    for half in (left, ~left):
        half_box = line[place[half].min() : place[half].max() + 1]
        wanted = asked.wanted[:, half_box]
        served = doubt & (~wanted.any(axis=1) | (wanted.all(axis=1) & alone))
        gain += int(asked.weights[served].sum()) * int(weights[half].sum())
    return gain
