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

Cost: a frequency set per step that is tried, at most one for each node of the taxonomies when
nothing has to be tried again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from sfumato.algorithms._cuts import SIBLING, SUBTREE, Cut, Scheme
from sfumato.algorithms._descent import End, descended
from sfumato.algorithms._frequency_sets import FrequencySet
from sfumato.algorithms._recoding_judge import Judge, require_share
from sfumato.algorithms.base import Progress, unheard
from sfumato.algorithms.full_domain import FullDomain
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.core.randomness import Randomness
from sfumato.models.requirements import Requirement, require_feasible


@dataclass(frozen=True, slots=True)
class _Cutting:
    """What both schemes share."""

    form: ClassVar[str] = "generalized"
    scheme: ClassVar[Scheme]
    suppress: float = 0.0

    def __post_init__(self) -> None:
        """Refuse a share that is none."""
        require_share(self.suppress)

    def partition(
        self,
        table: Microdata,
        needs: tuple[Requirement, ...],
        randomness: Randomness,  # noqa: ARG002
        progress: Progress | None = None,
    ) -> Partition:
        """Group the rows that are alike under the cuts."""
        return _Search(table, needs, self.suppress).partition(self.scheme, progress)


@dataclass(frozen=True, slots=True)
class Subtree(_Cutting):
    """Every value becomes the node of a cut through its taxonomy, whole branches at a time.

    Up to a share ``suppress`` of the rows may be left out. Without a taxonomy a column shows its
    values or nothing.
    """

    name: ClassVar[str] = "subtree"
    scheme: ClassVar[Scheme] = SUBTREE


@dataclass(frozen=True, slots=True)
class Sibling(_Cutting):
    """Like Subtree, but children may be told apart while their siblings stay together.

    Groups show sets of values, without a taxonomy as well.
    """

    name: ClassVar[str] = "sibling"
    scheme: ClassVar[Scheme] = SIBLING


class _Search:
    """The better end of two descents: from the roots, and from the best of the coarser scheme."""

    def __init__(self, table: Microdata, needs: tuple[Requirement, ...], suppress: float) -> None:
        require_feasible(needs, table)
        self._table, self._needs, self._suppress = table, needs, suppress
        self._exact, self._vector_of_row = FrequencySet.of(table, needs)
        self._judge = Judge.of(table, needs, suppress, "ncp")

    def partition(self, scheme: Scheme, progress: Progress | None) -> Partition:
        """Group the rows by the best cuts."""
        best = self._best(scheme, progress)
        notes = {"locally_optimal": True, "visited": best.visited}
        return self._judge.partition(self._exact, self._vector_of_row, best.recodings, notes)

    def _best(self, scheme: Scheme, progress: Progress | None) -> End:
        coarser = self._levels() if scheme is SUBTREE else self._best(SUBTREE, None).cuts
        roots = [Cut.at_root(attribute) for attribute in self._table.quasi]
        ends = [
            self._descended(coarser, scheme, None),
            self._descended(roots, scheme, progress),
        ]
        return min(ends, key=_cost)

    def _descended(self, start: Sequence[Cut], scheme: Scheme, progress: Progress | None) -> End:
        return descended(start, scheme, self._exact, self._judge, progress or unheard)

    def _levels(self) -> list[Cut]:
        """The cuts of the best full-domain generalization."""
        solution = FullDomain(self._suppress).solve(self._table, self._needs)
        return [
            Cut.at_level(attribute, solution.levels[attribute.name])
            for attribute in self._table.quasi
        ]


def _cost(end: End) -> float:
    return end.cost
