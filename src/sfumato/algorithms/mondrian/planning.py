"""The cuts of a round: those of all nodes that are too large, from one count of them all.

Step 2 of regions.py. Where equal rows may be divided, an even cut is tried first along each axis.
Under rules about sensitive values nobody knows whether it is safe before the left half has been
counted, so such a round takes three more passes for every axis that is tried.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.algorithms.mondrian.arrays import Axes, CutRules
from sfumato.algorithms.mondrian.bins import Bins
from sfumato.algorithms.mondrian.decide import (
    Cut,
    both_safe,
    cut_along,
    cut_evenly,
    decide,
    order_of,
)
from sfumato.algorithms.mondrian.node_counts import Seen, Sensitive, count_values_in, counts_of
from sfumato.algorithms.mondrian.nodes import Node, tree_of, tried_on
from sfumato.algorithms.mondrian.serving import decide_serving
from sfumato.algorithms.mondrian.ties import Tie, quota_words
from sfumato.algorithms.mondrian.workload_kernel import Asked
from sfumato.core.keyed import Key
from sfumato.engines.base import Engine


@dataclass(frozen=True, slots=True, eq=False)
class Planning:
    """What cuts are decided on, whatever the node.

    ``ties`` where rows may be divided, ``asked`` where there is a workload.
    """

    engine: Engine
    axes: Axes
    cut_rules: CutRules
    sensitive: Sensitive
    ties: Key | None = None
    asked: Asked | None = None

    def cuts(self, nodes: Sequence[Node], numbers: Sequence[int], bins: Bins) -> dict[int, Cut]:
        """The cuts of some nodes, those that cannot be cut left out."""
        counts = counts_of(self.engine, tree_of(nodes), numbers, bins, self.sensitive, self.ties)
        seen_of = dict(zip(numbers, counts, strict=True))
        found = {
            number: cut
            for number, seen in seen_of.items()
            if (cut := self._whole_cut(nodes[number], seen, bins)) is not None
        }
        if self.ties is None:
            return found
        rest = {number: seen for number, seen in seen_of.items() if number not in found}
        return found | self._dealt(nodes, rest, bins, self.ties)

    def _whole_cut(self, node: Node, seen: Seen, bins: Bins) -> Cut | None:
        """A cut that needs no more than counts: one that serves, or one that parts no equals."""
        given = seen, self.axes, bins, self.cut_rules, node.load
        cut = None
        if self.asked is not None:
            cut = decide_serving(*given, node.totals, self.asked)
        if cut is None and self.ties is None:
            cut = decide(*given, node.turn, node.totals)
        return cut

    def _dealt(
        self, nodes: Sequence[Node], seen_of: Mapping[int, Seen], bins: Bins, ties: Key
    ) -> dict[int, Cut]:
        """Even cuts, or along the same axis others, where no even one is safe."""
        found: dict[int, Cut] = {}
        waiting = {
            number: order_of(
                seen, self.axes, bins, self.cut_rules, nodes[number].load, nodes[number].turn
            )
            for number, seen in seen_of.items()
        }
        while waiting := {number: order for number, order in waiting.items() if order}:
            tried = {
                number: cut_evenly(seen_of[number], self.axes, bins, order[0], nodes[number].load)
                for number, order in waiting.items()
            }
            found |= self._safe(nodes, self._worded(nodes, tried, ties))
            for number in tried.keys() - found.keys():
                cut = self._along(nodes[number], seen_of[number], bins, tried[number].axis)
                if cut is not None:
                    found[number] = cut
            waiting = {
                number: order[1:] for number, order in waiting.items() if number not in found
            }
        return found

    def _along(self, node: Node, seen: Seen, bins: Bins, axis: int) -> Cut | None:
        return cut_along(seen, self.axes, bins, self.cut_rules, axis, node.load, node.totals)

    def _worded(self, nodes: Sequence[Node], cuts: Mapping[int, Cut], ties: Key) -> dict[int, Cut]:
        """The same cuts, which know the words of the rows that go left."""
        tied = [Tie(number, cut.axis, cut.tie, cut.quota) for number, cut in cuts.items()]
        words = quota_words(self.engine, tree_of(nodes), tied, ties)
        return {
            number: cut._replace(word=word)
            for (number, cut), word in zip(cuts.items(), words, strict=True)
        }

    def _safe(self, nodes: Sequence[Node], cuts: Mapping[int, Cut]) -> dict[int, Cut]:
        """Those cuts whose halves keep all rules, and what these hold."""
        if not self.cut_rules.sensitive:
            return dict(cuts)
        tree, lefts = tried_on(nodes, cuts)
        counts = self.engine.reduce(count_values_in, np.add, tree, lefts, self.sensitive, self.ties)
        safe = {}
        for (number, cut), left in zip(cuts.items(), counts, strict=True):
            first, second = cut.halves
            right = nodes[number].totals - left
            halves = first._replace(totals=left), second._replace(totals=right)
            if both_safe(self.cut_rules, halves):
                safe[number] = cut._replace(halves=halves)
        return safe
