"""Classes for a continuous column: what hardly repeats cannot be hidden among equals.

Classes hold about equally many rows. Their limits are rounded to three digits (more where the
classes would fall together) and the outermost classes are open, so that the least and the greatest
value do not become the name of a class.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core.arrays import Floats
from sfumato.errors import SchemaError

_DIGITS = 3
_MOST = 100_000  # classes, where there are fewer rows: a schema may be tried on some of them


def binned(
    name: str, column: pa.ChunkedArray, bins: int
) -> tuple[pa.ChunkedArray, tuple[str, ...]]:
    """The column as texts of at most so many classes, and the classes in ascending order."""
    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        raise SchemaError(f"column {name!r} holds {kind} values; bins are for numbers", column=name)
    if bins > max(len(column), _MOST):
        raise SchemaError(
            f"column {name!r} has bins = {bins}, more than its {len(column):,} rows can fill; use "
            "fewer",
            column=name,
        )
    numbers = column.cast(pa.float64()).combine_chunks()
    known = pc.and_(numbers.is_valid(), pc.invert(pc.is_nan(numbers))).fill_null(False)
    values = numbers.fill_null(0.0).to_numpy(zero_copy_only=False)
    mask = known.to_numpy(zero_copy_only=False)
    limits = _limits(values[mask], bins)
    classes = tuple(_names(limits))
    codes = np.searchsorted(limits, values, side="right")
    texts = pa.array(classes).take(pa.array(codes, mask=~mask))
    return pa.chunked_array([texts]), classes


def _limits(values: Floats, bins: int) -> Floats:
    """Rounded quantiles between the classes, without those that leave a class empty."""
    if not len(values):
        return np.zeros(0)
    quantiles = np.unique(np.quantile(values, np.arange(1, bins) / bins))
    for digits in range(_DIGITS, 13):
        rounded: Floats = np.unique([float(f"{limit:.{digits}g}") for limit in quantiles])
        inside: Floats = rounded[(rounded > values.min()) & (rounded <= values.max())]
        if len(inside) == len(quantiles):
            break
    return inside


def _names(limits: Floats) -> list[str]:
    if not len(limits):
        return ["any"]
    shown = [f"{limit:.12g}" for limit in limits]
    inner = [f"{low} to {high}" for low, high in pairwise(shown)]
    return [f"below {shown[0]}", *inner, f"{shown[-1]} and more"]
