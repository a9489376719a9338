"""Mondrian: greedy multidimensional partitioning.

LeFevre, DeWitt, Ramakrishnan: "Multidimensional k-anonymity", TR 1521, 2005 (Figure 7).

    Anonymize(region):
      1. no allowable cut: the region is a group
      2. choose_dimension: the widest normalized range first (or dimensions in turn)
      3. find_median of the region's frequency set along it
      4. left half: values <= median, right half: the rest; Anonymize both

A cut is allowable when both halves satisfy the model. Where the paper is silent or slips:

- When many rows tie at the median, "<= median" may fail where "< median" succeeds; both are tried,
  else a region could stay larger than 2d(k-1)+m rows (Theorem 2). The more even of the two comes
  first, and of two that are as even "<= median".
- A dimension without an allowable median cut gives way to the next one. With ``cuts="all"`` (the
  default) every cut along it is tried before that; models such as l-diversity need it, while under
  k-anonymity the two median cuts are as good as all.
- Unordered categories are cut into two sets of values, as even as whole values allow: the most
  frequent ones against the rest. Their width is the share of the domain's values that occur.
- Relaxed (section 3): rows that tie at the median are dealt out so that the halves are even; under
  k-anonymity every group then has k to 2k-1 rows. Which of the tied rows go where is random.

With a ``workload`` a region is cut where that serves the queries most (workload.py), and as
above once no allowable cut serves any. What nobody asks for is cut last, and other questions are
then answered less well, so a workload should hold all that is going to be asked.

With a ``target`` it is cut where that tells most about a sensitive column (guided.py), and as above
once no allowable cut tells more than chance would. Boundaries then follow the target's values:
combine it with a model that protects these.

Cost: O(v log v) for v different vectors, after one pass that finds them; d dimensions multiply it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
import pyarrow as pa

from sfumato.algorithms.base import TIME_LIMIT, Progress, require_compiled
from sfumato.algorithms.coarsen import coarsened
from sfumato.algorithms.mondrian.arrays import (
    Axes,
    CutRules,
    PointArrays,
    axes_of,
    new_workspace,
)
from sfumato.algorithms.mondrian.guided import target_of
from sfumato.algorithms.mondrian.guided_kernel import (
    Target,
    cut_all_guided,
    new_guided_space,
)
from sfumato.algorithms.mondrian.kernel import cut_all
from sfumato.algorithms.mondrian.node_counts import Sensitive
from sfumato.algorithms.mondrian.plain import cut_all_plain
from sfumato.algorithms.mondrian.planning import Planning
from sfumato.algorithms.mondrian.regions import Regions, plan_regions
from sfumato.algorithms.mondrian.segments import cut_side_by_side
from sfumato.algorithms.mondrian.workload import (
    asked_of,
    require_workload,
    wanted_beyond,
    wanted_in,
)
from sfumato.algorithms.mondrian.workload_kernel import Asked, cut_all_serving, new_serving_space
from sfumato.algorithms.points import Points
from sfumato.algorithms.refine import refined, require_refine, require_unrefined, until_refined
from sfumato.core.arrays import Codes, Counts
from sfumato.core.boxes import Boxes
from sfumato.core.compiled import announce, watch
from sfumato.core.keyed import Key
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.core.query import Query
from sfumato.core.randomness import Randomness
from sfumato.engines.base import Engine
from sfumato.engines.room import Room
from sfumato.errors import ParameterError
from sfumato.models._rules import SIZE
from sfumato.models.bound import (
    Bound,
    CompiledRules,
    compile_rules,
    feasible,
    require_feasible,
)
from sfumato.models.requirements import Requirement

Cuts: TypeAlias = Literal["all", "median"]
_TIES = "ties"  # the purpose of a key
_WATCHED = 200_000  # rows from which a run is long enough to be watched


@dataclass(frozen=True, slots=True)
class Mondrian:
    """Recursive median cuts; ``relaxed`` may divide rows with equal values.

    Cuts that serve the queries of a ``workload`` come first; ``weights`` say how much each of them
    matters, 1 by default. A release states only how many queries there were. ``refine`` passes
    then change groups where that loses less (refine/), for at most ``time_limit`` seconds; boxes
    may overlap afterwards. With a ``target``, a sensitive column, cuts that tell most about it come
    first, so that classifiers learn more from the release.

    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> release = sf.publish(patients, sf.Mondrian(), sf.KAnonymity(10))
    >>> print(release.count("age <= 30 AND disease = 'asthma'"))
    about 31.5447, surely from 2 to 64
    """

    name: ClassVar[str] = "mondrian"
    form: ClassVar[str] = "generalized"
    relaxed: bool = False
    choose: Literal["widest", "round-robin"] = "widest"
    cuts: Cuts = "all"
    refine: int = 0
    time_limit: float | None = TIME_LIMIT
    workload: Sequence[Query] = field(default=(), repr=False)
    weights: Sequence[float] | None = field(default=None, repr=False)
    target: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Refuse options that do not exist."""
        if self.choose not in ("widest", "round-robin"):
            raise ParameterError(
                f"choose must be 'widest' or 'round-robin', not {self.choose!r}", parameter="choose"
            )
        if self.cuts not in ("all", "median"):
            raise ParameterError(
                f"cuts must be 'all' or 'median', not {self.cuts!r}", parameter="cuts"
            )
        require_refine(self.refine, self.time_limit)
        object.__setattr__(self, "workload", tuple(self.workload))
        if self.weights is not None:
            object.__setattr__(self, "weights", tuple(map(float, self.weights)))
        require_workload(self.workload, self.weights)
        if self.workload and self.target is not None:
            raise ParameterError(
                "cuts are chosen for a workload or for a target; give one of them",
                parameter="target",
            )

    @property
    def equal_together(self) -> bool:
        """Strict cuts never part equal rows; what a workload or a target is about is counted by
        rows.
        """
        guided = self.workload or self.target is not None
        return not self.relaxed and not guided and not self.refine

    def partition(
        self,
        table: Microdata,
        needs: tuple[Requirement, ...],
        randomness: Randomness,
        progress: Progress | None = None,
        weights: Counts | None = None,
    ) -> Partition:
        """Divide the table into groups that meet the requirements."""
        bound = coarsened(require_feasible(needs, table, weights))
        told = until_refined(progress, self.refine)
        cut = self._cut(bound, 0, randomness, told).partition()
        return refined(cut, bound, self.refine, self.time_limit, randomness, progress)

    @property
    def in_turns(self) -> bool:
        """Whether axes take turns, and groups stay as they are cut."""
        return self.choose == "round-robin" and not self.refine

    def partition_from(
        self,
        turn: int,
        table: Microdata,
        needs: tuple[Requirement, ...],
        randomness: Randomness,
        weights: Counts | None = None,
    ) -> tuple[Partition, Codes]:
        """As ``partition``, beginning with some axis; also the axis that would be next in each
        group.
        """
        bound = coarsened(require_feasible(needs, table, weights))
        cut = self._cut(bound, turn, randomness, None)
        return cut.partition(), cut.turns

    def _cut(
        self, bound: Bound, turn: int, randomness: Randomness, progress: Progress | None
    ) -> CutPoints:
        ties = randomness.key(_TIES) if self.relaxed else None
        order = _order(ties, np.arange(bound.table.n_rows))
        count = wanted_in(bound.table, bound.weights, axes_of(bound.table))
        return self.cut_points(bound, turn, order, self._asked(bound, count), progress)

    def _asked(self, bound: Bound, count: Callable[[Asked, int], Counts]) -> Asked | None:
        if not self.workload:
            return None
        return asked_of(self.workload, self.weights, bound.table, bound.n_rows, count)

    def require_planned(self, needs: tuple[Requirement, ...]) -> None:
        """Cuts are planned by counts, for the built-in models, and not for a target."""
        require_compiled(needs)
        require_unrefined(self.refine)
        if self.target is not None:
            raise ParameterError(
                "a target guides cuts that need all rows in memory; use the in-memory engine",
                parameter="engine",
            )

    def plan(
        self, engine: Engine, bound: Bound, room: Room, randomness: Randomness
    ) -> MondrianPlan:
        """Cut a table beyond memory into regions that fit; regions.py says how."""
        self.require_planned(bound.needs)
        coarse = coarsened(feasible(bound))
        rules = compile_rules(coarse)
        assert rules is not None, "every built-in model has a rule"
        axes = axes_of(coarse.table)
        planning = Planning(
            engine, axes, self._cut_rules(rules, coarse.n_rows), _sensitive(coarse, rules),
            randomness.key(_TIES) if self.relaxed else None,
            self._asked(coarse, wanted_beyond(engine, axes)),
        )  # fmt: skip
        regions = plan_regions(planning, rules.whole_counts, coarse.n_rows, room)
        return MondrianPlan(self, coarse, regions, planning.asked)

    def cut_points(
        self,
        bound: Bound,
        turn: int,
        order: Codes | None,
        asked: Asked | None,
        progress: Progress | None,
    ) -> CutPoints:
        """Cut a region; equal rows are one point, or each is one by itself in some ``order``."""
        rules = compile_rules(bound)
        offsets = rules.offsets if rules else {}
        table = bound.table
        if order is None:
            points = Points.distinct(table, offsets, bound.weights)
        else:
            points = Points.every_row(table, offsets, order)
        axes = axes_of(table)
        target = None
        if self.target is not None:
            target = target_of(self.target, table, points, bound.weights)
        member = np.arange(len(points.weights), dtype=np.int32)
        if rules is None:
            groups, turns = cut_all_plain(
                points, axes, bound, self.relaxed, self.choose, self.cuts, asked, target, turn
            )
        else:
            cut_rules = self._cut_rules(rules, bound.n_rows)
            groups, turns = _compiled(
                points, member, axes, cut_rules, turn, asked, target, progress
            )
        return CutPoints(points, member, groups, turns)

    def _cut_rules(self, rules: CompiledRules, n_rows: int) -> CutRules:
        return CutRules(
            rules.rules,
            rules.whole_counts / n_rows,
            rules.least,
            bool((rules.rules[:, 0] != SIZE).any()),
            self.relaxed,
            self.choose == "round-robin",
            self.cuts == "all",
        )


