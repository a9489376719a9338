"""Segments cut side by side: below the first cuts the halves of a table have nothing in common.

The first cuts are made one after the other, largest segment first, until there are some for every
core; each is then a region of the same arrays, with a working space of its own.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np

from sfumato.algorithms.mondrian.arrays import Axes, CutRules, PointArrays, Workspace, new_workspace
from sfumato.algorithms.mondrian.kernel import cut_all, cut_once
from sfumato.core.arrays import Codes, Counts
from sfumato.core.threads import in_threads

_WORTH = 50_000  # points below which another thread takes longer to start than to work
_EACH = 4  # segments for every core, so that none waits long for the last


def cut_side_by_side(
    arrays: PointArrays,
    axes: Axes,
    cut_rules: CutRules,
    workspace: Workspace,
    groups: Codes,
    control: Counts,
) -> None:
    """As ``cut_all`` of the first segment in the workspace, with groups numbered from 0."""
    cores = os.cpu_count() or 1
    if len(groups) < 2 * _WORTH or cores == 1:
        cut_all(arrays, axes, cut_rules, workspace, groups, control)
        return
    pending = list(_segments(arrays, axes, cut_rules, workspace, cores * _EACH))

    def cut(segment: tuple[Counts, Counts]) -> None:
        place, totals = segment
        own = new_workspace(len(groups), axes.sizes, len(totals))._replace(turns=workspace.turns)
        own.stack[0], own.totals[0] = place, totals
        cut_all(arrays, axes, cut_rules, own, groups, control)

    in_threads(cut, pending)
    if control[1]:
        return  # stopped on the way: not every point has a number
    used = np.bincount(groups) > 0
    numbers = np.cumsum(used, dtype=np.int32) - np.int32(1)
    groups[:] = numbers[groups]
    if len(workspace.turns):
        workspace.turns[: numbers[-1] + 1] = workspace.turns[: len(used)][used]


def _segments(
    arrays: PointArrays, axes: Axes, cut_rules: CutRules, workspace: Workspace, wanted: int
) -> Iterator[tuple[Counts, Counts]]:
    """Segments that are still to be cut, with their histograms, the largest first."""
    found = [(workspace.stack[0].copy(), workspace.totals[0].copy())]
    whole: list[tuple[Counts, Counts]] = []
    while found and len(found) + len(whole) < wanted:
        found.sort(key=lambda one: int(one[0][1] - one[0][0]))
        segment = found.pop()
        if segment[0][1] - segment[0][0] < _WORTH:
            found.append(segment)
            break
        workspace.stack[0], workspace.totals[0] = segment
        if cut_once(arrays, axes, cut_rules, workspace):
            halves = (workspace.stack[:2].copy(), workspace.totals[:2].copy())
            found += list(zip(*halves, strict=True))
        else:
            whole.append(segment)
    return iter(sorted([*found, *whole], key=lambda one: int(one[0][0] - one[0][1])))
