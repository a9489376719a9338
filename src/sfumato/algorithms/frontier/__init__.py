"""Groups of neighbours in which no sensitive value is frequent.

Groups that ignore who people are keep a promise and lose the picture: what is known about people
and what is protected meet in every group as they meet in the whole table. Groups of neighbours keep
the association, and whoever could tell people apart by what is known finds them alike.

    leaves: Mondrian, under the requirements
    the rows of a leaf in an order: random, or along the frontier
    a leaf of N rows is divided, with a queue per sensitive value in that order:
      while N >= 2s:                     (s: the size of groups, a multiple of l)
        1. keep = (N - s) // l; of a value with more rows than that left, the surplus is taken
        2. the rows nearest to the front of the order are taken, at most s/l of a value, until the
           group has s
      the rest is one group

**Along the frontier** (after the one-dimensional orders of Ghinita, Karras, Kalnis, Mamoulis: "Fast
data anonymization with low information loss", VLDB 2007, with Mondrian's cuts in place of a curve):
a leaf is cut on into cells of s/2 rows, in which nothing is promised, and a walk through all cuts
meets the cells one after the other; inside a cell the order is random. Groups are then smaller in
space than leaves. But where a group passes over somebody near, that person has a value of which the
group has enough: whoever replays the walk is sure of some people's values (docs/neighbours.md has
their number). In a **random** order nothing is passed over that anybody could see: a permutation of
the people of a leaf permutes the groups with them, so given the leaves, the groups and their
values, every way to deal a group's values to its people is equally likely beforehand and
afterwards. Only the leaves themselves, as with Mondrian's boxes, depend on who has what.

Every group is l-diverse (frequency form). A leaf is, so at first no value has more than N/l rows
left; let that hold before a group is taken, and N = ql + r with 0 <= r < l.
- A surplus is at most N//l - keep = s/l, so a group has at most s/l of each value, and at least s
  rows.
- Step 2 finds s rows: with at most s/l of a value, values of at most N/l rows each offer at least
  (s/l) / (N/l) of all N rows, which is s (or all N, where none has s/l).
- It holds again: m > s rows are taken only for surplus of at least l values, so that m <= N - l
  keep; then N - m >= l keep, and no value has more than ``keep`` left. With m = s it is step 1.
- The rest has s to 2s - 1 rows (m < s + l), and no value more than 1/l of them.

With s = l all values of a group differ, a leaf of N rows makes N // l groups (m - l is taken from
the r that would be over), and the reconstruction error, the number of rows less that of groups,
exceeds the lower bound n (1 - 1/l) of "Anatomy" (Theorem 2) by a factor of at most 1 + L/n, for L
leaves; the paper's groups have 1 + 1/n.

For models other than frequency l-diversity, groups that do not pass are merged with the next one of
their leaf; at the latest the leaf passes. With several sensitive attributes the one that asks for
the largest groups leads, and merging serves the rest.

Cost: that of Mondrian, a few more cuts, and O(n log v) for v values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from sfumato.algorithms.base import TIME_LIMIT, Progress, require_compiled
from sfumato.algorithms.coarsen import coarsened
from sfumato.algorithms.frontier.cells import cells_in_order
from sfumato.algorithms.frontier.kernel import new_queues, take_groups
from sfumato.algorithms.mondrian import CutPoints, Cuts, Mondrian, MondrianPlan
from sfumato.algorithms.refine import refined, require_refine, require_unrefined, until_refined
from sfumato.core.arrays import Codes, Counts, Flags, HalfWords
from sfumato.core.boxes import Boxes
from sfumato.core.compiled import announce
from sfumato.core.histograms import Histograms
from sfumato.core.keyed import Key
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.core.randomness import Randomness
from sfumato.engines.base import Engine
from sfumato.engines.room import Room
from sfumato.errors import ParameterError
from sfumato.models.anonymity import KAnonymity
from sfumato.models.base import BuiltIn
from sfumato.models.bound import Bound, feasible, require_feasible
from sfumato.models.diversity import LDiversity
from sfumato.models.requirements import Requirement

_ORDER = "order"  # the purpose of a key


@dataclass(frozen=True, slots=True)
class Frontier:
    """Boxes around groups of neighbours, as small as the requirements allow or of ``size`` rows.

    Of two ways to lose less than Mondrian's boxes do under l-diversity, this is the one that asks
    more of the promise: who knows the method and everybody's quasi-identifiers learns more from it
    (docs/neighbours.md).
    ``refine`` passes then change groups where that loses less (refine/), for at most ``time_limit``
    seconds.

    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> sf.publish(patients, sf.Frontier(), sf.LDiversity(4))
    GeneralizedTable(1,000 rows in 233 groups, l-diversity)
    """

    name: ClassVar[str] = "frontier"
    form: ClassVar[str] = "generalized"
    size: int | None = None
    refine: int = 0
    time_limit: float | None = TIME_LIMIT

    def __post_init__(self) -> None:
        """Refuse a size that is none, and so many passes."""
        require_size(self.size)
        require_refine(self.refine, self.time_limit)

    def partition(
        self,
        table: Microdata,
        needs: tuple[Requirement, ...],
        randomness: Randomness,
        progress: Progress | None = None,
    ) -> Partition:
        """Divide the table into groups that meet the requirements."""
        bound = require_feasible(needs, table)
        aims, told = self._aims(bound), until_refined(progress, self.refine)
        found = divide(aims, bound, randomness, told)
        if not self.refine:
            return found
        sized = (Requirement(KAnonymity(self.size), None),) if self.size else ()
        coarse = coarsened(bound.with_needs(sized))
        return refined(found, coarse, self.refine, self.time_limit, randomness, progress)

    def require_planned(self, needs: tuple[Requirement, ...]) -> None:
        """As Mondrian, whose cuts come first."""
        require_unrefined(self.refine)
        require_compiled(needs)

    def plan(
        self, engine: Engine, bound: Bound, room: Room, randomness: Randomness
    ) -> FrontierPlan:
        """Regions that fit, cut as Mondrian cuts; leaves lie inside them."""
        return plan_regions(self._aims(feasible(bound)), engine, bound, room, randomness)

    def _aims(self, bound: Bound) -> Aims:
        # small leaves make small boxes
        return Aims.of(bound, self.size, frontier=True, cuts="all")


def require_size(size: int | None) -> None:
    """Raise unless a group can have so many rows."""
    if size is not None and (type(size) is not int or size < 1):
        raise ParameterError(
            f"size must be a whole number of rows, 1 or more, not {size!r}", parameter="size"
        )


@dataclass(frozen=True, slots=True)
class Aims:
    """Groups of ``size`` rows, none of whose values of ``leader`` has more than 1/l of them.

    They are taken along the ``frontier``, or in a random order. ``cuts`` are those that Mondrian
    tries to find leaves.
    """

    leader: str | None
    l: int
    size: int
    frontier: bool
    cuts: Cuts

    @classmethod
    def of(
        cls, bound: Bound, size: int | None, times: int = 1, *, frontier: bool, cuts: Cuts
    ) -> Aims:
        """What the requirements ask for; without a ``size``, groups are ``times`` as large."""
        seen = zip(bound.needs, bound.everyone, strict=True)
        return cls.seen(seen, bound.n_rows, size, times, frontier=frontier, cuts=cuts)

    @classmethod
    def seen(
        cls, needs: Iterable[tuple[Requirement, Histograms]], n_rows: int, size: int | None,
        times: int, *, frontier: bool, cuts: Cuts,
    ) -> Aims:  # fmt: skip
        """The same, of what requirements see of a table."""
        if size is not None and size > n_rows:
            raise ParameterError(
                f"size = {size:,} is more than the table's {n_rows:,} rows; the largest that "
                f"works is {n_rows:,}, which makes one group",
                parameter="size",
            )
        leader, l, least = None, 1, size or 1
        for need, seen in needs:
            rule = need.model.rule(seen) if isinstance(need.model, BuiltIn) else None
            if rule is not None and need.attribute is None:
                least = max(least, rule.least)
            elif rule is not None and rule.least > l:
                # all values of a group may have to differ, and a frequent one is in every group
                leader, l = need.attribute, min(rule.least, n_rows // int(seen.whole.max()))
        least = max(least, l if size else times * l)
        return cls(leader, l, min(-(-least // l), n_rows // l) * l, frontier, cuts)

    @property
    def needs(self) -> tuple[Requirement, ...]:
        """What a leaf has to meet beside the requirements."""
        sized = (Requirement(KAnonymity(self.size), None),) if self.size > 1 else ()
        if self.l == 1:
            return sized
        return (Requirement(LDiversity(self.l), self.leader), *sized)

    def meet(self, need: Requirement) -> bool:
        """Whether all groups meet a requirement because of how they are made."""
        if isinstance(need.model, KAnonymity):
            return need.model.k <= self.size
        if isinstance(need.model, LDiversity) and need.attribute == self.leader:
            return need.model.l <= self.l
        return False


def divide(
    aims: Aims, bound: Bound, randomness: Randomness, progress: Progress | None
) -> Partition:
    """Divide a table into groups of neighbours."""
    announce(take_groups)
    strict = coarsened(bound.with_needs(aims.needs))
    leaves = Mondrian(cuts=aims.cuts).cut_points(strict, 0, None, None, progress)
    words = randomness.key(_ORDER).half_words(np.arange(bound.table.n_rows))
    return _grouped(aims, bound, leaves, words)


def plan_regions(
    aims: Aims, engine: Engine, bound: Bound, room: Room, randomness: Randomness
) -> FrontierPlan:
    """Plan for a table beyond memory: a leaf lies inside a region of Mondrian's."""
    mondrian = Mondrian(cuts=aims.cuts)
    regions = mondrian.plan(engine, bound.with_needs(aims.needs), room, randomness)
    return FrontierPlan(aims, bound, regions, randomness.key(_ORDER))