@dataclass(frozen=True, slots=True, eq=False)
class CutPoints:
    """Points, moved so that ``member[i]`` is now at place i, and the group of every member.

    Where axes take turns, ``turns`` has the one that would be next in each group.
    """

    points: Points
    member: Codes
    groups: Codes
    turns: Codes

    def partition(self) -> Partition:
        """The groups of rows."""
        return Partition.of(self.groups[self.points.point_of_row])


@dataclass(frozen=True, slots=True, eq=False)
class MondrianPlan:
    """Regions of a table, and how each is cut further."""

    algorithm: Mondrian
    bound: Bound
    regions: Regions
    asked: Asked | None = None
    boxes: Boxes | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)
    stated: Mapping[str, Any] = field(default_factory=dict)

    @property
    def loads(self) -> Counts:
        """The rows of every region."""
        return self.regions.loads

    def of_rows(self, part: pa.Table) -> Codes:
        """The region of every row of a coded part."""
        return self.regions.of_rows(part)

    def divide(self, number: int, table: Microdata, rows: Counts) -> Partition:
        """Divide the rows of a region, whose numbers in the table are given."""
        return self.cut_points(number, table, rows).partition()

    def cut_points(self, number: int, table: Microdata, rows: Counts) -> CutPoints:
        """Cut a region on."""
        turn = int(self.regions.turns[number])
        order = _order(self.regions.ties, rows)
        return self.algorithm.cut_points(self.bound.over(table), turn, order, self.asked, None)


