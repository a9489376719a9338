"""What each model means, once more: slow, in plain Python, exact where numbers allow it.

A model sees a group and the whole table as counts per code. ``ORACLES`` is keyed like
``sfumato.models.registry.MODELS``; a model without an oracle fails the conformance suite.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from scipy.optimize import linprog

from sfumato.core.attribute import Attribute
from sfumato.core.microdata import Microdata
from sfumato.core.taxonomy import Taxonomy
from sfumato.models.requirements import Requirement

SLACK = Fraction(1, 10**9)  # a group exactly on a limit written as a float passes

Vector = tuple[int, ...]
Matrix = tuple[tuple[float, ...], ...]


def k_anonymity(model: Any, group: Vector, whole: Vector, of: Attribute | None) -> bool:
    return bool(sum(group) >= model.k)


def frequency(model: Any, group: Vector, whole: Vector, of: Attribute | None) -> bool:
    return bool(Fraction(max(group), sum(group)) * Fraction(model.l) <= 1 + SLACK)


def distinct(model: Any, group: Vector, whole: Vector, of: Attribute | None) -> bool:
    return bool(sum(count > 0 for count in group) >= model.l)


def entropy(model: Any, group: Vector, whole: Vector, of: Attribute | None) -> bool:
    """exp(entropy) >= l without a logarithm: n^n >= l^n * product of c^c, in whole numbers."""
    n = sum(group)
    crowded = math.prod(count**count for count in group)
    return bool(n**n * (1 + SLACK) ** n >= Fraction(model.l) ** n * crowded)


def recursive(model: Any, group: Vector, whole: Vector, of: Attribute | None) -> bool:
    counts = sorted(group, reverse=True)
    return counts[0] < Fraction(model.c) * sum(counts[model.l - 1 :])


def closeness(model: Any, group: Vector, whole: Vector, of: Attribute | None) -> bool:
    assert of is not None
    distance = model.distance
    if distance is None:
        distance = "hierarchical" if of.taxonomy else "ordered" if of.ordered else "equal"
    occurring = [code for code, count in enumerate(whole) if count]
    here, there = (tuple(counts[code] for code in occurring) for counts in (group, whole))
    moved = earth_movers_distance(here, there, ground(of, distance, occurring))
    return bool(moved <= model.t + 2e-9)


ORACLES: dict[str, Callable[[Any, Vector, Vector, Attribute | None], bool]] = {
    "k-anonymity": k_anonymity,
    "k-join-anonymity": k_anonymity,
    "l-diversity": frequency,
    "distinct-l-diversity": distinct,
    "entropy-l-diversity": entropy,
    "recursive-cl-diversity": recursive,
    "t-closeness": closeness,
}


def passes_naively(
    needs: Iterable[Requirement], table: Microdata, rows: Sequence[int] | frozenset[int]
) -> bool:
    """Whether a group of rows meets every requirement."""
    return all(_meets(need, table, rows) for need in needs)


def _meets(need: Requirement, table: Microdata, rows: Iterable[int]) -> bool:
    model: Any = need.model
    if need.attribute is None:
        return ORACLES[model.name](model, (len(list(rows)),), (table.n_rows,), None)
    of = table.attributes[need.attribute]
    codes = table.codes[need.attribute].tolist()
    group = counted((codes[row] for row in rows), of.size)
    return ORACLES[model.name](model, group, counted(codes, of.size), of)


def counted(codes: Iterable[int], size: int) -> Vector:
    found = Counter(codes)
    return tuple(found[code] for code in range(size))


def ground(of: Attribute, distance: str, occurring: Sequence[int]) -> Matrix:
    """What it costs to move mass between codes that occur (Li et al., section 4)."""
    if distance == "equal":
        return tuple(tuple(float(i != j) for j in occurring) for i in occurring)
    if distance == "ordered":
        ranks, steps = range(len(occurring)), max(1, len(occurring) - 1)
        return tuple(tuple(abs(i - j) / steps for j in ranks) for i in ranks)
    assert of.taxonomy is not None
    return tuple(tuple(_tree(of, i, j, set(occurring)) for j in occurring) for i in occurring)


def _tree(of: Attribute, one: int, other: int, occurring: set[int]) -> float:
    """Height of the lowest common ancestor over the tree's; 1 to and from a missing value."""
    taxonomy = of.taxonomy
    assert taxonomy is not None
    if one == other:
        return 0.0
    if of.missing_code in (one, other):
        return 1.0
    ancestor = lowest_common_ancestor(taxonomy, [one, other])
    used = {int(taxonomy.leaf_nodes[code]) for code in occurring - {of.missing_code}}
    return _used_height(taxonomy, ancestor, used) / _used_height(taxonomy, 0, used)


def _used_height(taxonomy: Taxonomy, node: int, used: set[int]) -> int:
    """Longest way down to a leaf in use, counting only nodes where ways part."""
    ways = [
        _used_height(taxonomy, child, used)
        for child, parent in enumerate(taxonomy.parents.tolist())
        if parent == node and any(child in ancestors(taxonomy, leaf) for leaf in used)
    ]
    return max(ways, default=0) + (len(ways) > 1)


def ancestors(taxonomy: Taxonomy, node: int) -> list[int]:
    """A node and everything above it, upwards."""
    path = [node]
    while taxonomy.parents[path[-1]] >= 0:
        path.append(int(taxonomy.parents[path[-1]]))
    return path


def lowest_common_ancestor(taxonomy: Taxonomy, leaves: Sequence[int]) -> int:
    paths = [ancestors(taxonomy, int(taxonomy.leaf_nodes[leaf])) for leaf in leaves]
    return next(node for node in paths[0] if all(node in path for path in paths))


def height(taxonomy: Taxonomy, node: int) -> int:
    """Longest way down from a node."""
    below = [child for child, parent in enumerate(taxonomy.parents.tolist()) if parent == node]
    return max((1 + height(taxonomy, child) for child in below), default=0)


@cache
def earth_movers_distance(group: Vector, whole: Vector, costs: Matrix) -> float:
    """The transportation problem itself, solved as a linear programme."""
    size = len(whole)
    leaving = np.kron(np.eye(size), np.ones(size))
    arriving = np.kron(np.ones(size), np.eye(size))
    masses = [count / sum(group) for count in group] + [count / sum(whole) for count in whole]
    # the last equation follows from the others; left in, rounding could make them contradict
    solved = linprog(
        np.ravel(costs),
        A_eq=np.vstack([leaving, arriving])[:-1],
        b_eq=masses[:-1],
        bounds=(0, None),
    )
    assert solved.fun is not None
    return float(solved.fun)
