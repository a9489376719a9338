"""The compiled loop that cuts along the branches of ladders; branches.py says what it does.

A segment [low, high) of ``member`` is a region still to be cut, as in kernel.py.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.algorithms.goal import Goal
from sfumato.algorithms.mondrian.ranking import sort_keys
from sfumato.core.arrays import Codes, Counts, Floats, Whole
from sfumato.core.compiled import inner, kernel
from sfumato.models._rules import passes_rules

REST = -1
_CLASS_BITS = 31  # of a key that are a class, below its load


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


class Workspace(NamedTuple):
    """Working space: by class ``loads``, ``parts``, and where its points ``begins`` and
    ``ends`` (the rest comes last), and the classes that are ``present``, ascending, with how many
    these are; by point ``moved``; by part ``keys``; by place on the stack ``stack``; by sensitive
    value a ``histogram``, that of the ``rest``, ``scratch``.

    Nothing is done for every class or value that exists where few occur: a region of ten rows must
    not cost as much as the table.
    """

    loads: Counts
    parts: Codes
    begins: Counts
    ends: Counts
    present: Counts
    n_present: Counts
    keys: Counts
    moved: Codes
    stack: Counts
    histogram: Counts
    rest: Counts
    scratch: Counts


def new_workspace(n_points: int, n_classes: int, n_values: int) -> Workspace:
    """Room for so many points, classes on a level, and sensitive values."""
    return Workspace(
        loads=np.zeros(n_classes + 1, np.int64),
        parts=np.full(n_classes, REST, np.int32),
        begins=np.zeros(n_classes + 1, np.int64),
        ends=np.zeros(n_classes + 1, np.int64),
        present=np.zeros(n_classes, np.int64),
        n_present=np.zeros(1, np.int64),
        keys=np.zeros(n_classes, np.int64),
        moved=np.zeros(n_points, np.int32),
        stack=np.zeros((n_points + 1, 2), np.int64),
        histogram=np.zeros(n_values, np.int64),
        rest=np.zeros(n_values, np.int64),
        scratch=np.zeros(n_values + 1, np.int64),
    )


@kernel
def cut_branches(
    region: Region, rungs: Rungs, goal: Goal, workspace: Workspace, groups: Codes
) -> int:
    """Cut until nothing is left to cut; fills the group of every point, tells how many."""
    member = region.member
    workspace.stack[0, 0], workspace.stack[0, 1] = 0, member.size
    depth: Whole = 1
    n_groups = 0
    while depth > 0:
        depth -= 1
        low, high = workspace.stack[depth, 0], workspace.stack[depth, 1]
        best, axis = 0.0, -1
        rung: Whole = 0
        for j in range(region.codes.shape[1]):
            level = _level(region, rungs, j, low, high)
            if level == 0:
                continue
            share = _divide(region, rungs, goal, workspace, j, level - 1, low, high)
            place = rungs.offsets[j, level] + region.codes[member[low], j]
            if share * rungs.penalties[place] > best:
                best, axis, rung = share * rungs.penalties[place], j, level - 1
        if axis < 0:
            for i in range(low, high):
                groups[member[i]] = n_groups
            n_groups += 1
        else:
            _divide(region, rungs, goal, workspace, axis, rung, low, high)
            depth = _sort_parts(region, rungs, workspace, axis, rung, low, high, depth)
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
    workspace: Workspace,
    j: Whole,
    level: Whole,
    low: Whole,
    high: Whole,
) -> float:
    """Which classes of a level become parts of their own; the share of rows in them, 0 for no cut.

    Classes that do not pass are the rest; while the rest does not pass, the smallest part joins it.
    """
    rest = workspace.loads.size - 1
    total = _count_classes(region, rungs, workspace, j, level, low, high)
    _sort_by_class(region, rungs, workspace, j, level, low, high)
    apart: Whole = 0
    workspace.loads[rest] = 0
    for t in range(workspace.n_present[0]):
        c = workspace.present[t]
        if _class_passes(region, goal, workspace, c):
            workspace.parts[c] = c
            apart += workspace.loads[c]
        else:
            _join_rest(region, goal, workspace, c)
    for t in range(_smallest_first(workspace)):
        if workspace.loads[rest] == 0 or _rest_passes(goal, workspace):
            break
        c = workspace.keys[t] & ((1 << _CLASS_BITS) - 1)
        workspace.parts[c] = REST
        apart -= workspace.loads[c]
        _join_rest(region, goal, workspace, c)
    if goal.sensitive:
        for i in range(low, high):
            _clear(region, region.member[i], workspace.rest)
    return apart / total


@inner
def _count_classes(
    region: Region,
    rungs: Rungs,
    workspace: Workspace,
    j: Whole,
    level: Whole,
    low: Whole,
    high: Whole,
) -> Whole:
    """Find the classes that are present and their loads, all of them in the rest; all rows."""
    offset = rungs.offsets[j, level]
    for t in range(workspace.n_present[0]):  # what the last segment left
        workspace.loads[workspace.present[t]] = 0
    n = 0
    total: Whole = 0
    for i in range(low, high):
        p = region.member[i]
        c = rungs.classes[offset + region.codes[p, j]]
        if workspace.loads[c] == 0:
            workspace.present[n] = c
            workspace.parts[c] = REST
            workspace.ends[c] = 0
            n += 1
        workspace.loads[c] += region.weights[p]
        workspace.ends[c] += 1
        total += region.weights[p]
    workspace.n_present[0] = n
    sort_keys(workspace.present, n)
    return total


@inner
def _sort_by_class(
    region: Region,
    rungs: Rungs,
    workspace: Workspace,
    j: Whole,
    level: Whole,
    low: Whole,
    high: Whole,
) -> None:
    """Fill ``moved`` with a segment's points class by class; ``ends`` has the points of each."""
    offset = rungs.offsets[j, level]
    begin: Whole = 0
    for t in range(workspace.n_present[0]):
        c = workspace.present[t]
        workspace.begins[c] = begin
        begin += workspace.ends[c]
        workspace.ends[c] = workspace.begins[c]
    for i in range(low, high):
        p = region.member[i]
        c = rungs.classes[offset + region.codes[p, j]]
        workspace.moved[workspace.ends[c]] = p
        workspace.ends[c] += 1


