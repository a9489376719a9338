"""The compiled loop that cuts along the branches of ladders; branches.py says what it does.

A segment [low, high) of ``member`` is a region still to be cut, as in _mondrian_kernel.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.algorithms._goal import Goal
from sfumato.core.arrays import Codes, Counts, Floats, Whole
from sfumato.core.compiled import inner, kernel
from sfumato.models._rules import passes_rules

REST = -1


class Region(NamedTuple):
    """The points; see points.Points. ``member`` is their order."""

    codes: Codes
    weights: Counts
    starts: Counts
    values: Codes
    counts: Counts
    member: Codes


class Rungs(NamedTuple):
    """Class and penalty of every code on every level; ``offsets`` by attribute and level."""

    classes: Codes
    penalties: Floats
    offsets: Counts
    heights: Counts


class Desk(NamedTuple):
    """Working space: by class ``loads``, ``parts`` and ``histograms`` (the rest comes last);
    by point ``moved``; by place on the stack ``stack``; by part ``ends``.
    """

    loads: Counts
    parts: Codes
    histograms: Counts
    moved: Codes
    stack: Counts
    ends: Counts
    scratch: Counts


def new_desk(n_points: int, n_classes: int, n_values: int) -> Desk:
    """Room for so many points, classes on a level, and sensitive values."""
    return Desk(
        loads=np.zeros(n_classes + 1, np.int64),
        parts=np.zeros(n_classes, np.int32),
        histograms=np.zeros((n_classes + 1, n_values), np.int64),
        moved=np.zeros(n_points, np.int32),
        stack=np.zeros((n_points + 1, 2), np.int64),
        ends=np.zeros(n_classes + 2, np.int64),
        scratch=np.zeros(n_values + 1, np.int64),
    )


@kernel
def cut_branches(region: Region, rungs: Rungs, goal: Goal, desk: Desk, groups: Codes) -> int:
    """Cut until nothing is left to cut; fills the group of every point, tells how many."""
    member = region.member
    desk.stack[0, 0], desk.stack[0, 1] = 0, member.size
    depth: Whole = 1
    n_groups = 0
    while depth > 0:
        depth -= 1
        low, high = desk.stack[depth, 0], desk.stack[depth, 1]
        best, axis = 0.0, -1
        rung: Whole = 0
        for j in range(region.codes.shape[1]):
            level = _level(region, rungs, j, low, high)
            if level == 0:
                continue
            share = _divide(region, rungs, goal, desk, j, level - 1, low, high)
            place = rungs.offsets[j, level] + region.codes[member[low], j]
            if share * rungs.penalties[place] > best:
                best, axis, rung = share * rungs.penalties[place], j, level - 1
        if axis < 0:
            for i in range(low, high):
                groups[member[i]] = n_groups
            n_groups += 1
        else:
            _divide(region, rungs, goal, desk, axis, rung, low, high)
            depth = _sort_parts(region, rungs, desk, axis, rung, low, high, depth)
    return n_groups


@inner
def _level(region: Region, rungs: Rungs, j: Whole, low: Whole, high: Whole) -> Whole:
    """The lowest level on which all points of a segment are alike."""
    level: Whole = rungs.heights[j]
    while level > 0:
        offset = rungs.offsets[j, level - 1]
        first = rungs.classes[offset + region.codes[region.member[low], j]]
        for i in range(low, high):
            if rungs.classes[offset + region.codes[region.member[i], j]] != first:
                return level
        level -= 1
    return level


@inner
def _divide(
    region: Region,
    rungs: Rungs,
    goal: Goal,
    desk: Desk,
    j: Whole,
    level: Whole,
    low: Whole,
    high: Whole,
) -> float:
    """Which classes of a level become parts of their own; the share of rows in them, 0 for no cut.

    Classes that do not pass are the rest; while the rest does not pass, the smallest part joins it.
    """
    rest = desk.loads.size - 1
    offset = rungs.offsets[j, level]
    desk.loads[:] = 0
    if goal.sensitive:
        desk.histograms[:] = 0
    total = 0
    for i in range(low, high):
        p = region.member[i]
        c = rungs.classes[offset + region.codes[p, j]]
        desk.loads[c] += region.weights[p]
        total += region.weights[p]
        if goal.sensitive:
            for v in range(region.starts[p], region.starts[p + 1]):
                desk.histograms[c, region.values[v]] += region.counts[v]
    apart = 0
    for c in range(rest):
        desk.parts[c] = REST
        if desk.loads[c] > 0 and _passes(goal, desk, c):
            desk.parts[c] = c
            apart += desk.loads[c]
        elif desk.loads[c] > 0:
            _join_rest(goal, desk, c)
    while apart > 0 and desk.loads[rest] > 0 and not _passes(goal, desk, rest):
        smallest = -1
        for c in range(rest):
            if desk.parts[c] >= 0 and (smallest < 0 or desk.loads[c] < desk.loads[smallest]):
                smallest = c
        desk.parts[smallest] = REST
        apart -= desk.loads[smallest]
        _join_rest(goal, desk, smallest)
    return apart / total


@inner
def _passes(goal: Goal, desk: Desk, c: Whole) -> bool:
    if desk.loads[c] < goal.least:
        return False
    if not goal.sensitive:
        return True
    return passes_rules(goal.rules, desk.histograms[c], desk.loads[c], goal.whole, desk.scratch)


@inner
def _join_rest(goal: Goal, desk: Desk, c: Whole) -> None:
    rest = desk.loads.size - 1
    desk.loads[rest] += desk.loads[c]
    if goal.sensitive:
        for v in range(desk.histograms.shape[1]):
            desk.histograms[rest, v] += desk.histograms[c, v]


@inner
def _sort_parts(
    region: Region,
    rungs: Rungs,
    desk: Desk,
    j: Whole,
    level: Whole,
    low: Whole,
    high: Whole,
    depth: Whole,
) -> Whole:
    """Order a segment by parts, the rest last, and put each on the stack."""
    rest = desk.loads.size - 1
    offset = rungs.offsets[j, level]
    desk.ends[:] = 0
    for i in range(low, high):
        c = desk.parts[rungs.classes[offset + region.codes[region.member[i], j]]]
        desk.ends[(rest if c == REST else c) + 1] += 1
    for c in range(rest + 1):
        desk.ends[c + 1] += desk.ends[c]
        if desk.ends[c + 1] > desk.ends[c]:
            desk.stack[depth, 0] = low + desk.ends[c]
            desk.stack[depth, 1] = low + desk.ends[c + 1]
            depth += 1
    for i in range(low, high):
        p = region.member[i]
        c = desk.parts[rungs.classes[offset + region.codes[p, j]]]
        place = rest if c == REST else c
        desk.moved[desk.ends[place]] = p
        desk.ends[place] += 1
    for i in range(low, high):
        region.member[i] = desk.moved[i - low]
    return depth
