"""Microaggregation: groups of k rows or more that are alike, each row shown as its group's average.

Domingo-Ferrer, Mateo-Sanz: "Practical data-oriented microaggregation", TKDE 2002. For several
attributes MDAV, in the wording of Domingo-Ferrer, Torra: "Ordinal, continuous and heterogeneous
k-anonymity through microaggregation", DMKD 2005:

    1. while 3k rows or more are left: take the row r farthest from the centre of those left, and
       the row s farthest from r; r and the k - 1 rows nearest to it are a group, then s and its own
    2. if 2k rows or more are left, the row farthest from their centre and the k - 1 nearest to it
    3. the rest, k to 2k - 1 rows, are the last group

Rows are points: every attribute is centred, and divided by its standard deviation. Categories
stand at their ranks (in the declared order, that of the taxonomy's leaves, or of the alphabet), and
a missing value lies one domain width beyond the last. One attribute alone has best groups
(optimal.py). Both are exact but for one thing: beyond 10,000 rows the centre of step 1 is that of
at most a 32nd of the rows ago (mdav.py), which moves along with single rows by next to nothing.

Numbers and dates show the mean of the values that their group knows, categories the most frequent
one, the first of several. So rows of a group are alike on every quasi-identifier, which is
k-anonymity. Of each number release.json states the scatter around the means, all groups
together: what was lost of variances and covariances, which readers then add again.

A tree of points from which points are taken makes it O(n log n) where points are not too scattered
(tree.py), and O(n^2 / k) at worst.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from sfumato.algorithms.base import ignore_progress
from sfumato.algorithms.masking.mask import (
    Masked,
    numbers_of,
    spread_of,
    stated_number,
    step_of,
)
from sfumato.algorithms.masking.microaggregate.mdav import mdav
from sfumato.algorithms.masking.microaggregate.optimal import optimal, run_ends
from sfumato.algorithms.masking.microaggregate.tree import new_tree
from sfumato.core.arrays import Codes, Floats, Ints
from sfumato.core.attribute import Attribute, Kind
from sfumato.core.compiled import announce, watch
from sfumato.core.exact import exact_numbers, means_by_group
from sfumato.core.microdata import Microdata
from sfumato.core.randomness import Randomness
from sfumato.errors import Infeasible, ParameterError

MODEL = "microaggregation"


@dataclass(frozen=True, slots=True)
class Microaggregate:
    """Show every row as the average of a group of ``k`` rows or more that are alike.

    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> release = sf.mask(patients, sf.Microaggregate(k=5))
    >>> release.metrics["group_sizes"]["smallest"] >= 5
    True
    """

    name: ClassVar[str] = "microaggregate"
    k: int = 5

    def __post_init__(self) -> None:
        """A group of one row is that row."""
        if type(self.k) is not int or self.k < 2:
            raise ParameterError(f"k must be a whole number from 2 on, not {self.k}", parameter="k")

    def masked(self, table: Microdata, _randomness: Randomness) -> Masked:
        """Replace the quasi-identifiers by the averages of their groups."""
        groups = self.groups(points_of(table))
        shown, apart = {}, {}
        for one in table.quasi:
            codes = table.codes[one.name]
            shown[one.name] = averages_of(one, codes, groups).take(pa.array(groups))
            if one.kind is Kind.NUMERICAL:
                apart[one.name] = _apart(one, codes, groups)
        spread = spread_of(apart)
        promise = {"model": "k-anonymity", "k": self.k}
        stated = [
            _scattered(one, spread[one.name])
            if one.name in spread
            else _replaced(one, table.codes[one.name], groups)
            for one in table.quasi
        ]
        return Masked(shown, (promise, *stated), np.arange(table.n_rows))

    def groups(self, points: Floats) -> Codes:
        """The group of every point."""
        n = len(points)
        if n < self.k:
            raise Infeasible(
                f"k = {self.k} asks for {self.k} rows in a group, and the table has {n}; the "
                f"largest feasible k is {n}",
                model="k-anonymity",
                largest=n,
            )
        if points.shape[1] == 1:
            announce(run_ends)
            return optimal(points[:, 0], self.k)
        announce(mdav)
        groups = np.full(n, -1, np.int32)
        tree = new_tree(points)
        watch(lambda control: mdav(tree, self.k, groups, control), n, ignore_progress)
        return groups


def points_of(table: Microdata) -> Floats:
    """Rows as points, every attribute centred, and divided by its standard deviation."""
    columns = [one.coordinates[table.codes[one.name]] for one in table.quasi]
    points = np.column_stack(columns)
    deviations = points.std(axis=0)
    scaled: Floats = (points - points.mean(axis=0)) / np.where(deviations > 0, deviations, 1.0)
    return scaled


def averages_of(attribute: Attribute, codes: Ints, groups: Codes) -> pa.Array:
    """What each group shows: the mean, or the most frequent value."""
    n_groups = int(groups.max()) + 1
    if attribute.kind is Kind.CATEGORICAL:
        return attribute.decode(_most_frequent(codes, groups, attribute.size))
    kind = attribute.values.type
    known = codes != attribute.missing_code
    if pa.types.is_temporal(kind):
        numbers, _ = numbers_of(attribute, codes)
        means, counts = means_by_group(numbers[known], groups[known], n_groups)
        width = pa.int32() if kind.bit_width == 32 else pa.int64()
        step = step_of(attribute)
        whole = np.rint(means / step).astype(np.int64) * step
        return pa.array(whole, width, mask=counts == 0).cast(kind)
    scale = kind.scale if pa.types.is_decimal(kind) else 0
    exact = exact_numbers(attribute.values)[codes[known]]
    means, counts = means_by_group(exact, groups[known], n_groups, scale)
    return pa.array(means + 0.0, mask=counts == 0)


def _most_frequent(codes: Ints, groups: Codes, size: int) -> Ints:
    """The code of each group; of values that are equally frequent in it the first."""
    pairs, counts = np.unique(groups.astype(np.int64) * size + codes, return_counts=True)
    order = np.lexsort((pairs % size, -counts, pairs // size))
    found = pairs[order]
    firsts = np.flatnonzero(np.diff(found // size, prepend=-1))
    modes: Ints = found[firsts] % size
    return modes


def _apart(attribute: Attribute, codes: Ints, groups: Codes) -> Floats:
    """How far rows lie from the mean of their group; those without a value do not."""
    numbers, known = numbers_of(attribute, codes)
    centre = numbers[known].mean() if known.any() else 0.0
    numbers = np.where(known, numbers - centre, 0.0)
    counts = np.bincount(groups, known)
    means = np.bincount(groups, numbers) / np.maximum(counts, 1)
    return np.where(known, numbers - means[groups], 0.0)


def _scattered(attribute: Attribute, spread: Mapping[str, float]) -> dict[str, Any]:
    step = step_of(attribute)
    return {"model": MODEL, "on": attribute.name, "spread": dict(spread), "step": step}


def _replaced(attribute: Attribute, codes: Ints, groups: Codes) -> dict[str, Any]:
    others = _most_frequent(codes, groups, attribute.size)[groups] != codes
    changed = stated_number(float(others.mean()))
    return {"model": MODEL, "on": attribute.name, "changed": changed}
