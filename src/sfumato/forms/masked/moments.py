"""Means, variances and correlations of masked columns, corrected by what is stated.

Microaggregation shows group means: the mean of a column stays, and the covariance of two columns
is that of the group means plus the mean product of what rows lie away from them. Both are exact,
but for the four digits in which the latter is stated. Noise adds its own covariance, which is taken
away again: right on average, as the noise of one table is never quite what is stated. Swapping
leaves variances as they are, and states what covariances lost.

A row that lacks a value takes no part; where a group of rows has some values and lacks others, its
mean stands for all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite, sqrt

import numpy as np
import pyarrow as pa

from sfumato.core.aggregates import is_number
from sfumato.core.arrays import Floats
from sfumato.core.attribute import as_floats
from sfumato.errors import DataError, SchemaError
from sfumato.forms.masked.distortion import NOISE, Distortion

Distortions = Mapping[str, Distortion]


def mean(table: pa.Table, _masked: Distortions, name: str) -> float:
    """No mask moves a mean on average."""
    with np.errstate(over="ignore", invalid="ignore"):
        found = float(_numbers(table, name)[0].mean())
    return _finite(found, name)


def variance(table: pa.Table, masked: Distortions, name: str) -> float:
    """Never below 0, which a correction may lead to."""
    return max(0.0, covariance(table, masked, name, name))


def correlation(table: pa.Table, masked: Distortions, one: str, other: str) -> float:
    """Between -1 and 1; 0 where a column has no variance left."""
    spread = variance(table, masked, one) * variance(table, masked, other)
    if spread <= 0:
        return 0.0
    found = covariance(table, masked, one, other) / sqrt(spread)
    return float(np.clip(found, -1.0, 1.0))


def covariance(table: pa.Table, masked: Distortions, one: str, other: str) -> float:
    """That of what is shown, corrected."""
    first, second = _numbers(table, one, other)
    with np.errstate(over="ignore", invalid="ignore"):
        shown = float(((first - first.mean()) * (second - second.mean())).mean())
    return _finite(shown, one) + max(
        (_lost(masked, one, other), _lost(masked, other, one)), key=abs
    )


def _finite(found: float, name: str) -> float:
    if not isfinite(found):
        raise DataError(
            f"the numbers of {name!r} are too large to be added up and squared; divide them",
            source=name,
        )
    return found


def _lost(masked: Distortions, one: str, other: str) -> float:
    """The covariance that is stated of both, less than 0 where it was added."""
    found = masked.get(one)
    if found is None:
        return 0.0
    return (-1 if found.model == NOISE else 1) * found.spread.get(other, 0.0)


def _numbers(table: pa.Table, *names: str) -> list[Floats]:
    """Columns as numbers, where all of them are known."""
    known = np.ones(table.num_rows, np.bool_)
    for name in names:
        if name not in table.column_names:
            raise SchemaError(f"no column {name!r} is published", column=name)
        kind = table.column(name).type
        if not is_number(kind):
            raise SchemaError(f"column {name!r} holds no numbers ({kind})", column=name)
        known &= ~np.asarray(table.column(name).is_null())
    if not known.any():
        raise SchemaError(f"no row has a value of {' and '.join(names)}", column=names[0])
    rows = pa.array(np.flatnonzero(known))
    return [as_floats(table.column(name).combine_chunks().take(rows)) for name in names]
