"""Better boxes from any partition: ruin and recreate among neighbouring groups.

After Schrimpf, Schneider, Stamm-Wilbrandt, Dueck: "Record breaking optimization results using the
ruin and recreate principle", J. Comp. Physics 2000; groups are recreated as k-member clustering
makes them (Byun, Kamra, Bertino, Li, DASFAA 2007).

    a pass: four times, in a line of the groups by the attributes in random order
      1. a group and the two of its neighbours in the line that cost least to merge with become a
         pool of rows, which is grouped anew (rebuild.py); that is kept if it loses less and every
         new group passes
      2. a row of a group that can spare it moves to the neighbour where it costs least, if that
         loses less and both groups pass (move.py)

What is lost is NCP as algorithms/space.py counts it. No step adds to it, so that a partition is
never worse afterwards, and it passes at any moment; out of time it is given as it is. Large sets of
values are counted roughly on the way: the exact NCP decides at the end.

The result is local recoding: boxes overlap, and equal rows may part, as under relaxed cuts. Groups
are told apart by chance, from the key, and by what rows show and what the model asks, never by the
order of the table.

Cost: O(n s) per pass for n rows in groups of s: some 7 microseconds per row up to s = 50. Groups of
thousands of rows are left as they are.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sfumato.algorithms.base import Progress, ignore_progress
from sfumato.algorithms.deadline import Deadline, OutOfTime, require_limit
from sfumato.algorithms.goal import Goal, goal_of
from sfumato.algorithms.points import Points
from sfumato.algorithms.refine.groups import Groups, groups_of, label_rows
from sfumato.algorithms.refine.line import Line, line_of
from sfumato.algorithms.refine.move import Edge, move_all, new_edge
from sfumato.algorithms.refine.rebuild import Pool, new_pool, rebuild_all
from sfumato.algorithms.space import PointArrays, Sets, point_arrays, sets_of
from sfumato.core.arrays import Codes, Counts
from sfumato.core.boxes import Ranges, ValueSets
from sfumato.core.compiled import announce
from sfumato.core.keyed import Key
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.core.randomness import Randomness
from sfumato.errors import ParameterError
from sfumato.models.bound import Bound, CompiledRules, compile_rules

_ORDERS = 4  # of the groups in a pass
_WORK = 2**25  # pairs of rows: a tenth of a second or so between two looks at the clock
_POOL = 4096  # rows: the most that are grouped anew at once


def require_refine(passes: int, time_limit: float | None) -> None:
    """Raise unless this is a number of passes, and a limit on the time that they take."""
    if type(passes) is not int or passes < 0:
        raise ParameterError(
            f"refine must be a whole number of passes, 0 or more, not {passes!r}",
            parameter="refine",
        )
    require_limit("time_limit", time_limit)


def require_unrefined(passes: int) -> None:
    """Raise if groups are to be refined in a table beyond memory."""
    if passes:
        raise ParameterError(
            "refine looks at all groups, which need all rows in memory; use the in-memory engine",
            parameter="engine",
        )


def until_refined(progress: Progress | None, passes: int) -> Progress | None:
    """Who hears of the share that is done before anything is refined."""
    if progress is None or not passes:
        return progress
    return lambda share: progress(share / (1 + passes))


def refined(
    partition: Partition,
    bound: Bound,
    passes: int,
    time_limit: float | None,
    randomness: Randomness,
    progress: Progress | None = None,
) -> Partition:
    """The partition after so many passes: what it loses is less, or the same."""
    if not passes:
        return partition
    rules = compile_rules(bound)
    if rules is None:
        raise ParameterError(
            "refine knows the built-in models only; a model of one's own needs refine=0",
            parameter="refine",
        )
    assert bound.weights is None, "rows may part that are equal"
    search = _Search(partition, bound, rules, randomness.key("refine"))
    search.compile()
    finished = search.run(passes, Deadline.after(time_limit), progress or ignore_progress)
    found = search.partition()
    better = _loss(bound.table, found) < _loss(bound.table, partition)
    return replace(found if better else partition, notes={"cut_short": not finished})


class _Search:
    """Groups that change, and what is needed to change them."""

    def __init__(self, partition: Partition, bound: Bound, rules: CompiledRules, key: Key) -> None:
        table = bound.table
        member = np.argsort(key.words(np.arange(table.n_rows)), kind="stable").astype(np.int32)
        points = Points.every_row(table, rules.offsets, member)
        arrays = point_arrays(table, points, np.arange(table.n_rows, dtype=np.int32))
        self._key, self._codes = key, points.codes
        self._arrays: PointArrays = arrays._replace(member=member)
        self._sets: Sets = sets_of(table)
        self._goal: Goal = goal_of(rules, bound.n_rows)
        self._groups: Groups = groups_of(partition, self._arrays, self._sets, self._goal)
        room = min(table.n_rows, _POOL)
        self._pool: Pool = new_pool(room, self._arrays, self._sets, _shares(bound, rules))
        self._edge: Edge = new_edge(arrays.places.shape[1], self._sets)

    def compile(self) -> None:
        """Let the compiler run before the clock does."""
        announce(rebuild_all)
        line = self._line(0)
        self._rebuild(line, 0, 0)
        self._move(line, 0, 0)

    def run(self, passes: int, deadline: Deadline, progress: Progress) -> bool:
        """So many passes; whether there was time for them."""
        steps = passes * _ORDERS
        try:
            for step in range(steps):
                line = self._line(step)
                for half, go_on in enumerate((self._rebuild, self._move)):
                    at = 0
                    while at < len(line.groups):
                        deadline.check()
                        part = (half + at / len(line.groups)) / 2
                        progress((1 + (step + part) / _ORDERS) / (1 + passes))
                        at = go_on(line, at, _WORK)
        except OutOfTime:
            return False
        return True

    def partition(self) -> Partition:
        """The groups of rows."""
        return Partition.of(label_rows(self._groups, self._arrays))

    def _line(self, step: int) -> Line:
        """The groups by one row of each, its attributes in random order."""
        words = self._key.for_(f"line {step}").words(np.arange(self._codes.shape[1]))
        alive: Counts = np.flatnonzero(self._groups.loads)
        shown: Codes = self._codes[self._groups.heads[alive]]
        return line_of(self._groups, alive[np.lexsort(shown[:, np.argsort(words)].T)])

    def _rebuild(self, line: Line, at: int, work: int) -> int:
        sets, goal = self._sets, self._goal
        return rebuild_all(self._groups, line, self._arrays, sets, goal, self._pool, at, work)

    def _move(self, line: Line, at: int, work: int) -> int:
        sets, goal = self._sets, self._goal
        return move_all(self._groups, line, self._arrays, sets, goal, self._edge, at, work)


def _shares(bound: Bound, rules: CompiledRules) -> Counts:
    """By sensitive value, how many different ones a passing group has at least."""
    shares = np.ones(len(rules.whole_counts), np.int64)
    for need, seen, rule in zip(bound.needs, bound.everyone, bound.rules(), strict=True):
        if need.attribute is not None and rule is not None:
            first = rules.offsets[need.attribute]
            of_attribute = shares[first : first + len(seen.whole)]
            of_attribute[:] = np.maximum(of_attribute, rule.least)
    return shares


def _loss(table: Microdata, partition: Partition) -> float:
    """The NCP of all cells."""
    sides = (
        (Ranges if one.ordered else ValueSets).around(one, table.codes[one.name], partition)
        for one in table.quasi
    )
    return sum(float((side.penalties() * partition.sizes).sum()) for side in sides)
