"""Classes for a continuous column: what hardly repeats cannot be hidden among equals.

Limits are given as borders, which know nothing of the rows; or they are found: so many classes with
about equally many rows, or quantiles. Found limits are rounded to three digits (more where the
classes would fall together), and the outermost classes are open, so that the least and the greatest
value do not become the name of a class.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core.arrays import Floats
from sfumato.errors import SchemaError


@dataclass(frozen=True, slots=True)
class Quantiles:
    """Limits with these shares of the rows below them."""

    shares: tuple[float, ...]


# how many classes, or their borders, or the quantiles at which they meet
Bins: TypeAlias = int | tuple[float, ...] | Quantiles

_DIGITS = 3
_MOST = 100_000  # classes, where there are fewer rows: a schema may be tried on some of them


def binned(
    name: str, column: pa.ChunkedArray, bins: Bins
) -> tuple[pa.ChunkedArray, tuple[str, ...]]:
    """The column as texts of classes, and the classes in ascending order."""
    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        raise SchemaError(f"column {name!r} holds {kind} values; bins are for numbers", column=name)
    if isinstance(bins, int) and bins > max(len(column), _MOST):
        raise SchemaError(
            f"column {name!r} has bins = {bins}, more than its {len(column):,} rows can fill; use "
            "fewer",
            column=name,
        )
    numbers = column.cast(pa.float64()).combine_chunks()
    known = pc.and_(numbers.is_valid(), pc.invert(pc.is_nan(numbers))).fill_null(False)
    values = numbers.fill_null(0.0).to_numpy(zero_copy_only=False)
    mask = known.to_numpy(zero_copy_only=False)
    limits = np.array(bins) if isinstance(bins, tuple) else _found(values[mask], bins)
    classes = tuple(_names(limits))
    codes = np.searchsorted(limits, values, side="right")
    texts = pa.array(classes).take(pa.array(codes, mask=~mask))
    return pa.chunked_array([texts]), classes


def classes_of(borders: tuple[float, ...]) -> tuple[str, ...]:
    """The classes between borders, in ascending order."""
    return tuple(_names(np.array(borders)))


def needs_rows(bins: Bins | None) -> bool:
    """Whether classes depend on the rows, all of which are then needed at once."""
    return bins is not None and not isinstance(bins, tuple)


def bins_of(name: str, said: Any) -> Bins:
    """What is said about the classes of a column, checked."""
    if type(said) is int and said >= 2:
        return said
    if isinstance(said, Quantiles):
        said = stated_bins(said)
    if isinstance(said, Mapping) and set(said) == {"quantiles"} and _rises(said["quantiles"]):
        shares = tuple(map(float, said["quantiles"]))
        if shares[0] > 0 and shares[-1] < 1:
            return Quantiles(shares)
    if _rises(said):
        return tuple(map(float, said))
    raise SchemaError(
        f"column {name!r} has bins = {said!r}; say how many classes (2 or more), or their borders "
        'in ascending order, such as [0, 20000], or {"quantiles": [0.25, 0.5, 0.75]}',
        column=name,
    )


def stated_bins(bins: Bins | None) -> Any:
    """The same as a schema file or JSON has it."""
    if isinstance(bins, Quantiles):
        return {"quantiles": list(bins.shares)}
    return list(bins) if isinstance(bins, tuple) else bins


def _rises(numbers: Any) -> bool:
    """Whether these are finite numbers, at least one, each larger than the one before."""
    if not isinstance(numbers, list | tuple) or not numbers:
        return False
    alike = all(isinstance(one, int | float) and not isinstance(one, bool) for one in numbers)
    return alike and bool(np.isfinite(numbers).all() and (np.diff(numbers) > 0).all())


def _found(values: Floats, bins: int | Quantiles) -> Floats:
    """Rounded quantiles between the classes, without those that leave a class empty."""
    if not len(values):
        return np.zeros(0)
    shares = bins.shares if isinstance(bins, Quantiles) else np.arange(1, bins) / bins
    quantiles = np.unique(np.quantile(values, shares))
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
