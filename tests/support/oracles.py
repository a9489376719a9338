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
    return bool(earth_movers_distance(group, whole, ground(of, distance)) <= model.t + 2e-9)


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


def ground(of: Attribute, distance: str) -> Matrix:
    """What it costs to move mass from one code to another (Li et al., section 4)."""
    size = of.size
    if distance == "equal":
        return tuple(tuple(float(i != j) for j in range(size)) for i in range(size))
    if distance == "ordered":
        steps = max(1, size - 1)
        return tuple(tuple(abs(i - j) / steps for j in range(size)) for i in range(size))
    assert of.taxonomy is not None
    return tuple(tuple(_tree(of, i, j) for j in range(size)) for i in range(size))


def _tree(of: Attribute, one: int, other: int) -> float:
    """Height of the lowest common ancestor over the tree's; 1 to and from a missing value."""
    taxonomy = of.taxonomy
    assert taxonomy is not None
    if one == other:
        return 0.0
    if of.missing_code in (one, other):
        return 1.0
    ancestor = lowest_common_ancestor(taxonomy, [one, other])
    return height(taxonomy, ancestor) / height(taxonomy, 0)


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