def _order(ties: Key | None, rows: Counts) -> Codes | None:
    """A random order of rows, by which those that tie are told apart."""
    return None if ties is None else np.argsort(ties.words(rows), kind="stable").astype(np.int32)


def _compiled(
    points: Points,
    member: Codes,
    axes: Axes,
    cut_rules: CutRules,
    turn: int,
    asked: Asked | None,
    target: Target | None,
    progress: Progress | None,
) -> tuple[Codes, Codes]:
    """The group of every point, from the kernel, which moves them; and the groups' turns."""
    n_points, n_rows = len(points.weights), int(points.weights.sum())
    arrays = PointArrays(
        points.codes, points.weights, member, points.starts, points.values, points.counts
    )
    n_values = len(cut_rules.whole)
    workspace = new_workspace(n_points, axes.sizes, n_values)
    workspace.stack[0] = 0, n_points, n_rows, turn
    workspace.totals[0] = np.bincount(points.values, points.counts, n_values)
    if cut_rules.round_robin:
        workspace = workspace._replace(turns=np.zeros(n_points, np.int32))
    groups = np.empty(n_points, np.int32)

    def run(control: Counts) -> None:
        if target is not None:
            space = new_guided_space(axes.sizes, target.n_values)
            cut_all_guided(arrays, axes, cut_rules, target, workspace, space, groups, control)
        elif asked is None:
            cut_side_by_side(arrays, axes, cut_rules, workspace, groups, control)
        else:
            serving = new_serving_space(asked)
            cut_all_serving(arrays, axes, cut_rules, asked, workspace, serving, groups, control)

    guided = cut_all_guided if target is not None else cut_all_serving
    announce(cut_all if asked is None and target is None else guided)
    if n_rows < _WATCHED:
        run(np.zeros(2, np.int64))
    else:
        watch(run, n_rows, progress)
    return groups, workspace.turns[: int(groups.max()) + 1]


def _sensitive(bound: Bound, rules: CompiledRules) -> Sensitive:
    """Where the codes of sensitive attributes are counted in the rules' histogram."""
    names = bound.table.schema.sensitive
    places = [
        bound.classes.get(name, np.arange(bound.table.attributes[name].size)) + first
        for name, first in rules.offsets.items()
    ]
    lengths = np.array([len(one) for one in places], np.int64)
    return Sensitive(
        columns=np.array([names.index(name) for name in rules.offsets], np.int64),
        starts=np.cumsum(lengths) - lengths,
        places=np.concatenate([np.zeros(0, np.int32), *places]).astype(np.int32),
        size=len(rules.whole_counts),
    )
