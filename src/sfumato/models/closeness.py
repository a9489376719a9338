"""t-closeness: a group's sensitive values are distributed like the table's (Li et al., ICDE 2007).

The distance is the earth mover's: mass moves between categories at cost 1 (equal), along an order
at cost steps / (values - 1) (ordered), or through a taxonomy at the height of the lowest common
ancestor over the height of the tree (hierarchical).

Only values that occur in the table count, as in the paper. A declared order or taxonomy may name
more; if these were steps on the way, unused ones would bring everything as close as one likes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from sfumato.core.arrays import Counts, Flags, Floats
from sfumato.core.attribute import Attribute
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

    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> sf.publish(patients, sf.Mondrian(), sf.TCloseness(0.3)).manifest.groups
    46
    """

    name: ClassVar[str] = "t-closeness"
    group_alone: ClassVar[bool] = False
    t: float
    distance: Distance | None = None
    on: str | None = None

    def __post_init__(self) -> None:
        """Refuse a t that means nothing."""
        t = finite_number(self.t)
        if t is None or not t >= 0:
            raise ParameterError(f"t must be between 0 and 1, not {self.t!r}", parameter="t")
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
        distance = self.distance_of(groups.attribute)
        occurring = groups.whole > 0
        tree = _occurring_tree(groups, occurring) if distance == "hierarchical" else None
        if tree is not None:
            return _hierarchical(groups, occurring, tree)
        # differences of rounded sums: nothing may come out a little below nothing
        return np.maximum(0.0, _ordered(groups) if distance == "ordered" else _equal(groups))

    def statement(self, groups: Histograms) -> str:
        """With the distance that is taken, and over how many values."""
        n_values = int(np.count_nonzero(groups.whole))
        told = f"{self.distance_of(groups.attribute)} distance over {n_values:,} values"
        return f"{self.name} (t = {self.t:g}, {told}{f', on = {self.on}' if self.on else ''})"

    def rule(self, groups: Histograms) -> Rule:
        """A distance rule."""
        distance = self.distance_of(groups.attribute)
        if distance == "ordered":
            return Rule(CLOSE_ORDERED, self.t)
        occurring = groups.whole > 0
        tree = None if distance == "equal" else _occurring_tree(groups, occurring)
        if tree is None:
            return Rule(CLOSE_EQUAL, self.t, float(groups.whole.max() / groups.whole.sum()))
        runs = _runs(tree, groups.whole, np.flatnonzero(occurring))
        return Rule(CLOSE_RUNS, self.t, float(len(runs)), runs=runs)

    def on_neighbours(self, attribute: Attribute, slack: float) -> TCloseness | None:
        """A smaller t along the order; other distances than the ordered one merging would hide."""
        if self.distance_of(attribute) != "ordered" or self.t <= slack:
            return None
        return replace(self, t=self.t - slack, distance="ordered")

    def refusal(self, whole: Histograms) -> Infeasible:  # noqa: ARG002
        """Cannot happen: the whole table is at distance 0 from itself."""
        return Infeasible(f"t = {self.t} is out of reach", model=self, largest=1.0)

    def distance_of(self, attribute: Attribute | None) -> Distance:
        """The distance that is taken on this attribute."""
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


def _equal(groups: Histograms) -> Floats:
    """What a group does not have counts with the table's share of it."""
    shares = (groups.whole / groups.whole.sum())[groups.values]
    distances: Floats = (groups.total(np.abs(groups.shares - shares) - shares) + 1) / 2
    return distances


def _ordered(groups: Histograms) -> Floats:
    """The sum over all values of |group's share up to there - table's share up to there|.

    Between two values that a group has its own share stays, and the table's grows: such a run is
    summed at once, in two parts where the one overtakes the other.
    """
    occurring = groups.whole > 0
    upto = np.cumsum(groups.whole[occurring])
    n_values, n_rows = len(upto), int(upto[-1])
    sums = np.append(0, np.cumsum(upto))  # whole numbers, so that differences are exact
    of_group = groups.groups
    order = np.lexsort((groups.values, of_group))
    first = (np.cumsum(occurring) - 1)[groups.values[order]]
    last = np.append(first[1:], n_values)
    last[groups.starts[1:] - 1] = n_values
    counts = np.cumsum(groups.counts[order])
    before = np.append(0, counts)[groups.starts[:-1]]
    reached = (counts - before[of_group]) / groups.sizes[of_group]
    turn = np.clip(np.searchsorted(upto, reached * n_rows), first, last)
    ahead = reached * (turn - first) - (sums[turn] - sums[first]) / n_rows
    behind = (sums[last] - sums[turn]) / n_rows - reached * (last - turn)
    begun = sums[first[groups.starts[:-1]]] / n_rows
    distances: Floats = (begun + groups.total(ahead + behind)) / max(1, n_values - 1)
    return distances


def _hierarchical(groups: Histograms, occurring: Flags, tree: Taxonomy) -> Floats:
    """Through a matrix of all values, some groups at a time."""
    whole = groups.whole[occurring] / groups.whole.sum()
    found = np.empty(groups.n_groups)
    step = max(1, _BLOCK // len(whole))
    for low in range(0, groups.n_groups, step):
        high = min(low + step, groups.n_groups)
        found[low:high] = _through(tree, _dense(groups, low, high, occurring) - whole)
    return found


def _dense(groups: Histograms, low: int, high: int, occurring: Flags) -> Floats:
    """Shares of groups low to high - 1 as a matrix, a column per value that occurs."""
    place = np.cumsum(occurring) - 1
    entries = slice(groups.starts[low], groups.starts[high])
    matrix = np.zeros((high - low, place[-1] + 1))
    matrix[groups.groups[entries] - low, place[groups.values[entries]]] = groups.counts[entries]
    shares: Floats = matrix / matrix.sum(axis=1, keepdims=True)
    return shares


def _through(taxonomy: Taxonomy, difference: Floats) -> Floats:
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
