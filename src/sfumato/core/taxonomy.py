"""A taxonomy: a tree whose leaves are the values of a categorical attribute.

Leaves are numbered from left to right, so every node covers a contiguous run of leaves and the
lowest common ancestor of any set of values is that of its first and its last leaf.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, Union

import numpy as np

from sfumato.core.arrays import Codes
from sfumato.errors import SchemaError

Nested: TypeAlias = Mapping[str, Union["Nested", Sequence[Any]]]


@dataclass(frozen=True, slots=True, eq=False)
class Taxonomy:
    """Nodes in depth-first order; node 0 is the root."""

    labels: tuple[str, ...]
    parents: Codes
    first_leaf: Codes
    last_leaf: Codes
    leaves: tuple[Any, ...]
    leaf_nodes: Codes

    @classmethod
    def from_nested(cls, tree: Nested) -> Taxonomy:
        """Build from ``{"root": {"inner": ["leaf", ...], ...}}``: one key, the root, on top."""
        if len(tree) != 1:
            raise SchemaError(f"a taxonomy has one root, not {len(tree)}: {', '.join(tree)}")
        builder = _Builder()
        root, children = next(iter(tree.items()))
        builder.add(root, children, parent=-1)
        return builder.build()

    @property
    def heights(self) -> Codes:
        """Length of the longest way from each node down to a leaf."""
        heights = np.zeros(len(self.labels), np.int32)
        for node in range(len(self.labels) - 1, 0, -1):
            parent = self.parents[node]
            heights[parent] = max(heights[parent], heights[node] + 1)
        return heights

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

    def to_nested(self) -> dict[str, Any]:
        """The nested form that from_nested reads."""
        children: dict[int, list[int]] = {}
        for node in range(1, len(self.labels)):
            children.setdefault(int(self.parents[node]), []).append(node)
        leaf_of = {int(node): self.leaves[leaf] for leaf, node in enumerate(self.leaf_nodes)}

        def below(node: int) -> Any:
            under = children.get(node, [])
            if all(child in leaf_of for child in under):
                return [leaf_of[child] for child in under]
            return {leaf_of.get(child, self.labels[child]): below(child) for child in under}

        return {self.labels[0]: below(0)}


class _Builder:
    """Collects nodes while the nested form is walked depth first."""

    def __init__(self) -> None:
        self.labels: list[str] = []
        self.parents: list[int] = []
        self.first: list[int] = []
        self.last: list[int] = []
        self.leaves: list[Any] = []
        self.leaf_nodes: list[int] = []

    def add(self, label: Any, children: Any, parent: int) -> None:
        node = self._node(str(label), parent)
        if not children:
            self._leaf(node, label)
        elif isinstance(children, Mapping):
            for child, below in children.items():
                self.add(child, below, node)
        elif isinstance(children, Sequence) and not isinstance(children, str):
            for leaf in children:
                self.add(leaf, (), node)
        else:
            raise SchemaError(f"below {label!r} a taxonomy wants a table or a list of values")
        self.last[node] = len(self.leaves) - 1

    def _node(self, label: str, parent: int) -> int:
        self.labels.append(label)
        self.parents.append(parent)
        self.first.append(len(self.leaves))
        self.last.append(-1)
        return len(self.labels) - 1

    def _leaf(self, node: int, value: Any) -> None:
        self.leaves.append(value)
        self.leaf_nodes.append(node)

    def build(self) -> Taxonomy:
        seen: set[str] = set()
        for label in self.labels:
            if label in seen:
                raise SchemaError(f"taxonomy label {label!r} appears twice")
            seen.add(label)
        return Taxonomy(
            labels=tuple(self.labels),
            parents=np.array(self.parents, np.int32),
            first_leaf=np.array(self.first, np.int32),
            last_leaf=np.array(self.last, np.int32),
            leaves=tuple(self.leaves),
            leaf_nodes=np.array(self.leaf_nodes, np.int32),
        )
