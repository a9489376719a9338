"""Taxonomies that need not be written by hand: over numbers, codes and dates.

Each is the way up of every value, given to ``Taxonomy.from_paths``. A label that would cover no
more than the one below it is the same node, so labels stay different where intervals are cut short
at the ends. The root is ``*``.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core.arrays import Floats
from sfumato.core.attribute import Attribute, as_floats
from sfumato.core.taxonomy import Taxonomy
from sfumato.errors import ParameterError

ROOT = "*"

_CLASSES = 16  # of a suggested taxonomy, at the lowest level
_CLOSE = 1_000  # whole numbers within such a range are all taken, also those that do not occur


def interval_taxonomy(low: int, high: int, widths: Sequence[int] = (5, 10, 20)) -> Taxonomy:
    """Whole numbers from ``low`` to ``high`` in intervals, a level for each width.

    Intervals start at multiples of their width and end at the ends of the range: 17 is in 17-19,
    then 10-19. Each width must be a multiple of the one below, or intervals would overlap.

    >>> sf.interval_taxonomy(0, 99, widths=(5, 20))
    Taxonomy(100 values, 3 levels above them)
    """
    _require_whole("low", low)
    _require_whole("high", high)
    if high < low:
        raise ParameterError(f"high = {high} is less than low = {low}", parameter="high")
    _require_widths(widths)

    def interval(value: int, width: int) -> str:
        start = value // width * width
        first, last = max(low, start), min(high, start + width - 1)
        return ROOT if (first, last) == (low, high) else _span(first, last)

    return Taxonomy.from_paths(
        (value, *(interval(value, width) for width in widths), ROOT)
        for value in range(low, high + 1)
    )


def prefix_taxonomy(values: Iterable[Any], mask: str = "*") -> Taxonomy:
    """Codes such as postal codes, of which a letter more is masked at each level, from the right.

    53711 becomes 5371*, 537**, 53***, 5**** and the root. All codes must be equally long.

    >>> sf.prefix_taxonomy(["02130", "02131", "10520"])
    Taxonomy(3 values, 5 levels above them)
    """
    codes = {str(value): value for value in values}
    if len(mask) != 1:
        raise ParameterError(f"mask = {mask!r}; use one character", parameter="mask")
    if not codes:
        raise ParameterError("a taxonomy needs at least one value", parameter="values")
    length = len(next(iter(codes)))
    for code in codes:
        _require_code(code, length, next(iter(codes)), mask)
    return Taxonomy.from_paths(
        (
            codes[code],
            *(code[:kept] + mask * (length - kept) for kept in range(length - 1, 0, -1)),
            ROOT,
        )
        for code in sorted(codes)
    )


def date_taxonomy(first: datetime.date, last: datetime.date) -> Taxonomy:
    """All days from ``first`` to ``last``, in months, years and decades.

    >>> from datetime import date
    >>> sf.date_taxonomy(date(2024, 1, 1), date(2024, 3, 31))
    Taxonomy(91 values, 4 levels above them)
    """
    for parameter, day in (("first", first), ("last", last)):
        # a moment is a date to Python, but not a day
        if type(day) is not datetime.date:
            raise ParameterError(f"{parameter} = {day!r}; use a datetime.date", parameter=parameter)
    if last < first:
        raise ParameterError(f"last = {last} is before first = {first}", parameter="last")
    days = (first + datetime.timedelta(days=n) for n in range((last - first).days + 1))
    return Taxonomy.from_paths(
        (day, f"{day:%Y-%m}", f"{day:%Y}", f"{day.year // 10}0s", ROOT) for day in days
    )


def suggest_taxonomy(values: Attribute | Iterable[Any]) -> Taxonomy:
    """A balanced taxonomy over the numbers of a column, or over a numerical attribute's domain.

    The values are divided into up to 16 classes that hold about equally many of them, with the
    roundest limits to be found near the quantiles; two neighbours at a time then make a class of
    the next level. Leaves are the values, or all whole numbers of a range of at most a thousand.

    >>> sf.suggest_taxonomy(range(100))
    Taxonomy(100 values, 5 levels above them)
    """
    numbers = _numbers(values)
    places = as_floats(numbers)
    whole = bool(pa.types.is_integer(numbers.type))
    leaves = pc.unique(numbers).to_pylist()
    if whole and max(leaves) - min(leaves) <= _CLOSE:
        leaves = list(range(min(leaves), max(leaves) + 1))
    leaves = sorted(leaves)
    limits = _limits(np.sort(places), np.array(leaves, np.float64))
    of_leaf = np.searchsorted(limits, np.array(leaves, np.float64), side="right")
    edges = [leaves[0], *(int(limit) if whole else limit for limit in limits.tolist()), leaves[-1]]
    levels = [_class_labels(edges, 2**level, whole) for level in range(len(limits).bit_length())]
    return Taxonomy.from_paths(
        (leaf, *(labels[place] for labels in levels), ROOT)
        for leaf, place in zip(leaves, of_leaf.tolist(), strict=True)
    )


def _span(first: int, last: int) -> str:
    if first == last:
        return str(first)
    return f"{first}-{last}" if first >= 0 else f"{first} to {last}"


def _require_whole(parameter: str, value: Any) -> None:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ParameterError(f"{parameter} = {value!r}; use a whole number", parameter=parameter)


def _require_widths(widths: Any) -> None:
    if not isinstance(widths, Sequence):
        raise ParameterError(f"widths = {widths!r}; use a list", parameter="widths")
    for width in widths:
        _require_whole("widths", width)
        if width < 2:
            raise ParameterError(f"widths holds {width}; use 2 or more", parameter="widths")
    for below, width in pairwise(widths):
        if width % below or width == below:
            raise ParameterError(
                f"width {width} is not a multiple of {below}, the one below; intervals of one "
                "level must fit into those of the next",
                parameter="widths",
            )


def _require_code(code: str, length: int, first: str, mask: str) -> None:
    if len(code) != length:
        raise ParameterError(
            f"the value {code!r} has {len(code)} characters, {first!r} has {length}; pad the "
            "shorter ones",
            parameter="values",
        )
    if mask in code:
        raise ParameterError(
            f"the value {code!r} contains the mask {mask!r}; choose another mask", parameter="mask"
        )


def _numbers(values: Attribute | Iterable[Any]) -> pa.Array:
    """The values as an array of numbers, at least one and none missing."""
    array = _as_array(values)
    kind = array.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        raise ParameterError(
            f"a taxonomy is suggested for numbers, not for {kind} values", parameter="values"
        )
    known = array.filter(pc.is_finite(array))
    if not len(known):
        raise ParameterError("there is no number to make a taxonomy of", parameter="values")
    # adding 0.0 turns -0.0 into 0.0, as in a column
    return pc.add(known, 0.0) if pa.types.is_floating(kind) else known


def _as_array(values: Attribute | Iterable[Any]) -> pa.Array:
    if isinstance(values, Attribute):
        return values.values
    if isinstance(values, pa.ChunkedArray):
        return values.combine_chunks()
    try:
        return values if isinstance(values, pa.Array) else pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise ParameterError(f"the values differ in type: {error}", parameter="values") from error


def _limits(rows: Floats, leaves: Floats) -> Floats:
    """Where classes begin, but for the first; none of them is empty."""
    classes = min(_CLASSES, len(leaves) // 2)
    limits = {_limit(rows, part / classes, 0.25 / classes) for part in range(1, classes)}
    inner = np.array(sorted(limits), np.float64)
    used = np.unique(np.searchsorted(inner, leaves, side="right"))
    return inner[used[1:] - 1]


def _limit(rows: Floats, fraction: float, slack: float) -> float:
    low, high = (
        float(rows[int(place * len(rows))]) for place in (fraction - slack, fraction + slack)
    )
    return _roundest(low, high)


def _roundest(low: float, high: float) -> float:
    """The number between two others that has the fewest digits."""
    if low >= high:
        return high
    coarsest = math.floor(math.log10(max(abs(low), abs(high)))) + 1
    finest = math.floor(math.log10(high - low))
    for digits in range(coarsest, finest - 1, -1):
        for step in (5, 2, 1):
            multiple = math.ceil(low / (step * 10.0**digits)) * step * 10.0**digits
            if multiple <= high:
                return round(multiple, -digits)
    return high


def _class_labels(edges: Sequence[Any], together: int, whole: bool) -> list[str]:
    """The label of every class at a level that takes so many of the lowest ones together."""
    classes = len(edges) - 1
    labels = []
    for place in range(classes):
        first = place // together * together
        last = min(first + together, classes)
        labels.append(_class_label(edges, first, last, whole))
    return labels


def _class_label(edges: Sequence[Any], first: int, last: int, whole: bool) -> str:
    if (first, last) == (0, len(edges) - 1):
        return ROOT
    ends_it = last == len(edges) - 1
    if whole:
        return _span(edges[first], edges[last] if ends_it else edges[last] - 1)
    return f"[{edges[first]}, {edges[last]}{']' if ends_it else ')'}"
