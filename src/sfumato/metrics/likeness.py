"""How much more alike people of a group are than any two people.

An anatomized release shows every quasi-identifier exactly, so nothing of them is lost; what its
answers are good for depends on who is in a group together. The figure of an attribute is the mean
difference of two people of a group, divided by that of any two people: about 1 where groups are of
anybody, 0 where everybody in a group has the same value. Numbers and ordered values differ by their
distance (Gini's mean difference), others by being different or not.
"""

from __future__ import annotations

import numpy as np

from sfumato.core.arrays import Codes, Floats, Ints
from sfumato.core.attribute import Attribute, Kind


def difference_in_groups(attribute: Attribute, codes: Ints, groups: Codes) -> float | None:
    """The figure of a column, whose rows are in these groups; None if all are alike anyway.

    >>> import numpy as np
    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> age, codes = patients.attributes["age"], patients.codes["age"]
    >>> difference_in_groups(age, codes, np.zeros(1000, np.int32))
    1.0
    >>> difference_in_groups(age, codes, codes.astype(np.int32))
    0.0
    """
    distances = attribute.kind is Kind.NUMERICAL or attribute.ordered
    values = attribute.coordinates[codes] if distances else codes.astype(np.float64)
    differ = _distances if distances else _inequalities
    everybody = float(differ(values, np.zeros(len(values), np.int32))[0])
    if not everybody:
        return None
    sizes = np.bincount(groups)
    return float((differ(values, groups) * sizes).sum() / sizes.sum() / everybody)


def _distances(values: Floats, groups: Codes) -> Floats:
    """The mean distance of two values of each group: sorted ones count by their rank."""
    order = np.lexsort((values, groups))
    sizes = np.bincount(groups)
    of_row, ranks = groups[order], _ranks(sizes)
    weighed = (2 * ranks - sizes[of_row] + 1) * values[order]
    return 2 * np.bincount(of_row, weighed, len(sizes)) / _pairs(sizes)


def _inequalities(values: Floats, groups: Codes) -> Floats:
    """The share of pairs of each group that differ."""
    sizes = np.bincount(groups)
    order = np.lexsort((values, groups))
    of_row, ordered = groups[order], values[order]
    heads = np.append(True, (np.diff(ordered) != 0) | (np.diff(of_row) != 0))
    times = np.diff(np.append(np.flatnonzero(heads), len(ordered)))
    alike = np.bincount(of_row[heads], times * (times - 1), len(sizes))
    shares: Floats = np.where(sizes > 1, 1 - alike / _pairs(sizes), 0.0)
    return shares


def _ranks(sizes: Ints) -> Ints:
    """0, 1, 2, ... in each of the groups that follow each other."""
    starts = np.cumsum(sizes) - sizes
    ranks: Ints = np.arange(sizes.sum()) - np.repeat(starts, sizes)
    return ranks


def _pairs(sizes: Ints) -> Floats:
    pairs: Floats = np.maximum(1.0, sizes * (sizes - 1.0))
    return pairs
