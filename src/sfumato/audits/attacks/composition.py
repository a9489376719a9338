"""Composition: two releases of the same people, each harmless, laid one on the other.

Ganta, Kasiviswanathan, Smith: "Composition attacks and auxiliary information in data privacy", KDD
2008. What one release leaves possible of a person is knowledge with which to read the other. Of l
values in a random group here and l in another one there, few are in both, often one.

As a control, the other release is one of people whose values were dealt out anew: it tells nothing,
and the promise has to hold.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.audits.attacks.frame import Candidates
from sfumato.audits.attacks.matching import pins, posterior
from sfumato.audits.breach.everybody import translated
from sfumato.core.arrays import Codes, Floats
from sfumato.core.attribute import Attribute

_LEAST = 1e-9  # chances are found by scaling, and nothing is excluded for good


@dataclass(frozen=True, slots=True, eq=False)
class Composed:
    """What another release says of every vector of quasi-identifiers."""

    keys: NDArray[np.void]
    logarithms: Floats

    @classmethod
    def of(cls, other: Candidates, values: Attribute) -> Composed:
        """All ways to hand out the values there are taken for alike; codes are those of values."""
        mass = posterior(other, pins(other, None))
        cells, owners = other.cells(), np.empty(other.n_claims, np.int64)
        owners[other.claims.items] = other.claims.owners
        of_cell = np.repeat(owners, np.diff(cells.starts))
        keys = of_cell * other.n_values + other.values.values[cells.slots]
        n_subjects = len(other.claims.starts) - 1
        counted = np.bincount(keys, mass, n_subjects * other.n_values).astype(np.float64)
        sums = _in_codes(counted.reshape(n_subjects, other.n_values), other, values)
        shares = sums / np.maximum(sums.sum(axis=1, keepdims=True), _LEAST)
        # people with the same vector are one subject in a release; elsewhere they take the mean
        keys_of, place = np.unique(_keys(other.points[other.person_points]), return_inverse=True)
        means = np.zeros((len(keys_of), values.size))
        np.add.at(means, place, shares[other.subjects])
        means /= np.maximum(means.sum(axis=1, keepdims=True), _LEAST)
        return cls(keys_of, np.log(np.maximum(means, _LEAST)))

    def log_chances(self, points: Codes) -> Floats:
        """The logarithm of the chance of every value, up to a constant, for every point."""
        chances: Floats = self.logarithms[np.searchsorted(self.keys, _keys(points))]
        return chances


def _in_codes(sums: Floats, other: Candidates, values: Attribute) -> Floats:
    """The same columns in the codes of other values: a database may list more than a release."""
    assert other.values.attribute is not None
    codes = translated(other.values.attribute, values)[: other.n_values]
    found = np.zeros((len(sums), values.size))
    found[:, codes[codes >= 0]] = sums[:, codes >= 0]
    return found


def _keys(points: Codes) -> NDArray[np.void]:
    """Lines of codes as something that can be sorted and found."""
    lines = np.ascontiguousarray(points)
    return lines.view(np.dtype((np.void, lines.itemsize * lines.shape[1]))).ravel()
