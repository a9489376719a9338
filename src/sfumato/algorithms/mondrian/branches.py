"""Mondrian that cuts along the branches of taxonomies, so that labels stay low in the tree.

LeFevre et al. leave hierarchies to future work: a median cut through a tree's leaves lies across
its branches, and the label of both halves is the branch above. Here a region is divided by the
branches themselves:

    1. along each attribute find the lowest level on which all rows of the region are alike
    2. one level below, every class of rows that satisfies the model is a part of its own; the
       others together are the rest, which smaller parts join until it satisfies the model too
    3. cut where the most rows leave the widest label: share of rows in parts * penalty of the label
    4. no attribute can be cut: the region is a group

Labels are then drawn as tightly as each group allows, which lowers those of a rest whose rows agree
on something. Attributes without a taxonomy are cut along the blocks of neighbours of ladders.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from sfumato.algorithms.base import Progress, require_compiled
from sfumato.algorithms.coarsen import coarsened
from sfumato.algorithms.goal import goal_of
from sfumato.algorithms.ladders import Ladder, ladder
from sfumato.algorithms.mondrian.branches_kernel import Region, Rungs, cut_branches, new_workspace
from sfumato.algorithms.points import Points
from sfumato.algorithms.points_plan import PointsPlan, plan_points
from sfumato.core.arrays import Codes, Flags, Ints
from sfumato.core.compiled import announce
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.core.randomness import Randomness
from sfumato.engines.base import Engine
from sfumato.engines.room import Room
from sfumato.models.bound import Bound, CompiledRules, compile_rules, feasible, require_feasible
from sfumato.models.requirements import Requirement


@dataclass(frozen=True, slots=True)
class BranchMondrian:
    """Recursive cuts into the branches of taxonomies.

    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> sf.publish(patients, sf.BranchMondrian(), sf.KAnonymity(10)).manifest.groups
    68
    """

    name: ClassVar[str] = "branch-mondrian"
    form: ClassVar[str] = "generalized"
    labels: ClassVar[str] = "taxonomy"

    def partition(
        self,
        table: Microdata,
        needs: tuple[Requirement, ...],
        randomness: Randomness,  # noqa: ARG002
        progress: Progress | None = None,  # noqa: ARG002
    ) -> Partition:
        """Divide the table into groups that meet the requirements."""
        bound = require_feasible(needs, table)
        rules = compile_rules(coarse := coarsened(bound))
        return _plain(bound) if rules is None else _compiled(coarse, rules)

    def require_planned(self, needs: tuple[Requirement, ...]) -> None:
        """Points are cut in the kernel."""
        require_compiled(needs)

    def plan(
        self,
        engine: Engine,
        bound: Bound,
        room: Room,
        randomness: Randomness,  # noqa: ARG002
    ) -> PointsPlan:
        """Cut the different vectors of a table beyond memory."""
        self.require_planned(bound.needs)
        rules = compile_rules(coarse := coarsened(feasible(bound)))
        assert rules is not None, "every built-in model has a rule"
        return plan_points(partial(_compiled, rules=rules), engine, coarse, room, each=2)


def _ladders(bound: Bound) -> list[Ladder]:
    return [ladder(attribute) for attribute in bound.table.quasi]


def _compiled(bound: Bound, rules: CompiledRules) -> Partition:
    """The groups from the kernel."""
    points = Points.distinct(bound.table, rules.offsets, bound.weights)
    n_points = len(points.weights)
    member = np.arange(n_points, dtype=np.int32)
    region = Region(
        points.codes, points.weights, points.starts, points.values, points.counts, member
    )
    rungs, most = _rungs(_ladders(bound))
    groups = np.empty(n_points, np.int32)
    announce(cut_branches)
    workspace = new_workspace(n_points, most, len(rules.whole_counts))
    cut_branches(region, rungs, goal_of(rules, bound.n_rows), workspace, groups)
    return Partition.of(groups[points.point_of_row])


def _rungs(ladders: Sequence[Ladder]) -> tuple[Rungs, int]:
    """All ladders end to end, classes numbered from 0 on each level; and the most on any."""
    heights = np.array([one.height for one in ladders], np.int64)
    offsets = np.zeros((len(ladders), int(heights.max()) + 1), np.int64)
    classes: list[Codes] = []
    filled, most = 0, 1
    for j, one in enumerate(ladders):
        for level, of_code in enumerate(one.classes):
            _, numbered = np.unique(of_code, return_inverse=True)
            classes.append(numbered.astype(np.int32))
            offsets[j, level] = filled
            filled, most = filled + len(of_code), max(most, int(numbered.max()) + 1)
    penalties = np.concatenate([level for one in ladders for level in one.penalties])
    return Rungs(np.concatenate(classes), penalties, offsets, heights), most


def _plain(bound: Bound) -> Partition:
    """The same cuts in NumPy, for models of a user's own."""
    table, ladders = bound.table, _ladders(bound)
    codes = table.quasi_codes()
    groups = np.empty(table.n_rows, np.int32)
    stack, n_groups = [np.arange(table.n_rows)], 0
    while stack:
        rows = stack.pop()
        best, parts = 0.0, None
        for j, one in enumerate(ladders):
            level = _level(one, codes[rows, j])
            if level:
                labels, apart = _divided(bound, rows, one.classes[level - 1][codes[rows, j]])
                score = apart.mean() * float(one.penalties[level][codes[rows[0], j]])
                if score > best:
                    best, parts = score, labels
        if parts is None:
            groups[rows] = n_groups
            n_groups += 1
        else:
            stack += [rows[parts == part] for part in np.unique(parts)]
    return Partition.of(groups)


def _level(one: Ladder, codes: Codes) -> int:
    level = one.height
    while level and (one.classes[level - 1][codes] == one.classes[level - 1][codes[0]]).all():
        level -= 1
    return level


def _divided(bound: Bound, rows: Ints, classes: Codes) -> tuple[Codes, Flags]:
    """A part for every row, -1 for the rest; and whether it left the rest. See _divide."""
    _, parts, loads = np.unique(classes, return_inverse=True, return_counts=True)
    passes = bound.passing(Partition.of(parts.astype(np.int32)), rows)
    parts = np.where(passes[parts], parts, -1)
    while (parts < 0).any() and (parts >= 0).any():
        rest = np.where(parts < 0, 0, 1).astype(np.int32)
        if bound.passing(Partition.of(rest), rows)[0]:
            break
        left = np.unique(parts[parts >= 0])
        parts = np.where(parts == left[np.argmin(loads[left])], -1, parts)
    return parts.astype(np.int32), parts >= 0
