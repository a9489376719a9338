"""t-closeness: a group's sensitive values are distributed like the table's (Li et al., ICDE 2007).

The distance is the earth mover's: mass moves between categories at cost 1 (equal), along an order
at cost steps / (values - 1) (ordered), or through a taxonomy at the height of the lowest common
ancestor over the height of the tree (hierarchical).

Only values that occur in the table count, as in the paper. A declared order or taxonomy may name
more; if these were steps on the way, unused ones would bring everything as close as one likes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal

import numpy as np

from sfumato.core.arrays import Counts, Flags, Floats
from sfumato.core.histograms import Histograms
from sfumato.core.taxonomy import Taxonomy
from sfumato.errors import Infeasible, ParameterError
from sfumato.models._parameters import finite_number
from sfumato.models._rules import CLOSE_EQUAL, CLOSE_ORDERED, CLOSE_RUNS, TOLERANCE, Rule
from sfumato.models.base import BuiltIn

Distance = Literal["equal", "ordered", "hierarchical"]
_BLOCK = 2**22
_MOST_T = 0.999  # beyond, rounding decides what passes


@dataclass(frozen=True, slots=True)
class TCloseness(BuiltIn):
    """Earth mover's distance to the whole table at most t.

    Without a distance, a taxonomy asks for the hierarchical one, an order for the ordered one.
    """

    name: ClassVar[str] = "t-closeness"
    t: float
    distance: Distance | None = None
    on: str | None = None

    def __post_init__(self) -> None:
        """Refuse a t that means nothing."""
        t = finite_number(self.t)
        if t is None or not t >= 0:
            raise ParameterError(f"t must be between 0 and 1, not {self.t}", parameter="t")
        if t > _MOST_T:
            raise ParameterError(
                f"t = {t} promises nothing: no group can be farther away than 1; use a smaller t",
                parameter="t",
            )
        object.__setattr__(self, "t", t)
        if self.distance not in (None, "equal", "ordered", "hierarchical"):
            raise ParameterError(
                f"distance must be equal, ordered or hierarchical, not {self.distance!r}",
                parameter="distance",
            )

    def passes(self, groups: Histograms) -> Flags:
        """Distance at most t."""
        return self.distances(groups) <= self.t + TOLERANCE

    def distances(self, groups: Histograms) -> Floats:
        """Each group's distance to the whole table."""
        occurring = groups.whole > 0
        whole = groups.whole[occurring] / groups.whole.sum()
        measure = self._measure(groups, occurring)
        found = np.empty(groups.n_groups)
        step = max(1, _BLOCK // len(whole))
        for low in range(0, groups.n_groups, step):
            high = min(low + step, groups.n_groups)
            found[low:high] = measure(_dense(groups, low, high, occurring) - whole)
        return found

    def _measure(self, groups: Histograms, occurring: Flags) -> Callable[[Floats], Floats]:
        """The distance of a difference of shares, over the values that occur."""
        distance = self._distance(groups)
        if distance == "ordered":
            return _ordered
        tree = None if distance == "equal" else _occurring_tree(groups, occurring)
        return _equal if tree is None else partial(_hierarchical, taxonomy=tree)

    def statement(self, groups: Histograms) -> str:
        """With the distance that is taken, and over how many values."""
        n_values = int(np.count_nonzero(groups.whole))
        told = f"{self._distance(groups)} distance over {n_values:,} values"
        return f"{self.name} (t = {self.t:g}, {told}{f', on = {self.on}' if self.on else ''})"

    def rule(self, groups: Histograms) -> Rule:
        """A distance rule."""
        distance = self._distance(groups)
        if distance == "ordered":
            return Rule(CLOSE_ORDERED, self.t)
        occurring = groups.whole > 0
        tree = None if distance == "equal" else _occurring_tree(groups, occurring)
        if tree is None:
            return Rule(CLOSE_EQUAL, self.t)
        runs = _runs(tree, groups.whole, np.flatnonzero(occurring))
        return Rule(CLOSE_RUNS, self.t, float(len(runs)), runs=runs)

    def refusal(self, whole: Histograms) -> Infeasible:  # noqa: ARG002
        """Cannot happen: the whole table is at distance 0 from itself."""
        return Infeasible(f"t = {self.t} is out of reach", model=self, largest=1.0)

    def _distance(self, groups: Histograms) -> Distance:
        attribute = groups.attribute
        if self.distance == "hierarchical" and (attribute is None or attribute.taxonomy is None):
            raise ParameterError(
                "the hierarchical distance needs a taxonomy on the sensitive attribute",
                parameter="distance",
            )
        if self.distance is not None or attribute is None:
            return self.distance or "equal"
        if attribute.taxonomy is not None:
            return "hierarchical"
        return "ordered" if attribute.ordered else "equal"


def _occurring_tree(groups: Histograms, occurring: Flags) -> Taxonomy | None:
    """The taxonomy over the values that occur; None where all that occurs is the missing one."""
    taxonomy = None if groups.attribute is None else groups.attribute.taxonomy
    if taxonomy is None:
        return None
    # the code behind the leaves is the missing value's, which no tree holds
    leaves = occurring[: len(taxonomy.leaves)]
    return taxonomy.restricted(leaves) if leaves.any() else None


def _runs(tree: Taxonomy, whole: Counts, codes: Counts) -> Floats:
    """The nodes of a tree over some codes as runs of codes (see _rules), weighted as below.

    What lies below a node has a surplus, whichever way it is evened out inside.
    """
    heights, parents = tree.heights.astype(np.float64), tree.parents
    weights = np.empty(len(parents))
    weights[1:] = (heights[parents[1:]] - heights[1:]) / 2 / max(1.0, heights[0])
    weights[0] = _last_way(tree)
    first, beyond = codes[tree.first_leaf], codes[tree.last_leaf] + 1
    upto = np.append(0, np.cumsum(whole))
    shares = (upto[beyond] - upto[first]) / upto[-1]
    return np.column_stack([first, beyond, weights, shares])


def _last_way(tree: Taxonomy) -> float:
    """The cost of what is left at the root: it comes from, or goes to, the missing value."""
    return 0.5 if tree.heights[0] else 1.0


def _dense(groups: Histograms, low: int, high: int, occurring: Flags) -> Floats:
    """Shares of groups low to high - 1 as a matrix, a column per value that occurs."""
    place = np.cumsum(occurring) - 1
    entries = slice(groups.starts[low], groups.starts[high])
    matrix = np.zeros((high - low, place[-1] + 1))
    matrix[groups.groups[entries] - low, place[groups.values[entries]]] = groups.counts[entries]
    shares: Floats = matrix / matrix.sum(axis=1, keepdims=True)
    return shares


def _equal(difference: Floats) -> Floats:
    halves: Floats = np.abs(difference).sum(axis=1) / 2
    return halves


def _ordered(difference: Floats) -> Floats:
    steps = max(1, difference.shape[1] - 1)
    distances: Floats = np.abs(difference.cumsum(axis=1)).sum(axis=1) / steps
    return distances


def _hierarchical(difference: Floats, taxonomy: Taxonomy) -> Floats:
    """Mass that cannot be evened out below a node moves through its parent.

    Moving through a node of height h and down again costs h / H in all, half of it on each of the
    two ways; so an edge below a node of height h, above one of height g, costs (h - g) / 2H.
    A missing value hangs below the root: it is at distance 1 from all others.
    """
    heights = taxonomy.heights
    surplus = np.zeros((len(difference), len(taxonomy.labels)))
    surplus[:, taxonomy.leaf_nodes] = difference[:, : len(taxonomy.leaves)]
    cost = np.zeros(len(difference))
    for node in range(len(taxonomy.labels) - 1, 0, -1):
        parent = taxonomy.parents[node]
        cost += np.abs(surplus[:, node]) * (heights[parent] - heights[node])
        surplus[:, parent] += surplus[:, node]
    distances: Floats = cost / 2 / max(1, heights[0]) + _last_way(taxonomy) * np.abs(surplus[:, 0])
    return distances
