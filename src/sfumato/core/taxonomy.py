"""A taxonomy: a tree whose leaves are the values of an attribute.

Leaves are numbered from left to right, so every node covers a contiguous run of leaves and the
lowest common ancestor of any set of values is that of its first and its last leaf.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, Union

import numpy as np

from sfumato.core.arrays import Codes, Flags
from sfumato.errors import ParameterError, SchemaError

# How a value reads that had to be a text because it is the key of a table.
_FROM_KEY: Mapping[type, Callable[[str], Any]] = {
    int: int,
    float: float,
    datetime.date: datetime.date.fromisoformat,
    datetime.datetime: datetime.datetime.fromisoformat,
}

Nested: TypeAlias = Mapping[str, Union["Nested", Sequence[Any]]]


@dataclass(frozen=True, slots=True, eq=False)
class Taxonomy:
    """Nodes in depth-first order; node 0 is the root.

    >>> sf.Taxonomy.from_nested({"any": {"care": ["nurse", "physician"], "office": ["clerk"]}})
    Taxonomy(3 values, 2 levels above them)
    """

    labels: tuple[str, ...]
    parents: Codes
    first_leaf: Codes
    last_leaf: Codes
    leaves: tuple[Any, ...]
    leaf_nodes: Codes

    @classmethod
    def from_nested(cls, tree: Nested) -> Taxonomy:
        """Build from ``{"root": {"inner": ["leaf", ...], ...}}``: one key, the root, on top.

        A value beside inner labels is a key with nothing below it. Keys of files are texts; beside
        lists of numbers or dates such a key is read as one, too.
        """
        if len(tree) != 1:
            raise SchemaError(f"a taxonomy has one root, not {len(tree)}: {', '.join(tree)}")
        builder = _Builder()
        root, children = next(iter(tree.items()))
        builder.add(root, children, parent=-1)
        return builder.build()

    @classmethod
    def from_paths(cls, paths: Iterable[Sequence[Any]]) -> Taxonomy:
        """Build from the way up of every value: the value, the labels above it, the root last.

        A label that repeats the one below it is the same node: a value that stays itself for a
        while. Children stand in the order in which they first appear.
        """
        tree: dict[Any, Any] = {}
        values = {}
        for path in paths:
            node = tree
            for label in reversed(without_repeats(path)):
                node = node.setdefault(label, {})
            values[path[0]] = node
        if both := [value for value, node in values.items() if node]:
            raise SchemaError(f"{both[0]!r} is a value and also a label above other values")
        return cls.from_nested(tree)

    @property
    def height(self) -> int:
        """How many levels of generalization there are above the values."""
        return int(self.heights[0])

    @property
    def heights(self) -> Codes:
        """Length of the longest way from each node down to a leaf."""
        heights = np.zeros(len(self.labels), np.int32)
        for node in range(len(self.labels) - 1, 0, -1):
            parent = self.parents[node]
            heights[parent] = max(heights[parent], heights[node] + 1)
        return heights

    @property
    def depths(self) -> Codes:
        """How many steps each leaf lies below the root."""
        depths = np.zeros(len(self.labels), np.int32)
        for node in range(1, len(self.labels)):
            depths[node] = depths[self.parents[node]] + 1
        return depths[self.leaf_nodes]

    @property
    def ragged_leaves(self) -> tuple[Any, ...]:
        """The values that lie less deep than others, from left to right."""
        depths = self.depths
        return tuple(self.leaves[leaf] for leaf in np.flatnonzero(depths < depths.max()))

    @property
    def is_ragged(self) -> bool:
        """Whether some values have fewer labels above them than others."""
        return bool(self.ragged_leaves)

    def at_level(self, level: int) -> Codes:
        """The node that stands for each leaf at a level: 0 for the values, ``height`` for the root.

        A node belongs to the level that is its height, and a leaf climbs to the highest node that
        is not beyond the level asked for. So the nodes of a level never overlap, and each lies
        whole in one of the next level. In a ragged tree the shorter branches wait for the longest:
        a value right below the root stays itself until the top.
        """
        if not 0 <= level <= self.height:
            raise ParameterError(
                f"the taxonomy has the levels 0 to {self.height}, not {level!r}", parameter="level"
            )
        heights, nodes = self.heights, self.leaf_nodes
        for _ in range(level):
            above = self.parents[nodes]
            climbs = (above >= 0) & (heights[above] <= level)
            nodes = np.where(climbs, above, nodes).astype(np.int32)
        return nodes

    def covering(self, first: Codes, last: Codes) -> Codes:
        """Lowest node above both leaves, for arrays of leaf numbers with first <= last."""
        nodes = self.leaf_nodes[first]
        while True:
            short = self.last_leaf[nodes] < last
            if not short.any():
                return nodes
            nodes = np.where(short, self.parents[nodes], nodes).astype(np.int32)

    def n_leaves(self, nodes: Codes) -> Codes:
        """How many leaves lie under each node."""
        return self.last_leaf[nodes] - self.first_leaf[nodes] + np.int32(1)

    def restricted(self, kept: Flags) -> Taxonomy:
        """The tree over some of its leaves only, without nodes that no longer tell any apart.

        What nobody has must not count: an unused branch, or a chain of labels above one value,
        would make the tree higher and all that is in use seem close.
        """
        before = np.append(0, np.cumsum(kept)).astype(np.int32)
        first, beyond = before[self.first_leaf], before[self.last_leaf + 1]
        n_leaves = beyond - first
        widest_child = np.zeros(len(self.labels), np.int32)
        np.maximum.at(widest_child, self.parents[1:], n_leaves[1:])
        stays = n_leaves > widest_child
        number = np.cumsum(stays).astype(np.int32) - 1
        above = np.full(len(self.labels), -1, np.int32)  # the nearest node above that stays
        for node in range(1, len(self.labels)):
            parent = self.parents[node]
            above[node] = number[parent] if stays[parent] else above[parent]
        nodes = np.flatnonzero(stays)
        return Taxonomy(
            labels=tuple(self.labels[node] for node in nodes),
            parents=above[nodes],
            first_leaf=first[nodes],
            last_leaf=beyond[nodes] - np.int32(1),
            leaves=tuple(leaf for leaf, stay in zip(self.leaves, kept, strict=True) if stay),
            leaf_nodes=number[self.leaf_nodes[kept]],
        )

    def with_leaves(self, values: Sequence[Any]) -> Taxonomy:
        """The same tree over the same values in another type: 17 instead of the text '17'."""
        if all(
            type(new) is type(old) and new == old
            for new, old in zip(values, self.leaves, strict=True)
        ):
            return self
        labels = list(self.labels)
        for node, value in zip(self.leaf_nodes, values, strict=True):
            labels[node] = str(value)
        _require_different(labels)
        return replace(self, labels=tuple(labels), leaves=tuple(values))

    def to_nested(self) -> dict[str, Any]:
        """The nested form that from_nested reads; its keys are texts, as those of files are."""
        children: dict[int, list[int]] = {}
        for node in range(1, len(self.labels)):
            children.setdefault(int(self.parents[node]), []).append(node)
        leaf_of = {int(node): self.leaves[leaf] for leaf, node in enumerate(self.leaf_nodes)}

        def below(node: int) -> Any:
            under = children.get(node, [])
            if all(child in leaf_of for child in under):
                return [leaf_of[child] for child in under]
            return {self.labels[child]: below(child) for child in under}

        return {self.labels[0]: below(0)}

    def __repr__(self) -> str:
        """Sizes only: there may be thousands of values."""
        return f"Taxonomy({len(self.leaves):,} values, {self.height} levels above them)"


def without_repeats(path: Sequence[Any]) -> list[Any]:
    """A way up without the labels that repeat the one below."""
    return [
        label
        for place, label in enumerate(path)
        if place == 0 or str(label) != str(path[place - 1])
    ]


class _Builder:
    """Collects nodes while the nested form is walked depth first."""

    def __init__(self) -> None:
        self.labels: list[str] = []
        self.parents: list[int] = []
        self.first: list[int] = []
        self.last: list[int] = []
        self.leaves: list[Any] = []
        self.leaf_nodes: list[int] = []
        self.listed: list[bool] = []

    def add(self, label: Any, children: Any, parent: int, *, listed: bool = False) -> None:
        node = self._node(str(label), parent)
        if not children:
            self._leaf(node, label, listed)
        elif isinstance(children, Mapping):
            for child, below in children.items():
                self.add(child, below, node)
        elif isinstance(children, Sequence) and not isinstance(children, str):
            for leaf in children:
                self.add(leaf, (), node, listed=True)
        else:
            raise SchemaError(f"below {label!r} a taxonomy wants a table or a list of values")
        self.last[node] = len(self.leaves) - 1

    def _node(self, label: str, parent: int) -> int:
        self.labels.append(label)
        self.parents.append(parent)
        self.first.append(len(self.leaves))
        self.last.append(-1)
        return len(self.labels) - 1

    def _leaf(self, node: int, value: Any, listed: bool) -> None:
        self.leaves.append(value)
        self.leaf_nodes.append(node)
        self.listed.append(listed)

    def build(self) -> Taxonomy:
        _require_different(self.labels)
        return Taxonomy(
            labels=tuple(self.labels),
            parents=np.array(self.parents, np.int32),
            first_leaf=np.array(self.first, np.int32),
            last_leaf=np.array(self.last, np.int32),
            leaves=_alike(self.leaves, self.listed),
            leaf_nodes=np.array(self.leaf_nodes, np.int32),
        )


def _require_different(labels: Iterable[str]) -> None:
    seen: set[str] = set()
    for label in labels:
        if label in seen:
            raise SchemaError(f"taxonomy label {label!r} appears twice")
        seen.add(label)


def _alike(leaves: Sequence[Any], listed: Sequence[bool]) -> tuple[Any, ...]:
    """The leaves, those that are keys in the one type of those in lists, if it can be read."""
    kinds = {type(leaf) for leaf, in_list in zip(leaves, listed, strict=True) if in_list}
    read = _FROM_KEY.get(kinds.pop()) if len(kinds) == 1 else None
    if read is None:
        return tuple(leaves)
    try:
        return tuple(
            read(leaf) if not in_list and isinstance(leaf, str) else leaf
            for leaf, in_list in zip(leaves, listed, strict=True)
        )
    except ValueError:
        return tuple(leaves)
