"""Mondrian's first cuts, from counts alone: how a table larger than memory is divided into regions.

LeFevre, DeWitt, Ramakrishnan: "Multidimensional k-anonymity", section 4.2: a region that does not
fit into memory is cut by its frequency sets, which do. Whether a cut is safe depends on how often
values occur in each half, and such counts of parts of the table add up. So

    while a node holds more rows than fit
      1. count each of its values along every axis, with the sensitive values beside them: one pass
         over the rows for all such nodes
      2. decide: the kernel's own choice of axis and cut, with a point for every value of an axis
    every leaf is a region, to be cut by the kernel from where the node stopped

Where an axis has too many values to be counted one by one, step 1 takes two passes (bins.py). By
induction the groups are those of the whole table cut at once. A pass costs O(rows * axes), and
there are about log2(rows / rows that fit) of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sfumato.algorithms.mondrian.arrays import Axes, CutRules, PointArrays, Workspace, new_workspace
from sfumato.algorithms.mondrian.bins import (
    NO_BIN,
    Bins,
    binned,
    every_value,
    median_bins,
    put_into_slots,
)
from sfumato.algorithms.mondrian.kernel import cut_axis
from sfumato.algorithms.mondrian.ranking import find_median, rank_axes, rank_values
from sfumato.algorithms.mondrian.ties import Tie, quota_words
from sfumato.algorithms.mondrian.tree import ORDERED, Tree, locate, tie_words
from sfumato.core.arrays import Codes, Counts, Flags, Ints, Whole
from sfumato.core.compiled import kernel
from sfumato.core.keyed import Key
from sfumato.engines.base import Engine
from sfumato.engines.coded import quasi_codes, sensitive_codes
from sfumato.engines.room import Room
from sfumato.errors import OutOfMemory

_LEAF = -1
_BEYOND = np.int32(2**31 - 1)


class Sensitive(NamedTuple):
    """How sensitive values are counted: the place in a histogram of every code of every column.

    ``columns`` are those that some rule is about; a column's places start at ``starts`` in
    ``places``; ``size`` is that of the histogram.
    """

    columns: Counts
    starts: Counts
    places: Codes
    size: int


_NOTHING = Sensitive(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int32), 0)


class NodeCounts(NamedTuple):
    """Per node that was asked about, rows per slot, and per slot and sensitive value; the first and
    last codes along binned axes.
    """

    rows: Counts
    values: Counts
    ends: Codes


class Seen(NamedTuple):
    """The counts of one node, and the bin of each axis that was counted by values."""

    rows: Counts
    values: Counts
    ends: Codes
    medians: Counts


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


class _Cut(NamedTuple):
    """Which codes of an axis go left: those that are marked, or all ``upto`` one; what the halves
    are; ``quota`` rows of the code ``tie``.
    """

    axis: int
    marks: Flags | None
    upto: int
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
    bins = _bins(axes, sensitive, room) if large else every_value(axes)
    together = max(1, room.bytes // _bytes(bins, sensitive))
    while large:
        asked, large = large[:together], large[together:]
        counts = _counts(engine, _tree(nodes), asked, bins, sensitive, ties)
        cuts: dict[int, _Cut] = {}
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
            nodes += cut.halves
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


def _counts(
    engine: Engine,
    tree: Tree,
    asked: Sequence[int],
    bins: Bins,
    sensitive: Sensitive,
    ties: Key | None,
) -> list[Seen]:
    """What is counted of each node that is asked about."""
    medians = np.full((len(asked), len(bins.width)), NO_BIN, np.int64)
    if bins.binned.any():
        found = engine.reduce(count_nodes, add_counts, tree, asked, bins, medians, _NOTHING, ties)
        medians = np.stack([median_bins(rows, bins) for rows in found.rows])
    counts = engine.reduce(count_nodes, add_counts, tree, asked, bins, medians, sensitive, ties)
    return [Seen(*one) for one in zip(*counts, medians, strict=True)]


def count_nodes(
    part: pa.Table,
    tree: Tree,
    asked: Sequence[int],
    bins: Bins,
    medians: Counts,
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
    rows = np.zeros((len(asked), bins.n_slots), np.int64)
    values = np.zeros((*rows.shape, sensitive.size), np.int64)
    ends = np.empty((*medians.shape, 2), np.int32)
    ends[..., 0], ends[..., 1] = _BEYOND, -1
    asked_of = place[locate(codes, tie_words(part, ties), tree)]
    if bins.binned.any():
        put_into_slots(codes, asked_of, bins.width, bins.n_bins, medians, ends)
    count_codes(codes, asked_of, bins.offsets[:-1], places, rows, values)
    return NodeCounts(rows, values, ends)


def add_counts(one: NodeCounts, other: NodeCounts) -> NodeCounts:
    """The counts of two parts together."""
    one.rows[...] += other.rows
    one.values[...] += other.values
    np.minimum(one.ends[..., 0], other.ends[..., 0], out=one.ends[..., 0])
    np.maximum(one.ends[..., 1], other.ends[..., 1], out=one.ends[..., 1])
    return one


class _Values(NamedTuple):
    """The slots of an axis in which a node has rows, ascending, as points of a frequency set.

    Along the axis a point has its place among them; ``last`` is the last code that it stands for.
    """

    last: Counts
    arrays: PointArrays

    @classmethod
    def of(cls, seen: Seen, bins: Bins, axis: int) -> _Values:
        slots = bins.slots(axis)
        rows, values = seen.rows[slots], seen.values[slots]
        last = bins.last_codes(axis, int(seen.medians[axis]))
        present = np.flatnonzero(rows)
        present = present[np.argsort(last[present])]
        arrays = _frequency_set(axis, len(bins.width), rows[present], values[present])
        return cls(last[present], arrays)

    def cut(self, axis: int, left: Ints, axes: Axes) -> tuple[Flags | None, int]:
        """Which codes go left, if these points do: marks of a set, or the last one."""
        codes = self.last[left]
        if not axes.is_set[axis]:
            return None, int(codes.max(initial=_LEAF))
        marks = np.zeros(int(axes.sizes[axis]), np.bool_)
        marks[codes] = True
        return marks, _LEAF


def decide(
    seen: Seen,
    axes: Axes,
    bins: Bins,
    cut_rules: CutRules,
    load: int,
    turn: int,
    totals: Counts,
) -> _Cut | None:
    """The cut that the kernel makes in a region with these counts: axis, codes on the left,
    halves.
    """
    if load < 2 * cut_rules.least:
        return None
    for axis in _order(seen, axes, bins, cut_rules, turn):
        values = _Values.of(seen, bins, axis)
        workspace = _workspace(values, axis, len(axes.sizes), len(totals))
        known = bins.all_known(axis, seen.ends[axis], int(seen.medians[axis]))
        rules = cut_rules._replace(all_cuts=cut_rules.all_cuts and known)
        middle, left = try_axis(
            values.arrays, axes.is_set[axis], axis, rules, load, totals, workspace
        )
        if middle >= 0:
            marks, upto = values.cut(axis, values.arrays.codes[:middle, axis], axes)
            turn = (axis + 1) % len(axes.sizes)
            sides = (left, workspace.left.copy()), (load - left, workspace.right.copy())
            first, second = (_Node(int(size), turn, histogram) for size, histogram in sides)
            return _Cut(axis, marks, upto, (first, second))
        if cut_rules.sensitive and rules.all_cuts != cut_rules.all_cuts:
            raise OutOfMemory(
                f"no cut at the median of {int(axes.sizes[axis]):,} values is safe, and to look at "
                f"all others takes {8 * int(axes.sizes[axis]) * (1 + len(totals)):,} bytes for "
                'counts; allow eight times as much memory, use cuts="median", or round the values',
                doing="publishing",
            )
    return None


def decide_evenly(
    seen: Seen, axes: Axes, bins: Bins, cut_rules: CutRules, load: int, turn: int
) -> _Cut | None:
    """The cut of a region whose rows may be divided at will, under rules about sizes alone."""
    if load < 2 * cut_rules.least:
        return None
    axis = _order(seen, axes, bins, cut_rules, turn)[0]
    values = _Values.of(seen, bins, axis)
    workspace = _workspace(values, axis, len(axes.sizes), 0)
    median, below = median_of(values.arrays, axes.is_set[axis], axis, load, workspace)
    marks, upto = values.cut(axis, workspace.present[:median], axes)
    turn, left = (axis + 1) % len(axes.sizes), (load + 1) // 2
    halves = _Node(left, turn, workspace.left), _Node(load - left, turn, workspace.left)
    tie = int(values.last[workspace.present[median]])
    return _Cut(axis, marks, upto, halves, tie, left - int(below))


def _order(seen: Seen, axes: Axes, bins: Bins, cut_rules: CutRules, turn: int) -> list[int]:
    """The axes worth cutting, in the order to try them."""
    present = [
        seen.ends[axis] if bins.width[axis] > 1 else np.flatnonzero(seen.rows[bins.slots(axis)])
        for axis in range(len(bins.width))
    ]
    # of ordered axes nothing but the ends counts, of sets every value
    stamped = np.where(axes.is_set, axes.sizes, 1)
    workspace = new_workspace(max(map(len, present)), stamped, 0)
    found: list[int] = order_axes(_padded(present), axes, cut_rules, turn, workspace).tolist()
    return found


def _workspace(values: _Values, axis: int, d: int, n_values: int) -> Workspace:
    n = len(values.last)
    workspace = new_workspace(n, np.full(d, n), n_values)
    workspace.bounds[axis] = 0, n - 1
    return workspace


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


def _frequency_set(axis: int, d: int, rows: Counts, values: Counts) -> PointArrays:
    """One point for every value along an axis."""
    n = len(rows)
    codes = np.zeros((n, d), np.int32)
    codes[:, axis] = np.arange(n)
    owner, found = np.nonzero(values)
    return PointArrays(
        codes,
        rows,
        np.arange(n, dtype=np.int32),
        np.searchsorted(owner, np.arange(n + 1)).astype(np.int64),
        found.astype(np.int32),
        values[owner, found],
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
