"""Mondrian's first cuts, from counts alone: how a table larger than memory is divided into regions.

LeFevre, DeWitt, Ramakrishnan: "Multidimensional k-anonymity", section 4.2: a region that does not
fit into memory is cut by its frequency sets, which do. Whether a cut is safe depends on how often
values occur in each half, and such counts of parts of the table add up. So

    while a node holds more rows than fit
      1. count each of its values along every axis, with the sensitive values beside them: one pass
         over the rows for all such nodes (node_counts.py)
      2. decide: the kernel's own choice of axis and cut, with a point for every value of an axis
         (planning.py, decide.py)
    every leaf is a region, to be cut by the kernel from where the node stopped

By induction the groups are those of the whole table cut at once. A pass costs O(rows * axes), and
there are about log2(rows / rows that fit) of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sfumato.algorithms.mondrian.arrays import Axes
from sfumato.algorithms.mondrian.bins import Bins, binned, every_value
from sfumato.algorithms.mondrian.node_counts import Sensitive
from sfumato.algorithms.mondrian.nodes import LEAF, Node, tree_of
from sfumato.algorithms.mondrian.planning import Planning
from sfumato.algorithms.mondrian.tree import Tree, locate, tie_words
from sfumato.core.arrays import Codes, Counts
from sfumato.core.keyed import Key
from sfumato.engines.coded import quasi_codes
from sfumato.engines.room import Room
from sfumato.errors import OutOfMemory


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


def plan_regions(planning: Planning, whole: Counts, n_rows: int, room: Room) -> Regions:
    """Cut until every region fits, or cannot be cut at all; ``whole`` are the sensitive values."""
    nodes = [Node(n_rows, 0, whole)]
    large = [0] if n_rows > room.rows else []
    axes, sensitive = planning.axes, planning.sensitive
    bins = every_value(axes)
    if large:
        bins = _bins(axes, sensitive, room, planning.asked is not None)
    together = max(1, room.bytes // _bytes(bins, sensitive))
    while large:
        numbers, large = large[:together], large[together:]
        for number, cut in planning.cuts(nodes, numbers, bins).items():
            children = len(nodes), len(nodes) + 1
            nodes[number].cut(cut, children)
            nodes += [Node(*half) for half in cut.halves]
            large += [at for at in children if nodes[at].load > room.rows]
    return _leaves(nodes, planning.ties)


def _bins(axes: Axes, sensitive: Sensitive, room: Room, exact: bool) -> Bins:
    """A slot for every value if there is room for them, or bins, unless it has to be ``exact``."""
    whole = every_value(axes)
    if _bytes(whole, sensitive) <= room.bytes:
        return whole
    fewer = whole if exact else binned(axes)
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


def _leaves(nodes: Sequence[Node], ties: Key | None) -> Regions:
    leaves = [number for number, node in enumerate(nodes) if node.axis == LEAF]
    region_of_node = np.full(len(nodes), -1, np.int32)
    region_of_node[leaves] = np.arange(len(leaves))
    return Regions(
        tree_of(nodes),
        region_of_node,
        np.array([nodes[leaf].load for leaf in leaves], np.int64),
        np.array([nodes[leaf].turn for leaf in leaves], np.int64),
        ties,
    )
