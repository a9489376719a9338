"""A good level vector of a lattice that is too large to search, and how good it can be at most.

Down from the top, up to ``_WIDTH`` vectors at a time (a beam): of all vectors one step finer that
still keep the model, the cheapest go on. A vector and its neighbours below are all rolled up from
the one that is a step finer on every attribute, so that most of the way sets are small.

The bound: what is doomed with all other attributes at the top is doomed with them anywhere. So
attributes are divided into blocks whose lattices can be searched, those with many values first, and
a block costs no less than the cheapest of its vectors that is not doomed. For discernibility, which
does not add up, a block is one attribute: no vector is finer than the one of their lowest levels.

Out of time, the best vector so far stands; of a block for which there is none, nothing is claimed.
"""

from __future__ import annotations

from typing import NamedTuple

from sfumato.algorithms.base import Progress, ignore_progress
from sfumato.algorithms.deadline import Deadline, OutOfTime
from sfumato.algorithms.recoding.lattice import Lattice
from sfumato.algorithms.recoding.levels import LevelJudge, Levels, size_of

_WIDTH = 8
_VISITS = 3_000  # about as many as a beam of full width may take
_BLOCK = 20_000  # vectors


class Found(NamedTuple):
    """The best level vector so far, its cost, whether the search came to its end, and what no
    vector can cost less than, if that is known.
    """

    best: Levels
    cost: float
    finished: bool
    bound: float | None = None


def descend(judge: LevelJudge, hear: Progress, deadline: Deadline) -> Found:
    """The best vector that the beam meets."""
    top = judge.verdict(judge.top).cost
    beam = _Beam(judge, deadline, top)
    depth = sum(judge.top)
    width = max(1, min(_WIDTH, _VISITS // (depth * len(judge.top))))
    at = [judge.top]
    try:
        while at:
            hear(1 - sum(at[0]) / depth)
            at = beam.finer(at)[:width]
    except OutOfTime:
        return Found(beam.best, beam.cost, finished=False)
    return Found(beam.best, beam.cost, finished=True)


class _Beam:
    """What was met on the way down."""

    def __init__(self, judge: LevelJudge, deadline: Deadline, cost: float) -> None:
        self._judge, self._deadline = judge, deadline
        self._seen = {judge.top}
        self.best, self.cost = judge.top, cost

    def finer(self, beam: list[Levels]) -> list[Levels]:
        """The vectors one step below that keep the model, the cheapest first."""
        found: list[tuple[float, Levels]] = []
        for levels in beam:
            self._deadline.check()
            self._judge.groups(tuple(max(0, level - 1) for level in levels))
            for finer in _below(levels, self._seen):
                self._deadline.check()
                verdict = self._judge.verdict(finer)
                if verdict.allowed:
                    found.append((verdict.cost, finer))
                    self.cost, self.best = min((self.cost, self.best), found[-1])
        return [finer for _, finer in sorted(found)]


def lower_bound(judge: LevelJudge, deadline: Deadline) -> tuple[float, bool]:
    """What no vector can cost less than, and whether there was time to find out all of it."""
    adds_up = judge.judge.cost == "ncp"
    blocks = _blocks(judge) if adds_up else [[j] for j in range(len(judge.top))]
    found = [_best_of_block(judge, block, deadline) for block in blocks]
    lowest = tuple(min(levels) for levels in zip(*(each.best for each in found), strict=True))
    finished = all(each.finished for each in found)
    if not adds_up:
        return judge.judge.base(judge.groups(lowest), judge.recodings(lowest)), finished
    costs = zip(judge.level_costs(), lowest, strict=True)
    return float(sum(by_level[level] for by_level, level in costs)), finished


def _best_of_block(judge: LevelJudge, block: list[int], deadline: Deadline) -> Found:
    low = tuple(0 if j in block else top for j, top in enumerate(judge.top))
    try:
        deadline.check()
    except OutOfTime:
        return Found(low, 0.0, finished=False)
    lattice = Lattice(judge, low, deadline, relaxed=True)
    lattice.search(ignore_progress)
    best = lattice.best if lattice.finished else low
    return Found(best, lattice.cost, lattice.finished)


def _below(levels: Levels, seen: set[Levels]) -> list[Levels]:
    """Vectors one step finer that were not met before."""
    steps = [(*levels[:j], level - 1, *levels[j + 1 :]) for j, level in enumerate(levels) if level]
    new = [step for step in steps if step not in seen]
    seen.update(new)
    return new


def _blocks(judge: LevelJudge) -> list[list[int]]:
    """Attributes in groups, as many in each as its lattice may have vectors for."""
    blocks: list[list[int]] = [[]]
    for j in sorted(range(len(judge.top)), key=lambda j: -judge.ladders[j][0].n_classes):
        tops = tuple(judge.top[i] for i in (*blocks[-1], j))
        if blocks[-1] and size_of(tops) > _BLOCK:
            blocks.append([])
        blocks[-1].append(j)
    return blocks
