"""Swapping: pairs of rows that are near in one column exchange their values of it.

Dalenius, Reiss: "Data-swapping: a technique for disclosure control", 1982; by ranks as in Moore:
"Controlled data-swapping techniques for masking public use microdata sets", 1996:

    1. rows are put in the order of their values, equal ones in random order
    2. the first that has not swapped takes one of those up to ``reach`` * n places after it that
       have not either, each as likely, and the two exchange their values; and so on

Every column is swapped by itself. With columns ``inside`` which it happens, pairs are equal on
these, n is the size of such a group, and what is counted by them stays as it is; a reach of 1 then
is random order inside the group. Numbers go by size, categories in the order of their codes, and
missing values come last, so that they are swapped too.

Each column keeps all its values, how frequent they are, and so its mean and variance. Covariances
become smaller; what they lose is stated, for readers to add. Of the pairs of places at a distance
of u reaches, 0 < u <= 1, a share is swapped that grows like 2^u in the middle of a long column: the
nearer rows ahead are, the fewer of them are free. That is how counts are corrected. O(n log n).
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, ClassVar

import numpy as np

from sfumato.algorithms.masking._swapping import partners
from sfumato.algorithms.masking.mask import Masked, chosen, numbers_of, stated_spread
from sfumato.core._kernels import number_rows
from sfumato.core.arrays import Codes, Counts, Floats, Ints
from sfumato.core.attribute import Attribute, Kind
from sfumato.core.compiled import announce
from sfumato.core.microdata import Microdata
from sfumato.core.randomness import Randomness
from sfumato.errors import DataError, ParameterError, SchemaError, SfumatoWarning

MODEL = "swapping"


@dataclass(frozen=True, slots=True)
class Swap:
    """Exchange values between rows at most ``reach`` of all ranks apart, column by column.

    ``columns`` are those to swap, by default all quasi-identifiers that are not in ``inside``:
    columns that both rows of a pair have to be equal on.

    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> release = sf.mask(patients.of_quasi(["age", "sex"]), sf.Swap(0.05))
    >>> round(release.count("age < 40").estimate) == patients.count("age < 40").estimate
    True
    """

    name: ClassVar[str] = "swap"
    reach: float = 0.1
    inside: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Some ranks, and all at most."""
        for name in ("inside", "columns"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        if not (isfinite(self.reach) and 0 < self.reach <= 1):
            raise ParameterError(
                f"reach is a share of all ranks, above 0 and at most 1, not {self.reach}",
                parameter="reach",
            )

    def masked(self, table: Microdata, randomness: Randomness) -> Masked:
        """Swap every column."""
        names = self._columns(table)
        self._require_rows(table)
        groups = self._groups(table)
        rows = {name: self._swapped(table.codes[name], groups, randomness) for name in names}
        codes = {name: table.codes[name][rows[name]] for name in names}
        lost = _lost(table, codes)
        stated = [self._stated(name, lost) for name in names]
        shown = {name: table.attributes[name].decode(codes[name]) for name in names}
        return Masked(shown, tuple(stated), np.arange(table.n_rows))

    def _columns(self, table: Microdata) -> tuple[str, ...]:
        if self.inside:
            chosen(table, self.inside, (), "swap inside")
        usual = [one.name for one in table.quasi if one.name not in self.inside]
        names = chosen(table, self.columns, usual, "swap")
        for name in set(names) & set(self.inside):
            raise SchemaError(
                f"column {name!r} cannot be swapped inside groups that are equal on it", column=name
            )
        return names

    def _require_rows(self, table: Microdata) -> None:
        if table.n_rows < 2:
            raise DataError("swapping takes two rows or more, and the table has one")
        if not self.inside and self.reach * table.n_rows < 1:
            raise ParameterError(
                f"reach = {self.reach:g} of {table.n_rows:,} ranks is less than one; it must be at "
                f"least {1 / table.n_rows:.4g}",
                parameter="reach",
            )

    def _groups(self, table: Microdata) -> Codes:
        if not self.inside:
            return np.zeros(table.n_rows, np.int32)
        matrix = np.stack([table.codes[n] for n in self.inside], axis=1, dtype=np.int32)
        limits = np.array([table.attributes[n].size for n in self.inside], np.int64)
        groups, _, sizes = number_rows(matrix, limits)
        alone = int((sizes == 1).sum())
        if alone:
            warnings.warn(
                f"{alone:,} of {table.n_rows:,} people are alone on {', '.join(self.inside)} and "
                "swap with nobody: they are published as they are",
                SfumatoWarning,
                stacklevel=5,
            )
        return groups

    def _swapped(self, codes: Ints, groups: Codes, randomness: Randomness) -> Counts:
        """The row whose value each row gets."""
        announce(partners)
        n = len(codes)
        order = np.lexsort((randomness.words(n), codes, groups))
        sizes = np.bincount(groups)
        starts = np.append(0, np.cumsum(sizes))
        to = partners(starts, widths(sizes, self.reach), randomness.words(n))
        rows = np.empty(n, np.int64)
        rows[order] = order[to]
        return rows

    def _stated(self, name: str, lost: Mapping[str, dict[str, float]]) -> dict[str, Any]:
        line = {"model": MODEL, "on": name, "reach": float(self.reach), "inside": [*self.inside]}
        return line | ({"spread": lost[name]} if name in lost else {})


def widths(sizes: Counts, reach: float) -> Counts:
    """How many places after its own a row of groups of these sizes may look at, one at least."""
    found: Counts = np.maximum(1, np.floor(sizes * reach + 1e-9)).astype(np.int64)
    return found


def _lost(table: Microdata, shown: Mapping[str, Ints]) -> dict[str, dict[str, float]]:
    """For every swapped number the covariances that it lost, with itself and other numbers."""
    numbers = [one for one in table.attributes.values() if _is_number(one)]
    names = [one.name for one in numbers]
    true = [numbers_of(one, table.codes[one.name]) for one in numbers]
    now = [numbers_of(one, shown.get(one.name, table.codes[one.name])) for one in numbers]
    lost = np.zeros((len(names), len(names)))
    for i, one in enumerate(names):
        for j, other in enumerate(names):
            if i != j and (one in shown or other in shown):
                lost[i, j] = _covariance(true[i], true[j]) - _covariance(now[i], now[j])
    stated = stated_spread(names, lost)
    return {name: stated[name] for name in names if name in shown}


def _is_number(attribute: Attribute) -> bool:
    return attribute.kind is Kind.NUMERICAL


def _covariance(one: tuple[Floats, Any], other: tuple[Floats, Any]) -> float:
    both = one[1] & other[1]
    if not both.any():
        return 0.0
    a, b = one[0][both], other[0][both]
    with np.errstate(over="ignore", invalid="ignore"):
        return float(((a - a.mean()) * (b - b.mean())).mean())
