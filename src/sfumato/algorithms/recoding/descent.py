"""Making cuts finer step by step, the most telling one first, as long as the model is kept.

What a step wins depends on its node alone. So every node keeps its steps with what they win, and
only the node that a step changes, and what comes out of it, is looked at again.

A step divides the groups that are there: the groups of the finer cuts come from those of the cuts
so far and one attribute's new classes, however many attributes there are. Where no row may be left
out, most steps fail because a group gets too small, which one pass over that attribute shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import NamedTuple

import numpy as np

from sfumato.algorithms.base import Progress
from sfumato.algorithms.deadline import Deadline, OutOfTime
from sfumato.algorithms.recoding.base import Recoding
from sfumato.algorithms.recoding.cuts import Cut, Options, Scheme, open_nodes
from sfumato.algorithms.recoding.frequency_sets import FrequencySet, recoded_groups
from sfumato.algorithms.recoding.judge import Judge
from sfumato.algorithms.recoding.kernel import leaves_too_few
from sfumato.core._kernels import number_rows
from sfumato.core.arrays import Codes, Flags, Floats

_ROUNDING = 1e-12  # a step that tells nothing more must not seem to tell less


class _Step(NamedTuple):
    """A step of a node of attribute j; in the order in which steps are tried."""

    loss: float  # the certainty that it would win, negative
    j: int
    node: int
    name: int


@dataclass(frozen=True, slots=True, eq=False)
class End:
    """Cuts, their cost, how many steps were tried, and whether no single step makes them better."""

    cuts: tuple[Cut, ...]
    recodings: tuple[Recoding, ...]
    cost: float
    visited: int
    finished: bool


def descended(
    start: Sequence[Cut],
    scheme: Scheme,
    exact: FrequencySet,
    judge: Judge,
    hear: Progress,
    deadline: Deadline,
) -> End:
    """Take steps from cuts that keep the model until none is left; ``hear`` is told the share."""
    return _Descent(start, scheme, exact, judge, deadline).end(hear)


class _Descent:
    """The cuts on the way down, with the steps that could be taken next."""

    def __init__(
        self,
        start: Sequence[Cut],
        scheme: Scheme,
        exact: FrequencySet,
        judge: Judge,
        deadline: Deadline,
    ) -> None:
        self._scheme, self._exact, self._judge, self._deadline = scheme, exact, judge, deadline
        self._columns = np.ascontiguousarray(exact.codes.T)
        self._counts = [_counts(exact, j, cut) for j, cut in enumerate(start)]
        self._cuts = list(start)
        self._recodings = [scheme.recoding(cut) for cut in start]
        self._groups, first = recoded_groups(exact.codes, self._recodings)
        self._sizes = exact.sizes(self._groups)
        self._cost = judge.verdict(exact.merged(self._groups, first), self._recodings).cost
        self._refused: set[tuple[int, int, int]] = set()
        self._visited = 1

    def end(self, hear: Progress) -> End:
        """Take steps, and try those again that were refused where that can help."""
        finished = True
        try:
            while self._round(hear) and not self._judge.strict:
                self._refused.clear()
        except OutOfTime:
            finished = False
        return End(tuple(self._cuts), tuple(self._recodings), self._cost, self._visited, finished)

    def _round(self, hear: Progress) -> bool:
        """Try every step once, the best first; tell if one was taken."""
        taken = False
        offers = _Offers(self._scheme, self._cuts, self._counts, self._refused)
        while (step := offers.best()) is not None:
            self._deadline.check()
            if self._takes(step):
                taken = True
                offers.changed(step, self._cuts[step.j])
            else:
                self._refused.add(step[1:])
                offers.refused(step)
            hear(min(1.0, max(0.0, 1 - self._cost)))
        return taken

    def _takes(self, step: _Step) -> bool:
        """Take a step if the groups bear it and it does not cost more rows than it is worth."""
        self._visited += 1
        j, before = step.j, self._cuts[step.j]
        codes = self._scheme.taken(before, step.node, step.name)
        if self._judge.strict and self._leaves_too_few(j, codes):
            return False
        cut = before.deeper(codes)
        finer = [*self._recodings]
        finer[j] = self._scheme.recoding(cut)
        groups, first = self._divided(j, finer[j])
        sizes = self._exact.sizes(groups)
        if self._judge.too_small(sizes):
            return False
        verdict = self._judge.verdict(self._exact.merged(groups, first), finer)
        if not verdict.allowed or verdict.cost > self._cost + _ROUNDING:
            return False
        self._cuts[j], self._recodings, self._cost = cut, finer, verdict.cost
        self._groups, self._sizes = groups, sizes
        return True

    def _leaves_too_few(self, j: int, codes: Flags) -> bool:
        """Whether the rows with these codes are too few in a group, or those that stay there.

        The step may divide them further, which only makes groups smaller.
        """
        return bool(
            leaves_too_few(
                self._groups, self._sizes, self._columns[j], self._exact.weights, codes,
                self._judge.least,
            )
        )  # fmt: skip

    def _divided(self, j: int, recoding: Recoding) -> tuple[Codes, Codes]:
        """The groups of every vector when attribute j is recoded so, and their first vectors."""
        both = np.stack([self._groups, recoding.classes[self._columns[j]]], axis=1)
        sizes = np.array([len(self._sizes), recoding.n_classes], np.int64)
        groups, first, _ = number_rows(both, sizes)
        return groups, first


class _Offers:
    """The steps of all nodes that were not refused, the best one first.

    The heap holds the best step of every node; those that are out of date are passed over.
    """

    def __init__(
        self,
        scheme: Scheme,
        cuts: Sequence[Cut],
        counts: Sequence[Floats],
        refused: set[tuple[int, int, int]],
    ) -> None:
        self._scheme, self._counts, self._refused = scheme, counts, refused
        self._options: dict[tuple[int, int], Options] = {}
        self._heap: list[_Step] = []
        for j, cut in enumerate(cuts):
            for node in open_nodes(cut, counts[j]).tolist():
                self._look(j, node, cut)
        heapify(self._heap)

    def best(self) -> _Step | None:
        """The step that wins most; of equal ones, the one of the first attribute and node."""
        while self._heap:
            step = self._heap[0]
            if step == self._first_of(step.j, step.node):
                return step
            heappop(self._heap)
        return None

    def changed(self, step: _Step, cut: Cut) -> None:
        """Look again at the node, and at those that came out of it."""
        heappop(self._heap)
        del self._options[step.j, step.node]
        for node in open_nodes(cut, self._counts[step.j]).tolist():
            if (step.j, node) not in self._options:
                self._look(step.j, node, cut)

    def refused(self, step: _Step) -> None:
        """Leave out a step that was refused."""
        heappop(self._heap)
        options = self._options[step.j, step.node]
        keep = options.names != step.name
        self._options[step.j, step.node] = Options(options.names[keep], options.gains[keep])
        self._push(step.j, step.node)

    def _look(self, j: int, node: int, cut: Cut) -> None:
        options = self._scheme.options(cut, node, self._counts[j])
        keep = np.array([(j, node, name) not in self._refused for name in options.names.tolist()])
        self._options[j, node] = Options(options.names[keep], options.gains[keep])
        self._push(j, node)

    def _push(self, j: int, node: int) -> None:
        step = self._first_of(j, node)
        if step is not None:
            heappush(self._heap, step)

    def _first_of(self, j: int, node: int) -> _Step | None:
        """The best step of a node."""
        options = self._options.get((j, node))
        if options is None or not len(options.names):
            return None
        at = int(options.gains.argmax())
        return _Step(-float(options.gains[at]), j, node, int(options.names[at]))


def _counts(exact: FrequencySet, j: int, cut: Cut) -> Floats:
    """How many rows have each code of attribute j."""
    counts = np.bincount(exact.codes[:, j], weights=exact.weights, minlength=len(cut.depths))
    return counts.astype(np.float64)