@inner
def _class_passes(region: Region, goal: Goal, workspace: Workspace, c: Whole) -> bool:
    """Whether the points of a class are a safe group."""
    if workspace.loads[c] < goal.least:
        return False
    if not goal.sensitive:
        return True
    for t in range(workspace.begins[c], workspace.ends[c]):
        p = workspace.moved[t]
        for v in range(region.starts[p], region.starts[p + 1]):
            workspace.histogram[region.values[v]] += region.counts[v]
    passes = passes_rules(
        goal.rules, workspace.histogram, workspace.loads[c], goal.whole, workspace.scratch
    )
    for t in range(workspace.begins[c], workspace.ends[c]):
        _clear(region, workspace.moved[t], workspace.histogram)
    return passes


@inner
def _rest_passes(goal: Goal, workspace: Workspace) -> bool:
    """Whether the rest is a safe group."""
    load = workspace.loads[workspace.loads.size - 1]
    if load < goal.least:
        return False
    if not goal.sensitive:
        return True
    return passes_rules(goal.rules, workspace.rest, load, goal.whole, workspace.scratch)


@inner
def _join_rest(region: Region, goal: Goal, workspace: Workspace, c: Whole) -> None:
    workspace.loads[workspace.loads.size - 1] += workspace.loads[c]
    if goal.sensitive:
        for t in range(workspace.begins[c], workspace.ends[c]):
            p = workspace.moved[t]
            for v in range(region.starts[p], region.starts[p + 1]):
                workspace.rest[region.values[v]] += region.counts[v]


@inner
def _clear(region: Region, p: Whole, histogram: Counts) -> None:
    """Leave nothing of a point in a histogram, nor of any other with its values."""
    for v in range(region.starts[p], region.starts[p + 1]):
        histogram[region.values[v]] = 0


@inner
def _smallest_first(workspace: Workspace) -> int:
    """Fill ``keys`` with the parts, the smallest first, of equals the first; how many there are."""
    n_parts = 0
    for t in range(workspace.n_present[0]):
        c = workspace.present[t]
        if workspace.parts[c] >= 0:
            workspace.keys[n_parts] = (workspace.loads[c] << _CLASS_BITS) + c
            n_parts += 1
    sort_keys(workspace.keys, n_parts)
    return n_parts


@inner
def _sort_parts(
    region: Region,
    rungs: Rungs,
    workspace: Workspace,
    j: Whole,
    level: Whole,
    low: Whole,
    high: Whole,
    depth: Whole,
) -> Whole:
    """Order a segment by parts, the rest last, and put each on the stack."""
    rest = workspace.loads.size - 1
    n = workspace.n_present[0]
    filled: Whole = 0
    for t in range(n + 1):
        c = workspace.present[t] if t < n else rest
        if t < n and workspace.parts[c] == REST:
            continue
        size = workspace.ends[c] - workspace.begins[c] if t < n else high - low - filled
        if size > 0:
            workspace.stack[depth, 0] = low + filled
            workspace.stack[depth, 1] = low + filled + size
            depth += 1
        workspace.ends[c] = low + filled
        filled += size
    offset = rungs.offsets[j, level]
    for i in range(low, high):
        workspace.moved[i - low] = region.member[i]
    for i in range(high - low):
        p = workspace.moved[i]
        c = workspace.parts[rungs.classes[offset + region.codes[p, j]]]
        place = rest if c == REST else c
        region.member[workspace.ends[place]] = p
        workspace.ends[place] += 1
    return depth
