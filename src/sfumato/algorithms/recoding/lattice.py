"""The best level vector of a lattice, for certain.

LeFevre, DeWitt, Ramakrishnan: "Incognito: efficient full-domain k-anonymity", SIGMOD 2005, and
Kohlmayer et al.: "Flash: efficient, stable and optimal k-anonymity", PASSAT 2012.

    1. visit level vectors from the cheapest to the dearest, by what their levels alone cost
    2. pass over those that cannot be cheaper than the best one so far
    3. look at the vector: it is better, or not, or it is doomed: all finer ones fail or cost more
    4. if doomed, take a path to the top, the cheapest step first, and find by halving the last
       vector on it that is doomed; everything below that one is doomed as well

Incognito prunes by subsets of attributes: a vector that fails with all other attributes at the top
dooms whatever agrees with it on the subset. In the lattice such a vector is one above them all, so
this is step 4's pruning, and paths to the top end at such vectors.

Cost: a few frequency sets per doomed region of the lattice. Nothing is assumed about the model: one
for which nothing is doomed is searched exhaustively, up to the bound in step 2. Out of time, the
best vector so far stands, with the cheapest that any other could still be.
"""

from __future__ import annotations

from functools import reduce

import numpy as np

from sfumato.algorithms.base import Progress
from sfumato.algorithms.deadline import Deadline, OutOfTime
from sfumato.algorithms.recoding.levels import LevelJudge, Levels
from sfumato.core.arrays import Floats


class Lattice:
    """All level vectors from ``low`` to the top, with what each of them costs at least.

    That is what it shows, no less than any finer vector shows, and the excess for rows left out,
    no less than that of any coarser one; a vector whose excess alone is too much is doomed. A
    ``relaxed`` search is content with vectors that need not fail, and counts no rows left out.
    """

    def __init__(
        self, judge: LevelJudge, low: Levels, deadline: Deadline, *, relaxed: bool = False
    ) -> None:
        costs = [each[start:] for each, start in zip(judge.level_costs(), low, strict=True)]
        self._judge = judge
        self._low = np.array(low)
        self._relaxed = relaxed
        # arrays have an axis for each attribute with a choice: NumPy allows 64 of them
        self._free = np.flatnonzero(self._low < judge.top)
        fixed = sum(each[0] for each in costs if len(each) == 1)
        self._level_costs: Floats = reduce(np.add.outer, (costs[j] for j in self._free)) + fixed
        self._shown = self._level_costs * (judge.judge.cost == "ncp")
        self._excess = np.zeros(self._shown.shape)
        self._deadline = deadline
        self.best: Levels = judge.top
        self.cost = np.inf
        self.bound = np.inf
        self.finished = False

    def search(self, hear: Progress) -> None:
        """Find the best vector; ``hear`` is told the share of them that are settled."""
        shown, excess = self._shown.ravel(), self._excess.ravel()
        order = np.argsort(self._level_costs, axis=None, kind="stable")
        self._look(tuple(size - 1 for size in self._shown.shape))
        settled = 0
        try:
            for at in order:
                if shown[at] + excess[at] < self.cost:
                    hear(settled / len(order))
                    self._settle(tuple(map(int, np.unravel_index(at, self._shown.shape))))
                settled += 1
        except OutOfTime:
            pass
        self.finished = settled == len(order)
        left = order[settled:]
        self.bound = min(self.cost, float((shown + excess)[left].min(initial=np.inf)))

    def _settle(self, place: Levels) -> None:
        """Look at a vector, and at those above if it is doomed."""
        self._deadline.check()
        self._look(place)
        if self._excess[place] >= self.cost:
            self._climb(place)

    def _look(self, place: Levels) -> None:
        """Look at the vector at a place, and note what follows for those above and below."""
        levels = self._levels(place)
        seen = self._judge.verdict(levels)
        fits, cost, excess = seen.allowed, seen.cost, seen.excess
        if self._relaxed:
            fits, cost, excess = not seen.doomed, seen.base, np.inf if seen.doomed else 0.0
        if fits and cost < self.cost:
            self.best, self.cost = levels, cost
        above = self._shown[tuple(slice(level, None) for level in place)]
        np.maximum(above, seen.base, out=above)
        below = self._excess[tuple(slice(level + 1) for level in place)]
        np.maximum(below, excess, out=below)

    def _levels(self, place: Levels) -> Levels:
        levels = self._low.copy()
        levels[self._free] += place
        return tuple(levels.tolist())

    def _climb(self, place: Levels) -> None:
        """Halve the path to the top for the last place that is doomed, like the first."""
        path = self._path(place)
        low, high = 0, len(path) - 1  # the last one is the top, and that one passes
        while high - low > 1:
            middle = (low + high) // 2
            if self._excess[path[middle]] < self.cost:
                self._deadline.check()
                self._look(path[middle])
            if self._excess[path[middle]] >= self.cost:
                low = middle
            else:
                high = middle

    def _path(self, place: Levels) -> list[Levels]:
        """Places up to the top, every step the cheapest one."""
        path = [place]
        while steps := self._above(path[-1]):
            path.append(min(steps, key=self._level_costs.__getitem__))
        return path

    def _above(self, place: Levels) -> list[Levels]:
        return [
            (*place[:j], level + 1, *place[j + 1 :])
            for j, level in enumerate(place)
            if level + 1 < self._shown.shape[j]
        ]
