"""Making cuts finer step by step, the most telling one first, as long as the model is kept."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sfumato.algorithms._cuts import Cut, Scheme
from sfumato.algorithms._frequency_sets import FrequencySet
from sfumato.algorithms._recoding import Recoding
from sfumato.algorithms._recoding_judge import Judge
from sfumato.algorithms.base import Progress
from sfumato.core.arrays import Floats

_ROUNDING = 1e-12  # a step that tells nothing more must not seem to tell less


class _Step(NamedTuple):
    """A finer cut of attribute j, and the certainty that it would win."""

    j: int
    name: Hashable
    cut: Cut
    recoding: Recoding
    gain: float


@dataclass(frozen=True, slots=True, eq=False)
class End:
    """Cuts that no single step makes better, their cost, and how many steps were tried."""

    cuts: tuple[Cut, ...]
    recodings: tuple[Recoding, ...]
    cost: float
    visited: int


def descended(
    start: Sequence[Cut], scheme: Scheme, exact: FrequencySet, judge: Judge, hear: Progress
) -> End:
    """Take steps from cuts that keep the model until none is left; ``hear`` is told the share."""
    return _Descent(start, scheme, exact, judge).end(hear)


class _Descent:
    """The cuts on the way down, with the steps that could be taken next."""

    def __init__(
        self, start: Sequence[Cut], scheme: Scheme, exact: FrequencySet, judge: Judge
    ) -> None:
        self._scheme, self._exact, self._judge = scheme, exact, judge
        self._counts = [_counts(exact, j, cut) for j, cut in enumerate(start)]
        self._cuts = list(start)
        self._recodings = [scheme.recoding(cut) for cut in start]
        self._cost = judge.verdict(exact.rolled_up(self._recodings), self._recodings).cost
        self._refused: set[tuple[int, Hashable]] = set()
        self._visited = 1

    def end(self, hear: Progress) -> End:
        """Take steps, and try those again that were refused where that can help."""
        for_good = self._judge.limit == 0 and self._judge.merging
        while self._round(hear) and not for_good:
            self._refused.clear()
        return End(tuple(self._cuts), tuple(self._recodings), self._cost, self._visited)

    def _round(self, hear: Progress) -> bool:
        """Try every step once, the best first; tell if one was taken."""
        taken = False
        steps = [self._steps(j) for j in range(len(self._cuts))]
        while any(steps):
            step = max((step for of_one in steps for step in of_one), key=_gain)
            if self._takes(step):
                taken = True
            else:
                self._refused.add((step.j, step.name))
            steps[step.j] = self._steps(step.j)
            hear(min(1.0, max(0.0, 1 - self._cost)))
        return taken

    def _takes(self, step: _Step) -> bool:
        """Take a step if the groups bear it and it does not cost more rows than it is worth."""
        self._visited += 1
        finer = [*self._recodings[: step.j], step.recoding, *self._recodings[step.j + 1 :]]
        verdict = self._judge.verdict(self._exact.rolled_up(finer), finer)
        if not verdict.allowed or verdict.cost > self._cost + _ROUNDING:
            return False
        self._cuts[step.j], self._recodings, self._cost = step.cut, finer, verdict.cost
        return True

    def _steps(self, j: int) -> list[_Step]:
        """The steps of one attribute that were not refused."""
        present = self._counts[j] > 0
        return [
            self._step(j, name, cut)
            for name, cut in self._scheme.steps(self._cuts[j], present)
            if (j, name) not in self._refused
        ]

    def _step(self, j: int, name: Hashable, cut: Cut) -> _Step:
        recoding = self._scheme.recoding(cut)
        gain = float(self._counts[j] @ (self._recodings[j].penalties - recoding.penalties))
        return _Step(j, name, cut, recoding, gain)


def _gain(step: _Step) -> float:
    return step.gain


def _counts(exact: FrequencySet, j: int, cut: Cut) -> Floats:
    """How many rows have each code of attribute j."""
    counts = np.bincount(exact.codes[:, j], weights=exact.weights, minlength=len(cut.depths))
    return counts.astype(np.float64)
