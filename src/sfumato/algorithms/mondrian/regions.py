"""Mondrian's first cuts, from counts alone: how a table larger than memory is divided into regions.

LeFevre, DeWitt, Ramakrishnan: "Multidimensional k-anonymity", section 4.2: a region that does not
fit into memory is cut by its frequency sets, which do. Whether a cut is safe depends on how often
values occur in each half, and such counts of parts of the table add up. So

    while a node holds more rows than fit
      1. count each of its values along every axis, with the sensitive values beside them: one pass
         over the rows for all such nodes (node_counts.py)
      2. decide: the kernel's own choice of axis and cut, with a point for every value of an axis
         (decide.py)
    every leaf is a region, to be cut by the kernel from where the node stopped

By induction the groups are those of the whole table cut at once. A pass costs O(rows * axes), and
there are about log2(rows / rows that fit) of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sfumato.algorithms.mondrian.arrays import Axes, CutRules
from sfumato.algorithms.mondrian.bins import Bins, binned, every_value
from sfumato.algorithms.mondrian.decide import NONE, Cut, decide, decide_evenly
from sfumato.algorithms.mondrian.node_counts import Sensitive, counts_of
from sfumato.algorithms.mondrian.ties import Tie, quota_words
from sfumato.algorithms.mondrian.tree import ORDERED, Tree, locate, tie_words
from sfumato.core.arrays import Codes, Counts, Flags
from sfumato.core.keyed import Key
from sfumato.engines.base import Engine
from sfumato.engines.coded import quasi_codes
from sfumato.engines.room import Room
from sfumato.errors import OutOfMemory

_LEAF = NONE  # no axis


@dataclass(frozen=True, slots=True, eq=False)
class Regions:
    """The leaves of the first cuts: which rows belong to each, and where the kernel goes on.

    ``loads`` are the rows of each region, ``turns`` the axis to start with when axes take turns.
    """

    tree: Tree
    region_of_node: Codes
    loads: Counts
    turns: Counts
    ties: Key | None

    def of_rows(self, part: pa.Table) -> Codes:
        """The region of every row of a coded part."""
        found = locate(quasi_codes(part), tie_words(part, self.ties), self.tree)
        regions: Codes = self.region_of_node[found]
        return regions


@dataclass(slots=True)
class _Node:
    load: int
    turn: int
    totals: Counts
    axis: int = _LEAF
    marks: Flags | None = None
    upto: int = _LEAF
    children: tuple[int, int] = (_LEAF, _LEAF)
    tie: int = _LEAF
    word: int = 0


def plan_regions(
    engine: Engine,
    axes: Axes,
    cut_rules: CutRules,
    sensitive: Sensitive,
    whole: Counts,
    n_rows: int,
    room: Room,
    ties: Key | None = None,
) -> Regions:
    """Cut until every region fits, or cannot be cut at all; ``ties`` where rows may be divided."""
    nodes = [_Node(n_rows, 0, whole)]
    large = [0] if n_rows > room.rows else []
    bins = _bins(axes, sensitive, room) if large else every_value(axes)
    together = max(1, room.bytes // _bytes(bins, sensitive))
    while large:
        asked, large = large[:together], large[together:]
        counts = counts_of(engine, _tree(nodes), asked, bins, sensitive, ties)
        cuts: dict[int, Cut] = {}
        for number, seen in zip(asked, counts, strict=True):
            node = nodes[number]
            if ties is None:
                cut = decide(seen, axes, bins, cut_rules, node.load, node.turn, node.totals)
            else:
                cut = decide_evenly(seen, axes, bins, cut_rules, node.load, node.turn)
            if cut is not None:
                cuts[number] = cut
        words: dict[int, int] = {}
        if ties is not None:
            tied = [Tie(number, cut.axis, cut.tie, cut.quota) for number, cut in cuts.items()]
            words = dict(zip(cuts, quota_words(engine, _tree(nodes), tied, ties), strict=True))
        for number, cut in cuts.items():
            node = nodes[number]
            node.axis, node.marks, node.upto, node.tie = cut.axis, cut.marks, cut.upto, cut.tie
            node.word = words.get(number, 0)
            node.children = len(nodes), len(nodes) + 1
            nodes += [_Node(*half) for half in cut.halves]
            large += [at for at in node.children if nodes[at].load > room.rows]
    return _leaves(nodes, ties)


def _bins(axes: Axes, sensitive: Sensitive, room: Room) -> Bins:
    """A slot for every value if there is room for them, or bins."""
    whole = every_value(axes)
    if _bytes(whole, sensitive) <= room.bytes:
        return whole
    fewer = binned(axes)
    if (taken := _bytes(fewer, sensitive)) > room.bytes:
        raise _too_many(fewer, sensitive, taken, room.bytes)
    return fewer


def _bytes(bins: Bins, sensitive: Sensitive) -> int:
    return 8 * bins.n_slots * (1 + sensitive.size)


def _too_many(bins: Bins, sensitive: Sensitive, taken: int, left: int) -> OutOfMemory:
    return OutOfMemory(
        f"counting {bins.n_slots:,} values of quasi-identifiers with {sensitive.size:,} sensitive "
        f"ones takes {taken:,} bytes at a time, where {left:,} are left for it; allow more memory, "
        "or round the values",
        doing="publishing",
    )


def _tree(nodes: Sequence[_Node]) -> Tree:
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


def _leaves(nodes: Sequence[_Node], ties: Key | None) -> Regions:
    leaves = [number for number, node in enumerate(nodes) if node.axis == _LEAF]
    region_of_node = np.full(len(nodes), -1, np.int32)
    region_of_node[leaves] = np.arange(len(leaves))
    return Regions(
        _tree(nodes),
        region_of_node,
        np.array([nodes[leaf].load for leaf in leaves], np.int64),
        np.array([nodes[leaf].turn for leaf in leaves], np.int64),
        ties,
    )
