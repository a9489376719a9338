"""Numbers as they are: whole numbers of any size, decimals and doubles, summed without rounding.

Floating point is exact up to 2**53 only, and sums of doubles are not exact at all. Where a bound
hangs on a value, that value is kept in one of these forms:

    int64, uint64   whole numbers; dates and times as how many of their units passed since 1970
    float64         doubles, each of which is a fraction
    object          Python's whole numbers: decimals, in units of their last digit

A sum is a whole number, or a fraction if it is one of doubles. It is rounded once, when it is told.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Context
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.core.arrays import Codes, Counts, Floats
from sfumato.core.moments import units_of

Numbers: TypeAlias = NDArray[Any]
Exact: TypeAlias = int | Fraction

SAFE = 2**53  # whole numbers up to here are doubles
_WIDE = Context(prec=200)
_MOST_ROWS = 2**30  # so many rows cannot make the limbs of a sum overflow
_LIMB = 18


def exact_numbers(values: pa.Array) -> Numbers:
    """Values without nulls as numbers."""
    kind = values.type
    if pa.types.is_temporal(kind):
        return units_of(values)
    if pa.types.is_decimal(kind):
        scaled = [int(value.scaleb(kind.scale, _WIDE)) for value in values.to_pylist()]
        return _objects(scaled)
    numbers: Numbers = values.to_numpy(zero_copy_only=False)
    if numbers.dtype == np.float64 or numbers.dtype == np.uint64:
        return numbers
    return numbers.astype(np.float64 if pa.types.is_floating(kind) else np.int64)


def order_keys(numbers: Numbers) -> Numbers:
    """Something that sorts as the numbers do, in a type that NumPy sorts."""
    if numbers.dtype != np.object_:
        return numbers
    _, ranks = np.unique(numbers, return_inverse=True)
    return ranks


def as_doubles(numbers: Numbers) -> Floats:
    """The nearest doubles, for what is expected only."""
    return numbers.astype(np.float64)


def between_doubles(low: Numbers, high: Numbers) -> tuple[Floats, Floats]:
    """Doubles that are not above the ones, and not below the others."""
    if low.dtype == np.float64:
        return low, high
    below, above = as_doubles(low), as_doubles(high)
    return (
        np.where(np.abs(below) < SAFE, below, np.nextafter(below, -np.inf)),
        np.where(np.abs(above) < SAFE, above, np.nextafter(above, np.inf)),
    )


def offsets(numbers: Numbers, base: Any) -> Floats:
    """How far numbers lie above one of them, as doubles; those of doubles are quartered, so that
    no two are too far apart.
    """
    if numbers.dtype == np.float64:
        quarters: Floats = numbers / 4 - base / 4
        return quarters
    if numbers.dtype == np.object_:
        return np.array([number - base for number in numbers.tolist()], np.float64)
    # modulo 2**64: a distance may be too large for a signed number
    apart = numbers.astype(np.uint64) - np.uint64(int(base) % 2**64)
    return apart.astype(np.float64)


def distances(low: Counts, high: Counts) -> Floats:
    """How far whole numbers lie above others, rounded once: near 2**63 the ends themselves would
    lose more than lies between them.
    """
    # modulo 2**64: a distance may be too large for a signed number
    return (high.astype(np.uint64) - low.astype(np.uint64)).astype(np.float64)


def offset_number(base: Any, offset: float, numbers: Numbers) -> Any:
    """The number that lies so far above a base, as near as it matters."""
    if numbers.dtype == np.float64:
        return 4 * (float(base) / 4 + offset)
    whole = int(base)
    return whole + (offset if abs(whole) + abs(offset) < SAFE else round(offset))


def total(numbers: Numbers, counts: Counts) -> Exact:
    """The sum of numbers that count so often."""
    n_rows = int(counts.sum())
    if numbers.dtype == np.int64 and n_rows * _largest(numbers) < 2**62:
        return int(numbers @ counts)
    if numbers.dtype == np.object_ or n_rows > _MOST_ROWS:
        pairs = zip(numbers.tolist(), counts.tolist(), strict=True)
        found: Exact = sum((_exact(number) * count for number, count in pairs), 0)
        return found
    if numbers.dtype == np.float64:
        return _total_of_doubles(numbers, counts)
    high = (numbers >> numbers.dtype.type(32)).astype(np.int64)
    low = (numbers & numbers.dtype.type(2**32 - 1)).astype(np.int64)
    return (int((high * counts).sum()) << 32) + int((low * counts).sum())


def _largest(numbers: Counts) -> int:
    """The largest of whole numbers, their signs left out."""
    return max(int(numbers.max()), -int(numbers.min())) if len(numbers) else 0


def means_by_group(
    numbers: Numbers, groups: Codes, n_groups: int, scale: int = 0
) -> tuple[Floats, Counts]:
    """The mean of each group's numbers, and how many they are; rounded at most twice.

    Numbers are in units of ``10 ** -scale``. No sum on the way can be too large: the mean of
    doubles is one.
    """
    counts = np.bincount(groups, minlength=n_groups)
    if numbers.dtype != np.float64 and scale == 0 and _is_small(numbers):
        sums = np.bincount(groups, weights=as_doubles(numbers), minlength=n_groups)
        return sums / np.maximum(counts, 1), counts
    ordered = numbers[np.argsort(groups, kind="stable")].tolist()
    ends = np.cumsum(counts).tolist()
    means = np.zeros(n_groups)
    begin = 0
    for group, end in enumerate(ends):
        if end > begin:
            means[group] = _mean(ordered[begin:end], scale)
        begin = end
    return means, counts


def nearest(number: Exact) -> float:
    """The nearest double; OverflowError where there is none."""
    return float(number)


def double_below(number: Exact) -> float:
    """The largest double that is not above."""
    found = float(number)
    return found if Fraction(found) <= number else math.nextafter(found, -math.inf)


def double_above(number: Exact) -> float:
    """The smallest double that is not below."""
    found = float(number)
    return found if Fraction(found) >= number else math.nextafter(found, math.inf)


def above(numbers: Numbers, pivot: Exact) -> NDArray[np.bool_]:
    """Which numbers are larger than some fraction."""
    limit = double_below(pivot) if numbers.dtype == np.float64 else math.floor(pivot)
    return np.asarray(numbers > limit, np.bool_)


def below(numbers: Numbers, pivot: Exact) -> NDArray[np.bool_]:
    """Which numbers are smaller than some fraction."""
    limit = double_above(pivot) if numbers.dtype == np.float64 else math.ceil(pivot)
    return np.asarray(numbers < limit, np.bool_)


def _exact(number: Any) -> Exact:
    return Fraction(number) if isinstance(number, float) else int(number)


def _objects(numbers: Iterable[int]) -> Numbers:
    listed = list(numbers)
    found = np.empty(len(listed), np.object_)
    found[:] = listed
    return found


def _is_small(numbers: Numbers) -> bool:
    """Whether sums of whole numbers stay exact in floating point."""
    if not len(numbers):
        return True
    return max(abs(int(numbers.min())), abs(int(numbers.max()))) * len(numbers) < SAFE


def _mean(numbers: list[Any], scale: int) -> float:
    if not isinstance(numbers[0], float):
        return float(Fraction(sum(numbers), len(numbers)) / Fraction(10) ** scale)
    try:
        found = math.fsum(numbers) / len(numbers)
    except OverflowError:  # of the sum, not of the mean
        found = float(sum(map(Fraction, numbers)) / len(numbers))
    return float(min(max(found, min(numbers)), max(numbers)))


def _total_of_doubles(numbers: Floats, counts: Counts) -> Fraction:
    """A double is a whole number of 53 digits times a power of two: powers are summed apart."""
    parts, powers = np.frexp(numbers)
    whole = np.ldexp(parts, 53).astype(np.int64)
    lowest = int(powers.min()) if len(powers) else 0
    places, mask = powers - lowest, 2**_LIMB - 1
    limbs = (whole & mask, (whole >> _LIMB) & mask, whole >> 2 * _LIMB)
    # each limb times its count stays below 2**53, and so does the sum: floating point is exact
    low, middle, high = (np.bincount(places, limb * counts).tolist() for limb in limbs)
    found = 0
    for place, sums in enumerate(zip(low, middle, high, strict=True)):
        if any(sums):
            part = int(sums[0]) + (int(sums[1]) << _LIMB) + (int(sums[2]) << 2 * _LIMB)
            found += part << place
    power = lowest - 53
    return Fraction(found << power) if power >= 0 else Fraction(found, 1 << -power)
