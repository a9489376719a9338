"""Cuts through trees: which node stands for each value, and how a cut is made finer by a step.

A cut begins at the root. Under subtree generalization a step replaces a node by all its children;
under sibling generalization it takes out one child, and the node goes on standing for those that
are left. A missing value counts as one more child of the root; values without a taxonomy are
children of the root, too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from sfumato.algorithms.recoding.base import Recoding, flat, labelled, numbered, top_level
from sfumato.core.arrays import Codes, Flags, Floats
from sfumato.core.attribute import Attribute
from sfumato.core.boxes import ValueSets
from sfumato.core.taxonomy import Taxonomy


@dataclass(frozen=True, slots=True, eq=False)
class Cut:
    """``paths[d, c]`` is the node d steps down from the root to code c; a leaf ends a path.

    ``depths[c]`` says how far down its path code c is shown.
    """

    attribute: Attribute
    paths: Codes
    depths: Codes

    @classmethod
    def at_root(cls, attribute: Attribute) -> Cut:
        """Nothing is told yet."""
        if attribute.taxonomy is None:
            leaves = np.arange(1, attribute.size + 1, dtype=np.int32)
            paths = np.stack([np.zeros_like(leaves), leaves])
        else:
            paths = _paths(attribute.taxonomy)
            if attribute.has_missing:
                apart = np.full((len(paths), 1), len(attribute.taxonomy.labels), np.int32)
                apart[0] = 0
                paths = np.hstack([paths, apart])
        return cls(attribute, paths, np.zeros(attribute.size, np.int32))

    @classmethod
    def at_level(cls, attribute: Attribute, level: int) -> Cut:
        """The cut that shows the nodes of one level."""
        root = cls.at_root(attribute)
        if level == top_level(attribute):
            return root
        nodes = root.paths[-1].copy()
        if attribute.taxonomy is not None:
            nodes[: attribute.missing_code] = attribute.taxonomy.at_level(level)
        depths = (root.paths == nodes).argmax(axis=0).astype(np.int32)
        return replace(root, depths=depths)

    @property
    def shown(self) -> Codes:
        """The node that stands for each code."""
        return self._nodes(self.depths)

    @property
    def below(self) -> Codes:
        """The next node on each code's path, or the same one when it is the last."""
        return self._nodes(np.minimum(self.depths + 1, len(self.paths) - 1))

    def deeper(self, codes: Flags) -> Cut:
        """The cut with some codes shown one step further down."""
        depths = np.minimum(self.depths + codes, len(self.paths) - 1).astype(np.int32)
        return replace(self, depths=depths)

    def _nodes(self, depths: Codes) -> Codes:
        return self.paths[depths, np.arange(len(depths))]


class Options(NamedTuple):
    """The steps that a node offers, the best of which comes first among equals.

    ``gains[i]`` is the certainty that step ``names[i]`` wins, times the number of rows.
    """

    names: Codes
    gains: Floats


class Scheme(NamedTuple):
    """How cuts become finer, and what is shown of them.

    ``options`` tells the steps of one node, given how many rows have each code; ``taken`` the codes
    that a step shows one step further down.
    """

    options: Callable[[Cut, int, Floats], Options]
    taken: Callable[[Cut, int, int], Flags]
    recoding: Callable[[Cut], Recoding]


def open_nodes(cut: Cut, counts: Floats) -> Codes:
    """The nodes above values that occur."""
    shown = cut.shown
    nodes: Codes = np.unique(shown[(counts > 0) & (shown != cut.below)])
    return nodes


def _subtree_options(cut: Cut, node: int, counts: Floats) -> Options:
    """The one step of a node: all its children instead."""
    now = subtree_recoding(cut).penalties
    then = subtree_recoding(cut.deeper(_whole_node(cut, node, 0))).penalties
    return Options(np.zeros(1, np.int32), np.array([float(counts @ (now - then))]))


def _whole_node(cut: Cut, node: int, _: int) -> Flags:
    codes: Flags = cut.shown == node
    return codes


def _sibling_options(cut: Cut, node: int, counts: Floats) -> Options:
    """The children of a node, each taken out alone; those that nobody has stay with the node.

    A set of m values costs m - 1 for each of its rows. So if a child has x of the node's m values,
    its rows win m - x by leaving, and those that stay x. Whole numbers, which nothing rounds: of
    equal steps the first one is best.
    """
    codes = np.flatnonzero(cut.shown == node)
    names, child = np.unique(cut.below[codes], return_inverse=True)
    rows = np.bincount(child, weights=counts[codes])
    values = np.bincount(child)
    wins = rows * (len(codes) - values) + (rows.sum() - rows) * values
    here = rows > 0
    return Options(names[here], wins[here] / max(1, cut.attribute.size - 1))


def _one_child(cut: Cut, node: int, child: int) -> Flags:
    codes: Flags = (cut.shown == node) & (cut.below == child)
    return codes


def subtree_recoding(cut: Cut) -> Recoding:
    """A node's label for all values below it; without a taxonomy, the value or nothing."""
    shown = cut.shown
    if cut.attribute.taxonomy is None:
        return flat(cut.attribute, shown=bool(shown.any()))
    joined = not shown[cut.attribute.missing_code :].any()
    return labelled(cut.attribute, shown[: cut.attribute.missing_code], joined=joined)


def sibling_recoding(cut: Cut) -> Recoding:
    """The set of values that a node stands for: a label would cover those taken out as well."""
    first, classes = numbered(cut.shown)
    codes = np.argsort(classes, kind="stable").astype(np.int32)
    starts = np.append(0, np.cumsum(np.bincount(classes, minlength=len(first))))
    return Recoding.of(ValueSets(cut.attribute, starts, codes), classes)


SUBTREE = Scheme(_subtree_options, _whole_node, subtree_recoding)
SIBLING = Scheme(_sibling_options, _one_child, sibling_recoding)


def _paths(taxonomy: Taxonomy) -> Codes:
    """The ways down to the leaves; a leaf that is reached early is repeated."""
    nodes, depths = taxonomy.leaf_nodes.copy(), taxonomy.depths.copy()
    paths = np.empty((max(1, taxonomy.height) + 1, len(nodes)), np.int32)
    for depth in range(len(paths) - 1, -1, -1):
        paths[depth] = nodes
        climbs = depths == max(1, depth)
        nodes[climbs] = taxonomy.parents[nodes[climbs]]
        depths[climbs] -= 1
    return paths
