"""Local recoding: every row in the least general group that it can be in.

Full-domain generalization gives all rows the same levels, so a few rare ones make everybody's
values coarse. Here each level vector (one level per attribute) is looked at on its own:

    1. order the level vectors by what they cost: the mean certainty penalty of their cells
    2. for each, cheapest first: rows without a group that are alike on these levels are candidates,
       and become a group if they satisfy the model
    3. rows left at the end join the groups that became so last, which show the least anyhow
    4. labels are drawn as tightly as each group allows, which lowers many of them once more

The order makes it greedy: a row takes the cheapest group that is there for it, and nobody looks
whether the others then find theirs. On the Adult table it loses less than the best existing tool
(benchmarks/RESULTS.md). A lattice of more than ``visits`` vectors is not gone through: from the
bottom all neighbours one level up are looked at, and the one that settles the most rows for its
price is the next bottom, until the top.

Out of time, the rows that are left go up to the top by the cheapest steps, in a few long strides,
each of which makes groups as in step 2; a fifth of the time is kept for that.

Cost: one pass over the rows without a group per level vector, whatever the number of attributes.
Levels are those of ladders.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import ClassVar

import numpy as np

from sfumato.algorithms.base import TIME_LIMIT, Progress, ignore_progress, require_compiled
from sfumato.algorithms.coarsen import coarsened
from sfumato.algorithms.deadline import Deadline, OutOfTime, require_limit
from sfumato.algorithms.ladders import ladder
from sfumato.algorithms.points_plan import PointsPlan, plan_points
from sfumato.algorithms.recoding.settling import (
    Search,
    compile_first,
    compiled_search,
    plain_search,
)
from sfumato.core.arrays import Codes, Counts, Floats
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.core.randomness import Randomness
from sfumato.engines.base import Engine
from sfumato.engines.room import Room
from sfumato.errors import ParameterError
from sfumato.models.bound import Bound, compile_rules, feasible, require_feasible
from sfumato.models.requirements import Requirement

_TELL = 64  # level vectors between two words about progress
_SHARE = 0.8  # of the time, for the search itself
_STRIDES = 16  # from where the search was cut short up to the top


@dataclass(frozen=True, slots=True)
class LocalRecoding:
    """Groups on the cheapest levels that satisfy the model, row by row.

    After ``time_limit`` seconds what is left is grouped in haste; None for no limit.

    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> sf.publish(patients, sf.LocalRecoding(), sf.KAnonymity(5)).manifest.groups
    181
    """

    name: ClassVar[str] = "local-recoding"
    form: ClassVar[str] = "generalized"
    labels: ClassVar[str] = "taxonomy"
    visits: int = 20_000
    time_limit: float | None = TIME_LIMIT

    def __post_init__(self) -> None:
        """Refuse to look at nothing."""
        require_limit("time_limit", self.time_limit)
        if self.visits < 1:
            raise ParameterError(f"visits must be 1 or more, not {self.visits}", parameter="visits")

    def partition(
        self,
        table: Microdata,
        needs: tuple[Requirement, ...],
        randomness: Randomness,
        progress: Progress | None = None,
    ) -> Partition:
        """Divide the table into groups that meet the requirements."""
        return self._divide(coarsened(require_feasible(needs, table)), randomness, progress)

    def require_planned(self, needs: tuple[Requirement, ...]) -> None:
        """Points are settled in the kernel."""
        require_compiled(needs)

    def plan(self, engine: Engine, bound: Bound, room: Room, randomness: Randomness) -> PointsPlan:
        """Settle the different vectors of a table beyond memory."""
        self.require_planned(bound.needs)
        divide = partial(self._divide, randomness=randomness)
        return plan_points(divide, engine, coarsened(feasible(bound)), room, each=2)

    def _divide(
        self, bound: Bound, randomness: Randomness, progress: Progress | None = None
    ) -> Partition:
        compile_first()
        deadline = Deadline.after(self.time_limit)
        table = bound.table
        ladders = [ladder(attribute) for attribute in table.quasi]
        rules = compile_rules(bound)
        if rules is None:
            search = plain_search(bound, ladders, randomness)
        else:
            search = compiled_search(bound, rules, ladders, randomness)
        costs = [
            one.costs(np.bincount(table.codes[attribute.name], bound.weights, attribute.size))
            for one, attribute in zip(ladders, table.quasi, strict=True)
        ]
        size = prod(len(levels) for levels in costs)
        walk = _Walk(search, costs, deadline.sooner(_SHARE), progress or ignore_progress)
        finished = walk.all_vectors() if size <= self.visits else walk.climbs()
        if not finished:
            _strides(search, costs, walk.bottom, deadline)
        groups = _with_the_rest(search.groups(), bound)
        notes = {
            "level_vectors": size,
            "visited": walk.visited,
            "complete": size <= self.visits and finished,
            "cut_short": not finished,
        }
        return Partition.of(groups, notes=notes)


def _by_cost(costs: Sequence[Floats]) -> Counts:
    """All level vectors, cheapest first; among equals the more specific first."""
    total = costs[0]
    for levels in costs[1:]:
        total = np.add.outer(total, levels).ravel()
    order = np.argsort(total, kind="stable")
    shape = [len(levels) for levels in costs]
    return np.stack(np.unravel_index(order, shape), axis=1).astype(np.int64)


class _Walk:
    """Settling on one level vector after another; ``bottom`` is where it has come to."""

    def __init__(
        self, search: Search, costs: Sequence[Floats], deadline: Deadline, hear: Progress
    ) -> None:
        self._search, self._costs, self._deadline, self._hear = search, costs, deadline, hear
        self.bottom = np.zeros(len(costs), np.int64)
        self.visited = 0

    def all_vectors(self) -> bool:
        """Settle on every vector until all rows have a group; tells if there was time for it."""
        try:
            for levels in _by_cost(self._costs):
                if not self._search.left:
                    break
                self.bottom = levels
                self._settle(levels)
                if self.visited % _TELL == 1:
                    self._tell()
        except OutOfTime:
            return False
        return True

    def climbs(self) -> bool:
        """Settle on all neighbours of a bottom that rises to the best of them."""
        try:
            self._settle(self.bottom)
            while self._search.left and (prices := _prices(self._costs, self.bottom)):
                self.bottom = _raised(self.bottom, self._best_of(prices))
                self._tell()
        except OutOfTime:
            return False
        return True

    def _best_of(self, prices: dict[int, float]) -> int:
        """The step that settles the most rows for its price, all of them taken in turn."""
        gains = {
            j: self._settle(_raised(self.bottom, j)) / (prices[j] + 1e-12)
            for j in sorted(prices, key=lambda axis: prices[axis])
        }
        # where nothing was settled the cheapest step is as good as any
        return max(gains, key=lambda axis: (gains[axis], -prices[axis]))

    def _settle(self, levels: Counts) -> int:
        self._deadline.check()
        self.visited += 1
        return self._search.settle(levels)

    def _tell(self) -> None:
        self._hear(1 - self._search.left / self._search.rows)


def _prices(costs: Sequence[Floats], bottom: Counts) -> dict[int, float]:
    """What one level more costs, by attribute that has one."""
    return {
        j: float(levels[bottom[j] + 1] - levels[bottom[j]])
        for j, levels in enumerate(costs)
        if bottom[j] + 1 < len(levels)
    }


def _raised(bottom: Counts, j: int) -> Counts:
    step = bottom.copy()
    step[j] += 1
    return step


def _strides(search: Search, costs: Sequence[Floats], bottom: Counts, deadline: Deadline) -> None:
    """Settle on a few vectors from the bottom to the top."""
    path = [bottom]
    while prices := _prices(costs, path[-1]):
        path.append(_raised(path[-1], min(prices, key=lambda axis: prices[axis])))
    places = np.unique(np.linspace(0, len(path) - 1, _STRIDES + 1).astype(np.int64)[1:])
    try:
        for place in places.tolist():
            if not search.left:
                break
            deadline.check()
            search.settle(path[place])
    except OutOfTime:
        return  # the rest joins what is there


def _with_the_rest(groups: Codes, bound: Bound) -> Codes:
    """Rows without a group join the last groups, as many of them as it takes."""
    rest = groups < 0
    if not rest.any():
        return groups
    last = int(groups.max())
    by_group = np.argsort(groups, kind="stable")
    ends = np.append(0, np.cumsum(np.bincount(groups + 1, minlength=last + 2)))
    together = _Together.nobody(bound)
    together.join(by_group[: ends[1]])
    for first in range(last, -1, -1):
        together.join(by_group[ends[first + 1] : ends[first + 2]])
        if together.passes():
            return np.where(rest | (groups >= first), first, groups).astype(np.int32)
    return np.zeros_like(groups)


@dataclass(slots=True)
class _Together:
    """One group that takes in rows: how often it has each value, by requirement."""

    bound: Bound
    counts: list[Counts]

    @classmethod
    def nobody(cls, bound: Bound) -> _Together:
        return cls(bound, [np.zeros_like(seen.whole) for seen in bound.everyone])

    def join(self, rows: Counts) -> None:
        weights = None if self.bound.weights is None else self.bound.weights[rows]
        for need, counts in zip(self.bound.needs, self.counts, strict=True):
            if need.attribute is None:
                codes = np.zeros(len(rows), np.int32)
            else:
                codes = self.bound.table.codes[need.attribute][rows]
            counts += np.bincount(codes, weights, len(counts)).astype(np.int64)

    def passes(self) -> bool:
        asked = zip(self.bound.needs, self.bound.everyone, self.counts, strict=True)
        return all(
            bool(need.model.passes(seen.one_group(counts))[0]) for need, seen, counts in asked
        )
