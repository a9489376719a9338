"""Full-domain generalization: every attribute is shown at one level of its taxonomy.

Samarati: "Protecting respondents' identities in microdata release", TKDE 2001; LeFevre, DeWitt,
Ramakrishnan: "Incognito: efficient full-domain k-anonymity", SIGMOD 2005.

    1. the levels of every attribute (base.py), and the different vectors with their weights
    2. the best level vector: for certain in a lattice of up to 100,000 of them (lattice.py), in a
       larger one a good one with a bound on how much better another could be (large_lattice.py)
    3. groups are the rows that are equal once recoded; those that fail are left out, if they have
       no more rows than allowed

"Best" is the lowest NCP, or discernibility, among the vectors that keep the model, where all groups
that fail are left out and nothing else is. Every group shows its level's label, even if its own
values would allow a narrower one. With several QIDs the model must hold for each of them, its
columns alone forming the groups; no row can be left out then.

Cost: one pass over the rows, then a frequency set per vector that is looked at, rolled up from a
finer one. Out of time, the best vector so far is taken; there is always one, the top.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, get_args

from sfumato.algorithms.base import TIME_LIMIT, Progress, ignore_progress
from sfumato.algorithms.deadline import Deadline, require_limit
from sfumato.algorithms.qids import require_qids
from sfumato.algorithms.recoding.base import Global, levels_of
from sfumato.algorithms.recoding.frequency_sets import FrequencySet, compile_first
from sfumato.algorithms.recoding.judge import Cost, Judge, require_share
from sfumato.algorithms.recoding.large_lattice import Found, descend, lower_bound
from sfumato.algorithms.recoding.lattice import Lattice
from sfumato.algorithms.recoding.levels import LevelJudge, size_of
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.errors import ParameterError
from sfumato.models.bound import Bound, require_feasible
from sfumato.models.requirements import Requirement

_SEARCHED = 100_000  # vectors; of a larger lattice only a part is looked at
_ROUNDING = 1e-12  # the bound adds up the same penalties in another order


@dataclass(frozen=True, slots=True)
class Solution:
    """The levels that were chosen, and how good they are.

    No level vector costs less than ``bound``; ``optimal`` says that this one costs no more. Of
    the ``level_vectors`` there are, ``visited`` were looked at; ``cut_short`` says that the time
    limit ended the search, or that for the bound.
    """

    levels: dict[str, int]
    cost: float
    bound: float
    optimal: bool
    visited: int
    level_vectors: int
    cut_short: bool

    def notes(self) -> dict[str, Any]:
        """What a release states about it; the cost is among its metrics."""
        return {
            "levels": self.levels,
            "lower_bound": self.bound,
            "optimal": self.optimal,
            "visited": self.visited,
            "level_vectors": self.level_vectors,
            "cut_short": self.cut_short,
        }


@dataclass(frozen=True, slots=True)
class FullDomain(Global):
    """One level of its taxonomy for every attribute; without a taxonomy, the value or nothing.

    Up to a share ``suppress`` of the rows may be left out. ``cost`` is what is minimized. With
    ``qids``, lists of columns, the model is kept by each of them alone instead of by all together.
    After ``time_limit`` seconds the best levels so far are taken; None for no limit.

    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> release = sf.publish(patients, sf.FullDomain(suppress=0.05), sf.KAnonymity(5))
    >>> release.manifest.search["levels"]
    {'age': 1, 'sex': 0, 'zipcode': 2, 'education': 0, 'job': 2}
    """

    name: ClassVar[str] = "full-domain"
    by_levels: ClassVar[bool] = True  # a column without a taxonomy is shown or not
    suppress: float = 0.0
    cost: Cost = "ncp"
    qids: Sequence[Sequence[str]] = ()
    time_limit: float | None = TIME_LIMIT

    def __post_init__(self) -> None:
        """Refuse options that mean nothing."""
        require_share(self.suppress)
        require_limit("time_limit", self.time_limit)
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
        deadline = self._deadline()
        bound = require_feasible(needs, table)
        exact, _ = FrequencySet.of(bound)
        return _solved(self._judge(bound, exact), table, progress or ignore_progress, deadline)

    def require_planned(self, needs: tuple[Requirement, ...]) -> None:  # noqa: ARG002
        """Any model is kept by points; by several QIDs it is in memory only."""
        if self.qids:
            raise ParameterError(
                "several QIDs need all rows in memory; use the in-memory engine", parameter="engine"
            )

    def _divide(self, bound: Bound, progress: Progress | None = None) -> Partition:
        deadline = self._deadline()
        exact, vector_of_row = FrequencySet.of(bound)
        judge = self._judge(bound, exact)
        solution = _solved(judge, bound.table, progress or ignore_progress, deadline)
        recodings = judge.recodings(tuple(solution.levels.values()))
        # with QIDs the groups of all columns together owe nothing to the model
        publisher = replace(judge.judge, needs=()) if self.qids else judge.judge
        return publisher.partition(exact, vector_of_row, recodings, solution.notes())

    def _deadline(self) -> Deadline:
        compile_first()
        return Deadline.after(self.time_limit)

    def _judge(self, bound: Bound, exact: FrequencySet) -> LevelJudge:
        require_qids(self.qids, bound.table.schema)
        ladders = [levels_of(attribute) for attribute in bound.table.quasi]
        judge = Judge.of(bound, self.suppress, self.cost)
        return LevelJudge(ladders, exact, judge, [_places(qid, bound.table) for qid in self.qids])


def best_levels(judge: LevelJudge, hear: Progress, deadline: Deadline) -> Found:
    """The best level vector, or a good one; without a word about how much better another is."""
    if size_of(judge.top) > _SEARCHED:
        return descend(judge, hear, deadline)
    lattice = Lattice(judge, (0,) * len(judge.top), deadline)
    lattice.search(hear)
    return Found(lattice.best, lattice.cost, lattice.finished, lattice.bound)


def _solved(judge: LevelJudge, table: Microdata, hear: Progress, deadline: Deadline) -> Solution:
    found = best_levels(judge, hear, deadline)
    bound, finished = found.bound, found.finished
    if bound is None:
        bound, finished = lower_bound(judge, deadline)
    return Solution(
        levels=dict(zip(table.schema.quasi, found.best, strict=True)),
        cost=found.cost,
        bound=min(found.cost, bound),
        optimal=found.cost <= bound * (1 + _ROUNDING),
        visited=judge.visited,
        level_vectors=size_of(judge.top),
        cut_short=not (found.finished and finished),
    )


def _places(qid: Sequence[str], table: Microdata) -> list[int]:
    return [table.schema.quasi.index(name) for name in qid]
