"""Subtree and sibling generalization: a cut through every taxonomy, the same in the whole table.

Fung, Wang, Yu: "Top-down specialization for information and privacy preservation", ICDE 2005.

    1. generalize every value to the root of its taxonomy
    2. the best step: the one that lowers the NCP most
    3. take it if the groups still keep the model, else never try it again
    4. until no step is left

Subtree: a step replaces a node by all its children. Sibling: it takes one child out of a node,
which then stands for the rest; groups show the sets of values, as a label would cover all of them.

TDS steers by what helps a classifier, per loss of anonymity; there is no class here, so the score
is the certainty that is won. Steps 2 to 4 also start from the best full-domain generalization
(full_domain.py), which is a cut as well, and the better end is taken: subtrees never lose more than
levels do, and siblings not more than subtrees.

The result is locally optimal: no single step further is allowed. With rows that may be left out, or
a model that groups can lose by being merged, a step that failed may be allowed later; then all are
tried again until none is.

Cost: a pass over the different vectors per step that is tried, at most one for each node of the
taxonomies when nothing has to be tried again. Out of time, the best cuts so far are taken: to find
those of the coarser scheme, a search has half of the time that is left, and so has the descent from
them, so that something is left for the descent from the roots.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from sfumato.algorithms.base import TIME_LIMIT, Progress, ignore_progress
from sfumato.algorithms.deadline import Deadline, require_limit
from sfumato.algorithms.recoding.base import Global, levels_of
from sfumato.algorithms.recoding.cuts import SIBLING, SUBTREE, Cut, Scheme
from sfumato.algorithms.recoding.descent import End, descended
from sfumato.algorithms.recoding.frequency_sets import FrequencySet, compile_first
from sfumato.algorithms.recoding.full_domain import best_levels
from sfumato.algorithms.recoding.judge import Judge, require_share
from sfumato.algorithms.recoding.levels import LevelJudge
from sfumato.core.partition import Partition
from sfumato.models.bound import Bound


@dataclass(frozen=True, slots=True)
class _Cutting(Global):
    """What both schemes share."""

    scheme: ClassVar[Scheme]
    suppress: float = 0.0
    time_limit: float | None = TIME_LIMIT

    def __post_init__(self) -> None:
        """Refuse a share that is none, and a limit under which nothing is tried."""
        require_share(self.suppress)
        require_limit("time_limit", self.time_limit)

    def _divide(self, bound: Bound, progress: Progress | None = None) -> Partition:
        compile_first()
        deadline = Deadline.after(self.time_limit)
        return _Search(bound, self.suppress).partition(self.scheme, progress, deadline)


@dataclass(frozen=True, slots=True)
class Subtree(_Cutting):
    """Every value becomes the node of a cut through its taxonomy, whole branches at a time.

    Up to a share ``suppress`` of the rows may be left out. Without a taxonomy a column shows its
    values or nothing. After ``time_limit`` seconds the best cuts so far are taken; None for no
    limit.

    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> sf.publish(patients, sf.Subtree(), sf.KAnonymity(5)).manifest.groups
    38
    """

    name: ClassVar[str] = "subtree"
    by_levels: ClassVar[bool] = True
    scheme: ClassVar[Scheme] = SUBTREE


@dataclass(frozen=True, slots=True)
class Sibling(_Cutting):
    """Like Subtree, but children may be told apart while their siblings stay together.

    Groups show sets of values, without a taxonomy as well.

    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> sf.publish(patients, sf.Sibling(), sf.KAnonymity(5)).manifest.groups
    64
    """

    name: ClassVar[str] = "sibling"
    scheme: ClassVar[Scheme] = SIBLING


class _Search:
    """The better end of two descents: from the roots, and from the best of the coarser scheme."""

    def __init__(self, bound: Bound, suppress: float) -> None:
        self._table = bound.table
        self._exact, self._vector_of_row = FrequencySet.of(bound)
        self._judge = Judge.of(bound, suppress, "ncp")

    def partition(self, scheme: Scheme, progress: Progress | None, deadline: Deadline) -> Partition:
        """Group the rows by the best cuts."""
        best, in_time = self._best(scheme, progress or ignore_progress, deadline)
        notes = {
            "locally_optimal": best.finished,
            "visited": best.visited,
            "cut_short": not in_time,
        }
        return self._judge.partition(self._exact, self._vector_of_row, best.recodings, notes)

    def _best(self, scheme: Scheme, hear: Progress, deadline: Deadline) -> tuple[End, bool]:
        """The better end, and whether no part of the search was cut short."""
        coarser, in_time = self._coarser(scheme, deadline.sooner(0.5))
        roots = [Cut.at_root(attribute) for attribute in self._table.quasi]
        ends = [
            self._descended(coarser, scheme, ignore_progress, deadline.sooner(0.5)),
            self._descended(roots, scheme, hear, deadline),
        ]
        return min(ends, key=_cost), in_time and all(end.finished for end in ends)

    def _coarser(self, scheme: Scheme, deadline: Deadline) -> tuple[Sequence[Cut], bool]:
        """The best cuts of the next coarser scheme: levels for subtrees, subtrees for siblings."""
        if scheme is SUBTREE:
            return self._levels(deadline)
        end, in_time = self._best(SUBTREE, ignore_progress, deadline)
        return end.cuts, in_time

    def _descended(
        self, start: Sequence[Cut], scheme: Scheme, hear: Progress, deadline: Deadline
    ) -> End:
        return descended(start, scheme, self._exact, self._judge, hear, deadline)

    def _levels(self, deadline: Deadline) -> tuple[Sequence[Cut], bool]:
        """The cuts of the best full-domain generalization."""
        quasi = self._table.quasi
        judge = LevelJudge([levels_of(attribute) for attribute in quasi], self._exact, self._judge)
        found = best_levels(judge, ignore_progress, deadline)
        cuts = [Cut.at_level(each, level) for each, level in zip(quasi, found.best, strict=True)]
        return cuts, found.finished


def _cost(end: End) -> float:
    return end.cost
