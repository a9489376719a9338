"""Full-domain generalization: every attribute is shown at one level of its taxonomy.

Samarati: "Protecting respondents' identities in microdata release", TKDE 2001; LeFevre, DeWitt,
Ramakrishnan: "Incognito: efficient full-domain k-anonymity", SIGMOD 2005.

    1. the levels of every attribute (_recoding.py), and the different vectors with their weights
    2. the best level vector: for certain in a lattice of up to 100,000 of them (_lattice.py), in a
       larger one a good one with a bound on how much better another could be (_large_lattice.py)
    3. groups are the rows that are equal once recoded; those that fail are left out, if they have
       no more rows than allowed

"Best" is the lowest NCP, or discernibility, among the vectors that keep the model, where all groups
that fail are left out and nothing else is. Every group shows its level's label, even if its own
values would allow a narrower one. With several QIDs the model must hold for each of them, its
columns alone forming the groups; no row can be left out then.

Cost: one pass over the rows, then a frequency set per vector that is looked at, rolled up from a
finer one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, get_args

from sfumato.algorithms._frequency_sets import FrequencySet
from sfumato.algorithms._large_lattice import descend, lower_bound
from sfumato.algorithms._lattice import Lattice
from sfumato.algorithms._levels import LevelJudge, size_of
from sfumato.algorithms._recoding import levels_of
from sfumato.algorithms._recoding_judge import Cost, Judge, require_share
from sfumato.algorithms.base import Progress, unheard
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.core.randomness import Randomness
from sfumato.errors import ParameterError, SchemaError
from sfumato.models.requirements import Requirement, require_feasible

_SEARCHED = 100_000  # vectors; of a larger lattice only a part is looked at
_ROUNDING = 1e-12  # the bound adds up the same penalties in another order


@dataclass(frozen=True, slots=True)
class Solution:
    """The levels that were chosen, and how good they are.

    No level vector costs less than ``bound``; ``optimal`` says that this one costs no more. Of
    the ``level_vectors`` there are, ``visited`` were looked at.
    """

    levels: dict[str, int]
    cost: float
    bound: float
    optimal: bool
    visited: int
    level_vectors: int

    def notes(self) -> dict[str, Any]:
        """What a release states about it; the cost is among its metrics."""
        return {
            "levels": self.levels,
            "lower_bound": self.bound,
            "optimal": self.optimal,
            "visited": self.visited,
            "level_vectors": self.level_vectors,
        }


@dataclass(frozen=True, slots=True)
class FullDomain:
    """One level of its taxonomy for every attribute; without a taxonomy, the value or nothing.

    Up to a share ``suppress`` of the rows may be left out. ``cost`` is what is minimized. With
    ``qids``, lists of columns, the model is kept by each of them alone instead of by all together.
    """

    name: ClassVar[str] = "full-domain"
    form: ClassVar[str] = "generalized"
    suppress: float = 0.0
    cost: Cost = "ncp"
    qids: Sequence[Sequence[str]] = ()

    def __post_init__(self) -> None:
        """Refuse options that mean nothing."""
        require_share(self.suppress)
        if self.cost not in get_args(Cost):
            raise ParameterError(
                f"cost must be {' or '.join(get_args(Cost))}, not {self.cost!r}", parameter="cost"
            )
        if any(isinstance(qid, str) or not qid for qid in self.qids):
            raise ParameterError("a QID is a list of at least one column", parameter="qids")
        object.__setattr__(self, "qids", tuple(tuple(qid) for qid in self.qids))
        if self.qids and self.suppress:
            raise ParameterError("with several QIDs no row can be left out", parameter="suppress")

    def solve(
        self, table: Microdata, needs: tuple[Requirement, ...], progress: Progress | None = None
    ) -> Solution:
        """Choose the levels."""
        exact, _ = FrequencySet.of(table, needs)
        return _solved(self._judge(table, needs, exact), table, progress or unheard)

    def partition(
        self,
        table: Microdata,
        needs: tuple[Requirement, ...],
        randomness: Randomness,  # noqa: ARG002
        progress: Progress | None = None,
    ) -> Partition:
        """Group the rows that are alike at the chosen levels."""
        exact, vector_of_row = FrequencySet.of(table, needs)
        judge = self._judge(table, needs, exact)
        solution = _solved(judge, table, progress or unheard)
        recodings = judge.recodings(tuple(solution.levels.values()))
        # with QIDs the groups of all columns together owe nothing to the model
        publisher = replace(judge.judge, needs=()) if self.qids else judge.judge
        return publisher.partition(exact, vector_of_row, recodings, solution.notes())

    def _judge(
        self, table: Microdata, needs: tuple[Requirement, ...], exact: FrequencySet
    ) -> LevelJudge:
        require_feasible(needs, table)
        ladders = [levels_of(attribute) for attribute in table.quasi]
        judge = Judge.of(table, needs, self.suppress, self.cost)
        return LevelJudge(ladders, exact, judge, [_places(qid, table) for qid in self.qids])


def _solved(judge: LevelJudge, table: Microdata, hear: Progress) -> Solution:
    vectors = size_of(judge.top)
    if vectors <= _SEARCHED:
        lattice = Lattice(judge, (0,) * len(judge.top))
        lattice.search(hear)
        best, cost = lattice.best, lattice.cost
        bound = cost
    else:
        best, cost = descend(judge, hear)
        bound = min(cost, lower_bound(judge))
    return Solution(
        levels=dict(zip(table.schema.quasi, best, strict=True)),
        cost=cost,
        bound=bound,
        optimal=cost <= bound * (1 + _ROUNDING),
        visited=judge.visited,
        level_vectors=vectors,
    )


def _places(qid: Sequence[str], table: Microdata) -> list[int]:
    for name in qid:
        if name not in table.schema.quasi:
            raise SchemaError(f"a QID names {name!r}, which is no quasi-identifier", column=name)
    return [table.schema.quasi.index(name) for name in qid]
