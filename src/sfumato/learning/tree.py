"""A decision tree over lines, whose people may lie on both sides of a cut.

Breiman, Friedman, Olshen, Stone: "Classification and regression trees", 1984, with the fractions of
Quinlan's C4.5: a box that is cut across goes both ways, each with the share of its people that is
expected there. A node is what it leaves of every axis; the weight of a line in it is the product of
the shares of its sides in these bins, so a box counts in a node as COUNT would estimate it.

    grow(node):
      1. expected counts of every bin and value, axis by axis
      2. the cut that gains most information; bins without an order are put into that of their share
         of the node's most frequent value, which is the best there is where values are two
      3. if it gains more than chance would, its halves are nodes

Where values have nothing to do with a cut, twice what it gains (of all people, in nats) is about
chi-square, with one degree of freedom less than there are values; a cut has to gain clearly more,
and to leave some people on both sides. Cost: lines x values of a group x axes for every level.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sfumato.answers.lines import Lines
from sfumato.core.arrays import Codes, Flags, Floats
from sfumato.learning.kernel import add_shares

DEPTH = 16
LEAST = 10.0  # people on each side of a cut
DEVIATIONS = 6.0  # of chi-square above its mean: the best of hundreds of cuts is no accident
_NOTHING = 1e-9  # a weight


class Cut(NamedTuple):
    """The bins of an axis that go left, and what that gains: information of all people."""

    axis: int
    left: Flags
    gain: float


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """Node i cuts ``axes[i]``, or is a leaf (-1); who is in the bins ``left[i]`` goes to node
    ``below[i, 0]``, others to ``below[i, 1]``, and who is in none to ``below[i, usual[i]]``.
    ``chances[i]`` are those of the values.
    """

    axes: Codes
    left: Flags
    below: Codes
    usual: Codes
    chances: Floats

    @classmethod
    def learn(cls, lines: Lines) -> Tree:
        """Grow it from expected counts."""
        return _Growing(lines).grown()

    def log_chances(self, bins: Codes) -> Floats:
        """The logarithm of the chances of values for everybody; ``bins[:, j]`` are of axis j."""
        at = np.zeros(len(bins), np.int32)
        while (inner := np.flatnonzero(self.axes[at] >= 0)).size:
            nodes = at[inner]
            own = bins[inner, self.axes[nodes]]
            side = np.where(own < 0, self.usual[nodes], ~self.left[nodes, np.maximum(own, 0)])
            at[inner] = self.below[nodes, side]
        with np.errstate(divide="ignore"):
            found: Floats = np.log(self.chances)[at]
        return found

    @property
    def leaves(self) -> int:
        """How many there are."""
        return int(np.count_nonzero(self.axes < 0))

    def __str__(self) -> str:
        return f"a tree of {self.leaves:,} leaves"


class _Node(NamedTuple):
    """Its number, how deep it is, the bins of every axis that it has, and who is in it."""

    number: int
    depth: int
    bins: tuple[Flags, ...]
    lines: Codes


class _Growing:
    """The nodes found so far."""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines
        self.widest = max(len(axis.bins) for axis in lines.axes)
        self.axes: list[int] = []
        self.left: list[Flags] = []
        self.below: list[tuple[int, int]] = []
        self.usual: list[int] = []
        self.chances: list[Floats] = []

    def grown(self) -> Tree:
        """All nodes, from the first, which has everybody."""
        everything = tuple(np.ones(len(axis.bins), np.bool_) for axis in self.lines.axes)
        waiting = [self._node(0, everything, np.arange(len(self.lines.weights), dtype=np.int32))]
        while waiting:
            waiting += self._divide(waiting.pop())
        return Tree(
            np.array(self.axes, np.int32), np.array(self.left), np.array(self.below, np.int32),
            np.array(self.usual, np.int32), np.array(self.chances),
        )  # fmt: skip

    def _node(self, depth: int, bins: tuple[Flags, ...], lines: Codes) -> _Node:
        self.axes.append(-1)
        self.left.append(np.zeros(self.widest, np.bool_))
        self.below.append((-1, -1))
        self.usual.append(0)
        self.chances.append(np.zeros(self.lines.n_values))
        return _Node(len(self.axes) - 1, depth, bins, lines)

    def _divide(self, node: _Node) -> list[_Node]:
        """The halves of a node, none if it is a leaf."""
        counts = self._counts(node)
        whole = counts[0].sum(axis=0)
        self.chances[node.number] = whole / max(whole.sum(), _NOTHING)
        cut = best_cut(counts, [axis.ordered for axis in self.lines.axes])
        if cut is None or node.depth == DEPTH or not _pays(cut.gain, whole):
            return []
        size = len(cut.left)
        halves = [self._half(node, cut, side) for side in (cut.left, ~cut.left)]
        self.axes[node.number] = cut.axis
        self.left[node.number][:size] = cut.left
        self.below[node.number] = halves[0].number, halves[1].number
        weights = counts[cut.axis].sum(axis=1)
        self.usual[node.number] = int(2 * weights[cut.left].sum() < weights.sum())
        return halves

    def _half(self, node: _Node, cut: Cut, side: Flags) -> _Node:
        bins = list(node.bins)
        bins[cut.axis] = bins[cut.axis] & side
        reach = self.lines.shares[cut.axis] @ bins[cut.axis] > _NOTHING
        lines = node.lines[reach[self.lines.sides[node.lines, cut.axis]]]
        return self._node(node.depth + 1, tuple(bins), lines)

    def _counts(self, node: _Node) -> list[Floats]:
        """Expected people by bin and value, axis by axis."""
        lines, at = self.lines, node.lines
        inside = [shares @ bins for shares, bins in zip(lines.shares, node.bins, strict=True)]
        parts = [one[lines.sides[at, j]] for j, one in enumerate(inside)]
        weights = lines.weights[at] * np.prod(parts, axis=0)
        return [
            self._by_bin(at, j, weights / np.maximum(part, _NOTHING), node.bins[j])
            for j, part in enumerate(parts)
        ]

    def _by_bin(self, at: Codes, j: int, weights: Floats, bins: Flags) -> Floats:
        """Sides are added up first: there are fewer of them than lines."""
        lines = self.lines
        sides, rows = np.unique(lines.sides[at, j], return_inverse=True)
        sums = np.zeros((len(sides), lines.n_values))
        values = lines.values
        add_shares(
            rows.astype(np.int32), lines.groups[at], weights,
            values.starts, values.values, values.shares, sums,
        )  # fmt: skip
        found: Floats = (lines.shares[j][sides] * bins).T @ sums
        return found


def best_cut(counts: list[Floats], ordered: list[bool]) -> Cut | None:
    """The cut that gains most, of equals the first; ``counts[j][b, v]`` are those of axis j."""
    found = [
        cut
        for axis, (table, line) in enumerate(zip(counts, ordered, strict=True))
        if (cut := _best_along(axis, table, line)) is not None
    ]
    return max(found, key=lambda cut: cut.gain, default=None)


def information(counts: Floats) -> Floats:
    """People times the entropy of their values, in nats, for counts along the last axis."""
    totals = counts.sum(axis=-1)
    found: Floats = _n_log_n(totals) - _n_log_n(counts).sum(axis=-1)
    return found


def _best_along(axis: int, table: Floats, ordered: bool) -> Cut | None:
    weights = table.sum(axis=1)
    there = np.flatnonzero(weights > _NOTHING)
    if len(there) < 2:
        return None
    if not ordered:
        usual = int(table.sum(axis=0).argmax())
        there = there[np.argsort(-table[there, usual] / weights[there], kind="stable")]
    lefts = np.cumsum(table[there], axis=0)[:-1]
    whole = table.sum(axis=0)
    rights = np.maximum(whole - lefts, 0.0)
    gains = information(whole) - information(lefts) - information(rights)
    upto = lefts.sum(axis=1)
    gains[(upto < LEAST) | (whole.sum() - upto < LEAST)] = -1.0
    best = int(gains.argmax())
    left = np.zeros(len(table), np.bool_)
    left[there[: best + 1]] = True
    return Cut(axis, left, float(gains[best]))


def _pays(gain: float, whole: Floats) -> bool:
    freedom = int(np.count_nonzero(whole > _NOTHING)) - 1
    return 2 * gain > freedom + DEVIATIONS * math.sqrt(2 * freedom)


def _n_log_n(counts: Floats) -> Floats:
    found: Floats = counts * np.log(np.where(counts > 0, counts, 1.0))
    return found