@dataclass(frozen=True, slots=True, eq=False)
class FrontierPlan:
    """Regions of a table, and how each is divided."""

    aims: Aims
    bound: Bound
    regions: MondrianPlan
    order: Key
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
        leaves = self.regions.cut_points(number, table, rows)
        words = self.order.half_words(rows)
        return _grouped(self.aims, self.bound.over(table), leaves, words)


def _grouped(aims: Aims, bound: Bound, leaves: CutPoints, words: HalfWords) -> Partition:
    """Divide the leaves of points into groups, and merge those that do not pass."""
    if aims.leader is None or aims.l == 1:
        return leaves.partition()
    table = bound.table
    if aims.frontier:
        cells, loads = cells_in_order(table, leaves, max(1, aims.size // 2))
    else:
        whole = leaves.partition()
        cells, loads = whole.groups, whole.sizes
    rows = Partition.of(cells).published_order(words)
    codes = table.codes[aims.leader][rows].astype(np.int32)
    queues = new_queues(int(loads.max()), table.attributes[aims.leader].size)
    along, first = take_groups(codes, np.append(0, np.cumsum(loads)), aims.l, aims.size, queues)
    groups = np.empty(len(rows), np.int32)
    groups[rows] = along
    rest = bound.without(aims.meet)
    return Partition.of(_merged(rest, groups, first) if rest.needs else groups)


def _merged(bound: Bound, groups: Codes, first: Flags) -> Codes:
    """Merge groups that do not pass with a neighbour in their leaf, until all pass.

    ``first`` says of every group whether its leaf starts there.
    """
    while True:
        fails = ~bound.passing(Partition.of(groups))
        last = np.append(first[1:], True)
        fails &= ~(first & last)  # a leaf passes
        if not fails.any():
            return groups
        # of failing groups in a row every other one takes the next with it
        takes = fails & (_place_in_run(fails & ~first, fails) % 2 == 0)
        joins = np.append(False, (takes & ~last)[:-1]) | (takes & last)
        groups = (np.cumsum(~joins, dtype=np.int32) - np.int32(1))[groups]
        first = first[~joins]


def _place_in_run(goes_on: Flags, inside: Flags) -> Counts:
    """Of groups in a row that all are ``inside``, the first, second, ... from 0 on.

    A run goes on where ``goes_on`` says so and the group before is inside.
    """
    number = np.arange(len(inside))
    begins = ~(goes_on & np.append(False, inside[:-1]))
    return number - np.maximum.accumulate(np.where(begins, number, 0))
