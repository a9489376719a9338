"""Verdicts about level vectors, each from the smallest frequency set at hand.

A level vector names one level per attribute. Whatever is finer on every attribute can be rolled up
to it, and coarse sets are small, so some of those met on the way are kept.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from sfumato.algorithms.recoding.base import Recoding
from sfumato.algorithms.recoding.frequency_sets import FrequencySet, recoded_groups
from sfumato.algorithms.recoding.judge import Judge, Verdict
from sfumato.core.arrays import Codes, Floats

Levels: TypeAlias = tuple[int, ...]
_SHELF = 256  # sets; looking through more takes longer than they save
_TIMES = 8  # the vectors of all sets that are kept, in numbers of different vectors


class LevelJudge:
    """Looks at level vectors and counts how many it has looked at.

    With ``qids`` (places of attributes) the requirements are asked of each of them alone, all other
    attributes being unknown to whoever links by it.
    """

    def __init__(
        self,
        ladders: Sequence[tuple[Recoding, ...]],
        exact: FrequencySet,
        judge: Judge,
        qids: Sequence[Sequence[int]] = (),
    ) -> None:
        self.ladders = ladders
        self.judge = judge
        self.top: Levels = tuple(len(ladder) - 1 for ladder in ladders)
        self.visited = 0
        self._qids = [np.isin(np.arange(len(ladders)), qid) for qid in qids]
        self._shelf = [exact]
        self._shelved: Codes = np.zeros((1, len(ladders)), np.int32)
        self._marginals = [
            np.bincount(exact.codes[:, j], weights=exact.weights, minlength=len(ladder[0].classes))
            for j, ladder in enumerate(ladders)
        ]

    def verdict(self, levels: Levels) -> Verdict:
        """Look at one level vector."""
        self.visited += 1
        if self._qids:
            return self._separately(levels)
        return self._verdict(levels)

    def groups(self, levels: Levels) -> FrequencySet:
        """The groups at these levels; the set is kept if it is much smaller than its source."""
        source = self._source(levels)
        return self._merged(levels, source, *recoded_groups(source.codes, self.recodings(levels)))

    def _verdict(self, levels: Levels) -> Verdict:
        """The verdict by sizes alone where they say no: most level vectors end here."""
        source, recodings = self._source(levels), self.recodings(levels)
        groups, first = recoded_groups(source.codes, recodings)
        adds_up = self.judge.cost == "ncp"  # then what a doomed vector shows tells nothing new
        if adds_up and self.judge.too_small(source.sizes(groups)):
            if 2 * len(first) <= len(source):
                self._merged(levels, source, groups, first)
            return Verdict.no()
        return self.judge.verdict(self._merged(levels, source, groups, first), recodings)

    def _merged(
        self, levels: Levels, source: FrequencySet, groups: Codes, first: Codes
    ) -> FrequencySet:
        found = source.merged(groups, first)
        if 2 * len(found) <= len(source):
            self._keep(levels, found)
        return found

    def recodings(self, levels: Levels) -> tuple[Recoding, ...]:
        """What becomes of each attribute's values."""
        return tuple(ladder[level] for ladder, level in zip(self.ladders, levels, strict=True))

    def level_costs(self) -> list[Floats]:
        """Per attribute and level, the mean penalty of its cells when no row is left out."""
        share = 1 / (self.judge.n_rows * len(self.ladders))
        return [
            np.array([share * (level.penalties @ counts) for level in ladder])
            for ladder, counts in zip(self.ladders, self._marginals, strict=True)
        ]

    def _separately(self, levels: Levels) -> Verdict:
        """The verdict of several who know the attributes of one QID each."""
        parts = []
        for qid in self._qids:
            known = tuple(np.where(qid, levels, self.top).tolist())
            parts.append(self._verdict(known))
        if any(part.doomed for part in parts):
            return Verdict.no()
        base = self.judge.base(self.groups(levels), self.recodings(levels))
        return Verdict(base, base, 0.0, allowed=all(part.allowed for part in parts))

    def _source(self, levels: Levels) -> FrequencySet:
        finer = np.flatnonzero((self._shelved <= np.array(levels, np.int32)).all(axis=1))
        return min((self._shelf[at] for at in finer), key=len)

    def _keep(self, levels: Levels, found: FrequencySet) -> None:
        most = _TIMES * len(self._shelf[0]) - len(found)
        while len(self._shelf) == _SHELF or sum(map(len, self._shelf)) > most:
            # the exact one stays: everything can be computed from it
            del self._shelf[1]
            self._shelved = np.delete(self._shelved, 1, axis=0)
        self._shelf.append(found)
        self._shelved = np.vstack([self._shelved, np.array(levels, np.int32)])


def size_of(top: Levels) -> int:
    """How many level vectors there are up to this one."""
    return math.prod(level + 1 for level in top)
