"""Optimal single-dimensional partitioning: one set of intervals per attribute, for all rows.

Bayardo, Agrawal: "Data privacy through optimal k-anonymization", ICDE 2005 (K-Optimize); the model
is that of LeFevre, DeWitt, Ramakrishnan, TR 1521, 2005, section 2: a grid of cuts, whose cells are
the groups. Of all grids that keep the privacy model, the one with the lowest discernibility C_DM.

    1. enumerate sets of cuts, each once, from none towards all
    2. leave out sets whose cost is bound to exceed the cheapest found so far
    3. leave out cuts that no cheap enough set can contain, and decide the rest in an order that is
       chosen anew at every step

search.py does so. It differs from K-Optimize where strictness helps: no row is suppressed, so
a grid with an unsafe cell, and every refinement of it, is out at once; open sets are taken by their
bound, not depth first, so an interrupted search knows how far from optimal it may be; and given the
cuts of all other attributes the best cuts of one are found by dynamic programming, which turns the
set enumeration of the largest attribute into one look, and bounds the others.

Assumes a total order on every domain: unordered categories are taken in the order of their codes,
which is sorted, and a missing value as the last one. Assumes also that safe groups stay safe when
they are merged, as under all built-in models; with a user's own model the result is safe all the
same, but never called optimal.

Cost: exponential in the number of cuts in the worst case, since the problem is NP-hard; one look at
a node takes O(v c) time for v different vectors and c open cuts, and space for some lines of c
intervals at a time. The clock is looked at before each pass over the vectors, and within long ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from typing import Any, ClassVar

import numpy as np

from sfumato.algorithms.base import TIME_LIMIT, Progress, ignore_progress
from sfumato.algorithms.deadline import Deadline, require_limit
from sfumato.algorithms.intervals.grid import IN, OPEN, Crowd
from sfumato.algorithms.intervals.kernel import Limits
from sfumato.algorithms.intervals.plain import PlainWeigher
from sfumato.algorithms.intervals.search import Outcome, search
from sfumato.algorithms.intervals.weigh import Weigh, Weighed, compile_first
from sfumato.core._kernels import number_rows
from sfumato.core.arrays import Codes, Ints
from sfumato.core.attribute import Attribute
from sfumato.core.boxes import Boxes, Ranges, Side, ValueSets
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.core.randomness import Randomness
from sfumato.models.base import has
from sfumato.models.bound import Bound, compile_rules, require_feasible
from sfumato.models.requirements import Requirement


@dataclass(frozen=True, slots=True)
class Solution:
    """The intervals that were chosen, and how good they are.

    ``starts`` holds, per attribute, the codes with which its intervals begin. No grid costs less
    than ``bound``; ``optimal`` says that this one costs no more, ``cut_short`` that the time limit
    ended the search.
    """

    starts: dict[str, tuple[int, ...]]
    cost: int
    bound: int
    visited: int
    seconds: float
    cut_short: bool

    @property
    def optimal(self) -> bool:
        """Whether no grid is cheaper."""
        return self.bound >= self.cost

    @property
    def gap(self) -> float:
        """The share of the cost that a better grid could save at most."""
        return 1 - self.bound / self.cost

    def notes(self) -> dict[str, Any]:
        """What a release says about it; unless cut short, facts that depend on no machine."""
        return {
            "lower_bound": self.bound,
            "optimal": self.optimal,
            "visited": self.visited,
            "cut_short": self.cut_short,
        }

    def __repr__(self) -> str:
        """How good it is; ``starts`` may be long."""
        return f"Solution(cost={self.cost}, bound={self.bound}, visited={self.visited})"


@dataclass(frozen=True, slots=True)
class SingleDimensional:
    """The cheapest grid of cuts, or the best one found within the limits.

    After ``time_limit`` seconds the search stops wherever it is, and after ``node_limit`` steps;
    None for no limit. Time that the compiler takes in the first run on a machine is not counted.
    With a node limit alone, the result does not depend on the machine.

    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> release = sf.publish(patients, sf.SingleDimensional(time_limit=None), sf.KAnonymity(100))
    >>> release.manifest.search["optimal"]
    True
    """

    name: ClassVar[str] = "single-dimensional"
    form: ClassVar[str] = "generalized"
    time_limit: float | None = TIME_LIMIT
    node_limit: int | None = None

    def __post_init__(self) -> None:
        """Refuse limits under which nothing is tried."""
        require_limit("time_limit", self.time_limit)
        require_limit("node_limit", self.node_limit)

    def partition(
        self,
        table: Microdata,
        needs: tuple[Requirement, ...],
        randomness: Randomness,  # noqa: ARG002  # nothing is left to chance
        progress: Progress | None = None,
    ) -> Partition:
        """Divide the table into the cells of a grid that meet the requirements."""
        solution = self.solve(table, needs, progress)
        starts = solution.starts
        intervals = [
            _interval_of(starts[attribute.name], attribute)[table.codes[attribute.name]]
            for attribute in table.quasi
        ]
        cells = np.stack(intervals, axis=1, dtype=np.int32)
        groups, first, _ = number_rows(cells, cells.max(axis=0).astype(np.int64) + 1)
        sides = [
            _side(attribute, table.codes[attribute.name], starts[attribute.name], cells[first, j])
            for j, attribute in enumerate(table.quasi)
        ]
        return Partition.of(groups, Boxes(tuple(sides)), notes=solution.notes())

    def solve(
        self,
        table: Microdata,
        needs: tuple[Requirement, ...],
        progress: Progress | None = None,
    ) -> Solution:
        """The intervals of the cheapest grid; ``progress`` hears how far its cost is proven."""
        bound = require_feasible(needs, table)
        compile_first()
        begin, deadline = monotonic(), Deadline.after(self.time_limit)
        crowd, weigh = _prepared(bound, deadline)
        most = math.inf if self.node_limit is None else self.node_limit
        outcome = search(crowd, weigh, most, progress or ignore_progress)
        return Solution(
            starts=_starts(table, crowd, outcome),
            cost=outcome.grid.cost,
            bound=_proven(crowd, needs, outcome),
            visited=outcome.visited,
            seconds=monotonic() - begin,
            cut_short=outcome.cut_short,
        )


def _prepared(bound: Bound, deadline: Deadline) -> tuple[Crowd, Weigh]:
    """The rows as the search sees them, and how it weighs intervals."""
    table, rules = bound.table, compile_rules(bound)
    if rules is None:
        plain = PlainWeigher(bound, deadline)
        return replace(_crowd(table, plain.sensitive(), 0), deadline=deadline), plain
    shifted = [table.codes[name].astype(np.int32) + at for name, at in rules.offsets.items()]
    columns = np.array(shifted, np.int32).reshape(len(shifted), table.n_rows).T
    limits = Limits(rules.rules, rules.whole_counts / table.n_rows, rules.least)
    crowd = _crowd(table, columns, len(rules.whole_counts))
    weigh = partial(Weighed.of, limits=limits, n_values=crowd.n_values, deadline=deadline)
    return replace(crowd, deadline=deadline), weigh


def _crowd(table: Microdata, sensitive: Codes, n_values: int) -> Crowd:
    """Different rows, their values numbered without gaps: a cut beside an unused value is idle."""
    columns = [table.codes[name] for name in table.schema.quasi]
    ranks = [(np.cumsum(np.bincount(codes) > 0) - 1)[codes] for codes in columns]
    crowd = Crowd.of(np.stack(ranks, axis=1, dtype=np.int32), sensitive, n_values)
    return crowd.merged(crowd.marks(OPEN))


def _starts(table: Microdata, crowd: Crowd, outcome: Outcome) -> dict[str, tuple[int, ...]]:
    """The first code of every interval."""
    marks = outcome.grid.marks
    return {
        name: tuple(_present(table.codes[name])[marks[part][:-1] == IN].tolist())
        for name, part in zip(table.schema.quasi, crowd.slices, strict=True)
    }


def _proven(crowd: Crowd, needs: tuple[Requirement, ...], outcome: Outcome) -> int:
    """The bound, if models are known to be kept by merging; else that of all cuts at once."""
    if all(has(need.model, "merging_safe") for need in needs):
        return outcome.bound
    vectors = number_rows(crowd.codes, crowd.codes.max(axis=0).astype(np.int64) + 1)[0]
    return int((np.bincount(vectors, weights=crowd.weights) ** 2).sum())


def _side(attribute: Attribute, codes: Codes, starts: tuple[int, ...], intervals: Codes) -> Side:
    """The interval of every group, drawn around the values that occur in it anywhere."""
    present = _present(codes)
    interval = _interval_of(starts, attribute)[present]
    around = Ranges.around if attribute.ordered else ValueSets.around
    return around(attribute, present, Partition.of(interval)).taken(intervals)


def _present(codes: Ints) -> Codes:
    """The codes that occur, ascending."""
    return np.flatnonzero(np.bincount(codes)).astype(np.int32)


def _interval_of(starts: tuple[int, ...], attribute: Attribute) -> Codes:
    """The interval of every code."""
    codes = np.arange(attribute.size)
    return (np.searchsorted(starts, codes, "right") - 1).astype(np.int32)
