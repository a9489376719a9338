"""Means, variances and correlations as a masked release gives them, beside the truth."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from sfumato.algorithms.masking.mask import is_number, numbers_of
from sfumato.core.arrays import Floats
from sfumato.core.microdata import Microdata
from sfumato.forms.masked.release import MaskedTable

_PAIRS = 45  # of columns at most


@dataclass(frozen=True, slots=True)
class Moment:
    """One figure: its name, such as mean or correlation, the columns, the truth and the estimate.

    ``shown`` is what somebody computes who takes masked values for true ones.
    """

    figure: str
    columns: tuple[str, ...]
    truth: float
    estimate: float
    shown: float

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return {name: getattr(self, name) for name in self.__slots__}

    def __repr__(self) -> str:
        """Without the true figure."""
        return f"Moment({self.figure} of {', '.join(self.columns)})"


def moments_of(release: MaskedTable, table: Microdata) -> tuple[Moment, ...]:
    """Those of every masked number, and of pairs of numbers one of which is masked."""
    return tuple(_moments(release, table))


def _moments(release: MaskedTable, table: Microdata) -> Iterator[Moment]:
    numbers = [name for name in release.table.column_names if _is_number(table, name)]
    masked = [name for name in numbers if name in release.distortions]
    # without a word about masks, values are what they seem
    naive = MaskedTable(release.table, replace(release.manifest, promise=()))
    for name in masked:
        true = _numbers(table, name)[0]
        yield Moment("mean", (name,), float(true.mean()), release.mean(name), naive.mean(name))
        yield Moment(
            "variance", (name,), float(true.var()), release.variance(name), naive.variance(name)
        )
    pairs = [pair for pair in combinations(numbers, 2) if set(pair) & set(masked)]
    for one, other in pairs[:_PAIRS]:
        yield Moment(
            "correlation",
            (one, other),
            _correlation(*_numbers(table, one, other)),
            release.correlation(one, other),
            naive.correlation(one, other),
        )


def _is_number(table: Microdata, name: str) -> bool:
    """Whether it has a mean and a variance that doubles can hold."""
    if name not in table.attributes or not is_number(table.attributes[name]):
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(_numbers(table, name)[0].var()))


def _numbers(table: Microdata, *names: str) -> list[Floats]:
    found = [numbers_of(table.attributes[name], table.codes[name]) for name in names]
    known = np.logical_and.reduce([one for _, one in found])
    return [numbers[known] for numbers, _ in found]


def _correlation(one: Floats, other: Floats) -> float:
    spread = one.std() * other.std()
    if not spread > 0:
        return 0.0
    return float(((one - one.mean()) * (other - other.mean())).mean() / spread)
