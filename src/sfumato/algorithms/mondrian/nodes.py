"""Nodes while first cuts are planned, and the tree that they make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sfumato.algorithms.mondrian.decide import NONE, Cut
from sfumato.algorithms.mondrian.tree import ORDERED, Tree
from sfumato.core.arrays import Counts, Flags

LEAF = NONE  # no axis


@dataclass(slots=True)
class Node:
    """A node while cuts are planned: its rows, the axis whose turn is next, its sensitive values,
    and its cut once there is one.
    """

    load: int
    turn: int
    totals: Counts
    axis: int = LEAF
    marks: Flags | None = None
    upto: int = LEAF
    children: tuple[int, int] = (LEAF, LEAF)
    tie: int = LEAF
    word: int = 0

    def cut(self, cut: Cut, children: tuple[int, int]) -> None:
        """Become two nodes."""
        self.axis, self.marks, self.upto, self.tie = cut.axis, cut.marks, cut.upto, cut.tie
        self.word, self.children = cut.word, children


def tree_of(nodes: Sequence[Node]) -> Tree:
    """The cuts of nodes as rows are sent along them."""
    marks = [np.zeros(0, np.bool_) if node.marks is None else node.marks for node in nodes]
    lengths = np.array([len(one) for one in marks], np.int64)
    return Tree(
        axis=np.array([node.axis for node in nodes], np.int32),
        starts=np.where(lengths > 0, np.cumsum(lengths) - lengths, ORDERED),
        children=np.array([node.children for node in nodes], np.int32),
        marks=np.concatenate(marks),
        upto=np.array([node.upto for node in nodes], np.int32),
        tie=np.array([node.tie for node in nodes], np.int32),
        words=np.array([node.word for node in nodes], np.uint64),
    )


def tried_on(nodes: Sequence[Node], cuts: Mapping[int, Cut]) -> tuple[Tree, list[int]]:
    """The tree as it were with some cuts, and the left halves of these."""
    tried, lefts = [*nodes], list[int]()
    for number, cut in cuts.items():
        lefts.append(len(tried))
        tried[number] = replace(nodes[number])
        tried[number].cut(cut, (len(tried), len(tried) + 1))
        tried += [Node(*half) for half in cut.halves]
    return tree_of(tried), lefts
