"""What a published mean tells about rows that are found: the others have the rest of the sum.

A mean is a double, rounded from the mean of the values. It was computed from a sum of doubles,
rounded at every step in older releases; so the true mean of n values, none larger than M, lies
within (n + 4) M / 2**52 of it, or within 4 M / 2**52 where the sum of whole numbers was exact.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sfumato.answers.group_bounds import Found
from sfumato.answers.sides import Extents
from sfumato.core.arrays import Counts, Flags, Floats
from sfumato.core.exact import SAFE, between_doubles

_EPS = float(np.finfo(np.float64).eps)


def within_means(
    extents: Extents,
    stated: Floats,
    stated_here: Flags,
    sizes: Counts,
    found: Found,
    kind: pa.DataType,
) -> Extents:
    """Between which averages the rows that are found lie; ends as doubles, rounded outwards.

    Of n rows r are found and have the average a, the others lie between the ends of their box: the
    mean m is (r a + (n - r) b) / n, hence a = m + (n - r) / r (m - b).
    """
    means = _in_units(stated, kind)
    mean = np.where(stated_here, means, extents.mean)
    sure = stated_here & (found.scope.lack == 0)
    if not sure.any():
        return Extents(extents.low, extents.high, mean)
    low, high = between_doubles(extents.low, extents.high)
    rows = np.maximum(found.rows, 1)
    ratio = (sizes - found.rows) / rows
    slack = _slack(low, high, sizes, kind) * (1 + ratio)
    with np.errstate(over="ignore", invalid="ignore"):
        up = np.where(ratio > 0, ratio * (means - low), 0.0)
        down = np.where(ratio > 0, ratio * (high - means), 0.0)
        at_least = np.maximum(low, means - down - slack)
        at_most = np.minimum(high, means + up + slack)
    return Extents(np.where(sure, at_least, low), np.where(sure, at_most, high), mean)


def _slack(low: Floats, high: Floats, sizes: Counts, kind: pa.DataType) -> Floats:
    """How far a mean, and what is computed from it here, may be from the truth."""
    largest = np.maximum(np.abs(low), np.abs(high))
    exact = pa.types.is_integer(kind) & (largest < SAFE / np.maximum(sizes, 1))
    return np.where(exact, 8, sizes + 8) * (largest * _EPS)


def _in_units(stated: Floats, kind: pa.DataType) -> Floats:
    """Decimals are counted in units of their last digit (core.exact)."""
    if not pa.types.is_decimal(kind):
        return stated
    with np.errstate(over="ignore"):
        scaled: Floats = stated * 10.0**kind.scale
    return scaled
