"""Cuts through trees: which node stands for each value, and how a cut is made finer by a step.

A cut begins at the root. Under subtree generalization a step replaces a node by all its children;
under sibling generalization it takes out one child, and the node goes on standing for those that
are left. A missing value counts as one more child of the root; values without a taxonomy are
children of the root, too.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import numpy as np

from sfumato.algorithms._recoding import Recoding, flat, labelled, numbered, top_level
from sfumato.core.arrays import Codes, Flags
from sfumato.core.attribute import Attribute
from sfumato.core.boxes import ValueSets
from sfumato.core.taxonomy import Taxonomy

Step: TypeAlias = tuple[Hashable, "Cut"]


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


class Scheme(NamedTuple):
    """How cuts become finer, and what is shown of them."""

    steps: Callable[[Cut, Flags], Iterator[Step]]
    recoding: Callable[[Cut], Recoding]


def subtree_steps(cut: Cut, present: Flags) -> Iterator[Step]:
    """Nodes above values that are ``present``, each replaced by its children."""
    shown, below = cut.shown, cut.below
    for node in np.unique(shown[present & (shown != below)]).tolist():
        yield node, cut.deeper(shown == node)


def sibling_steps(cut: Cut, present: Flags) -> Iterator[Step]:
    """Children of such nodes, each taken out alone; those that nobody has stay with the node."""
    shown, below = cut.shown, cut.below
    open_ = present & (shown != below)
    pairs = np.unique(np.stack([shown[open_], below[open_]], axis=1), axis=0)
    for node, child in pairs.tolist():
        yield (node, child), cut.deeper((shown == node) & (below == child))


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


SUBTREE = Scheme(subtree_steps, subtree_recoding)
SIBLING = Scheme(sibling_steps, sibling_recoding)


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
