"""Mondrian's first cuts, from counts alone: how a table larger than memory is divided into regions.

LeFevre, DeWitt, Ramakrishnan: "Multidimensional k-anonymity", section 4.2: a region that does not
fit into memory is cut by its frequency sets, which do. Whether a cut is safe depends on how often
values occur in each half, and such counts of parts of the table add up. So

    while a node holds more rows than fit
      1. count each of its values along every axis, with the sensitive values beside them: one pass
         over the rows for all such nodes
      2. decide: the kernel's own choice of axis and cut, with a point for every value of an axis
    every leaf is a region, to be cut by the kernel from where the node stopped

and by induction the groups are those of the whole table cut at once. A pass costs O(rows * axes),
and there are about log2(rows / rows that fit) of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sfumato.algorithms.mondrian.arrays import Axes, CutRules, PointArrays, Workspace, new_workspace
from sfumato.algorithms.mondrian.kernel import cut_axis
from sfumato.algorithms.mondrian.ranking import find_median, rank_axes, rank_values
from sfumato.algorithms.mondrian.ties import Tie, quota_words
from sfumato.algorithms.mondrian.tree import Tree, locate, tie_words
from sfumato.core.arrays import Codes, Counts, Flags, Whole
from sfumato.core.compiled import kernel
from sfumato.core.keyed import Key
from sfumato.engines.base import Engine
from sfumato.engines.coded import quasi_codes, sensitive_codes
from sfumato.engines.room import Room
from sfumato.errors import OutOfMemory

_LEAF = -1


class Sensitive(NamedTuple):
    """How sensitive values are counted: the place in a histogram of every code of every column.

    ``columns`` are those that some rule is about; a column's places start at ``starts`` in
    ``places``; ``size`` is that of the histogram.
    """

    columns: Counts
    starts: Counts
    places: Codes
    size: int


class NodeCounts(NamedTuple):
    """Per node that was asked about, rows per code, and per code and sensitive value."""

    rows: Counts
    values: Counts


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
    children: tuple[int, int] = (_LEAF, _LEAF)
    tie: int = _LEAF
    word: int = 0


class _Cut(NamedTuple):
    """Which codes of an axis go left, what the halves are; ``quota`` rows of the code ``tie``."""

    axis: int
    marks: Flags
    halves: tuple[_Node, _Node]
    tie: int = _LEAF
    quota: int = 0


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
    each = 8 * int(axes.sizes.sum()) * (1 + sensitive.size)
    if large and each > room.bytes:
        raise OutOfMemory(
            f"counting {int(axes.sizes.sum()):,} values of quasi-identifiers with "
            f"{sensitive.size:,} sensitive ones takes {each:,} bytes at a time, where "
            f"{room.bytes:,} are left for it; allow more memory, or round the values",
            doing="publishing",
        )
    together = max(1, room.bytes // each)
    while large:
        asked, large = large[:together], large[together:]
        counts = engine.reduce(count_nodes, add_counts, _tree(nodes), asked, axes, sensitive, ties)
        cuts: dict[int, _Cut] = {}
        for place, number in enumerate(asked):
            node = nodes[number]
            if ties is None:
                cut = decide(counts, place, axes, cut_rules, node.load, node.turn, node.totals)
            else:
                cut = decide_evenly(counts, place, axes, cut_rules, node.load, node.turn)
            if cut is not None:
                cuts[number] = cut
        words: dict[int, int] = {}
        if ties is not None:
            tied = [Tie(number, cut.axis, cut.tie, cut.quota) for number, cut in cuts.items()]
            words = dict(zip(cuts, quota_words(engine, _tree(nodes), tied, ties), strict=True))
        for number, cut in cuts.items():
            node = nodes[number]
            node.axis, node.marks, node.tie = cut.axis, cut.marks, cut.tie
            node.word = words.get(number, 0)
            node.children = len(nodes), len(nodes) + 1
            nodes += cut.halves
            large += [at for at in node.children if nodes[at].load > room.rows]
    return _leaves(nodes, ties)


def count_nodes(
    part: pa.Table,
    tree: Tree,
    asked: Sequence[int],
    axes: Axes,
    sensitive: Sensitive,
    ties: Key | None,
) -> NodeCounts:
    """The task of a pass: counts of the nodes that are asked about, in one part."""
    codes = quasi_codes(part)
    place = np.full(len(tree.axis), -1, np.int64)
    place[list(asked)] = np.arange(len(asked))
    places = sensitive_codes(part)[:, sensitive.columns]
    for j, start in enumerate(sensitive.starts):
        places[:, j] = sensitive.places[start:][places[:, j]]
    rows = np.zeros((len(asked), int(axes.sizes.sum())), np.int64)
    values = np.zeros((*rows.shape, sensitive.size), np.int64)
    node = locate(codes, tie_words(part, ties), tree)
    count_codes(codes, place[node], axes.offsets, places, rows, values)
    return NodeCounts(rows, values)


def add_counts(one: NodeCounts, other: NodeCounts) -> NodeCounts:
    """The counts of two parts together."""
    one.rows[...] += other.rows
    one.values[...] += other.values
    return one


def decide(
    counts: NodeCounts,
    place: int,
    axes: Axes,
    cut_rules: CutRules,
    load: int,
    turn: int,
    totals: Counts,
) -> _Cut | None:
    """The cut that the kernel makes in a region with these counts: axis, codes on the left,
    halves.
    """
    rows = counts.rows[place]
    present, order, workspace = _worth_cutting(rows, axes, cut_rules, load, turn, len(totals))
    for axis in order:
        arrays = _frequency_set(
            present[axis],
            axis,
            len(present),
            rows[axes.offsets[axis] :],
            counts.values[place, axes.offsets[axis] :],
        )
        middle, left = try_axis(arrays, axes.is_set[axis], axis, cut_rules, load, totals, workspace)
        if middle >= 0:
            marks = np.zeros(int(axes.sizes[axis]), np.bool_)
            marks[arrays.codes[:middle, axis]] = True
            turn = (int(axis) + 1) % len(axes.sizes)
            sides = (left, workspace.left.copy()), (load - left, workspace.right.copy())
            first, second = (_Node(int(size), turn, histogram) for size, histogram in sides)
            return _Cut(int(axis), marks, (first, second))
    return None


def decide_evenly(
    counts: NodeCounts, place: int, axes: Axes, cut_rules: CutRules, load: int, turn: int
) -> _Cut | None:
    """The cut of a region whose rows may be divided at will, under rules about sizes alone."""
    rows = counts.rows[place]
    present, order, workspace = _worth_cutting(rows, axes, cut_rules, load, turn, 0)
    if len(order) == 0:
        return None
    axis = int(order[0])
    nothing = np.zeros((len(rows), 0), np.int64)
    arrays = _frequency_set(present[axis], axis, len(present), rows[axes.offsets[axis] :], nothing)
    median, below = median_of(arrays, axes.is_set[axis], axis, load, workspace)
    marks = np.zeros(int(axes.sizes[axis]), np.bool_)
    marks[workspace.present[:median]] = True
    turn, left = (axis + 1) % len(axes.sizes), (load + 1) // 2
    halves = _Node(left, turn, workspace.left), _Node(load - left, turn, workspace.left)
    return _Cut(axis, marks, halves, int(workspace.present[median]), left - int(below))


def _worth_cutting(
    rows: Counts, axes: Axes, cut_rules: CutRules, load: int, turn: int, n_values: int
) -> tuple[list[Counts], Counts, Workspace]:
    """The codes present on every axis, and the axes in the order to try them: none in a region too
    small to be cut.
    """
    ends = zip(axes.offsets, axes.offsets + axes.sizes, strict=True)
    present = [np.flatnonzero(rows[first:last]) for first, last in ends]
    workspace = new_workspace(max(map(len, present)), axes.sizes, n_values)
    if load < 2 * cut_rules.least:
        return present, np.zeros(0, np.int64), workspace
    return present, order_axes(_padded(present), axes, cut_rules, turn, workspace), workspace


@kernel
def median_of(
    arrays: PointArrays, is_set: bool, axis: Whole, load: int, workspace: Workspace
) -> tuple[Whole, Whole]:
    """Rank the values along an axis; the rank of the median, and how many rows lie below it."""
    rank_values(
        arrays, is_set, np.int64(axis), np.int64(0), np.int64(len(arrays.weights)), workspace
    )
    return find_median(np.int64(load), workspace)


@kernel
def order_axes(
    codes: Codes, axes: Axes, cut_rules: CutRules, turn: int, workspace: Workspace
) -> Counts:
    """The axes worth cutting, in the order to try them."""
    nothing = np.zeros(0, np.int64)
    none = np.zeros(0, np.int32)
    arrays = PointArrays(codes, nothing, none, nothing, none, nothing)
    n_axes = rank_axes(
        arrays, axes, cut_rules, np.int64(0), np.int64(len(codes)), np.int64(turn), workspace
    )
    return workspace.order[:n_axes].copy()


@kernel
def try_axis(
    arrays: PointArrays,
    is_set: bool,
    axis: Whole,
    cut_rules: CutRules,
    load: int,
    totals: Counts,
    workspace: Workspace,
) -> tuple[Whole, Whole]:
    """Cut the points along an axis, as the kernel does with a segment."""
    return cut_axis(
        arrays,
        is_set,
        np.int64(axis),
        cut_rules,
        np.int64(0),
        np.int64(len(arrays.weights)),
        np.int64(load),
        totals,
        workspace,
    )


@kernel
def count_codes(
    codes: Codes, places: Counts, offsets: Counts, values: Codes, rows: Counts, pairs: Counts
) -> None:
    """Add rows to the counts of their nodes; rows of place -1 are in none that is asked about."""
    for i in range(len(codes)):
        place = places[i]
        if place >= 0:
            for j in range(offsets.size):
                at = offsets[j] + codes[i, j]
                rows[place, at] += 1
                for a in range(values.shape[1]):
                    pairs[place, at, values[i, a]] += 1


def _padded(present: Sequence[Counts]) -> Codes:
    """The values present along every axis as a matrix; shorter columns repeat their last one."""
    longest = max(map(len, present))
    return np.stack(
        [np.append(codes, np.full(longest - len(codes), codes[-1])) for codes in present],
        axis=1,
        dtype=np.int32,
    )


def _frequency_set(present: Counts, axis: int, d: int, rows: Counts, values: Counts) -> PointArrays:
    """One point for every value along an axis."""
    codes = np.zeros((len(present), d), np.int32)
    codes[:, axis] = present
    owner, found = np.nonzero(values[present])
    return PointArrays(
        codes,
        rows[present],
        np.arange(len(present), dtype=np.int32),
        np.searchsorted(owner, np.arange(len(present) + 1)).astype(np.int64),
        found.astype(np.int32),
        values[present][owner, found],
    )


def _tree(nodes: Sequence[_Node]) -> Tree:
    marks = [np.zeros(0, np.bool_) if node.marks is None else node.marks for node in nodes]
    lengths = np.array([len(one) for one in marks], np.int64)
    return Tree(
        axis=np.array([node.axis for node in nodes], np.int32),
        starts=np.cumsum(lengths) - lengths,
        children=np.array([node.children for node in nodes], np.int32),
        marks=np.concatenate(marks),
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
