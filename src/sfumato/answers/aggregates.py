"""SUM, AVG, MIN and MAX as answers: an estimate, and bounds in the column's own type.

Every function of core/aggregates.py but COUNT has its bound here.

What is computed is exact (value_bounds.py). Whole numbers and decimals are told as they are.
Doubles, and averages of anything, are rounded once: to the nearest double where one value is left,
else downwards at the lower bound and upwards at the upper one. An estimate is as good as doubles
are, and lies between the bounds.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor, isfinite
from typing import Any

import pyarrow as pa

from sfumato.answers.value_bounds import Choices
from sfumato.core.aggregates import AGGREGATES
from sfumato.core.answer import Answer
from sfumato.core.exact import SAFE, Exact, double_above, double_below, nearest
from sfumato.core.moments import shown
from sfumato.core.query import Aggregate
from sfumato.errors import QueryRefused
from sfumato.queries.columns import Catalog

_EPOCH = date(1970, 1, 1).toordinal()
_DAY_IN_MS = 86_400_000
_MOST_DECIMAL = 10**76
NOTHING = Answer(None, None, None, nullable=True)


def aggregated(function: str, choices: Choices, kind: pa.DataType) -> Answer:
    """The answer of a function over what may be chosen."""
    return BOUNDS[function](choices, kind) if choices.possible else NOTHING


def result_type(aggregate: Aggregate, catalog: Catalog) -> pa.DataType:
    """The type of an aggregate's bounds; wider where a value does not fit."""
    name = aggregate.attribute
    if name is None:
        return pa.int64()
    return AGGREGATES[aggregate.function].result(catalog.columns[name].type)


def _sum(choices: Choices, kind: pa.DataType) -> Answer:
    lo, hi = _summed(choices, kind)
    if pa.types.is_decimal(kind) and (hi >= _MOST_DECIMAL or lo <= -_MOST_DECIMAL):
        raise _too_large("decimal (76 digits)")
    if not pa.types.is_floating(kind):
        return told(choices.expected_sum(), lo, hi, choices, kind)
    try:
        ends = _doubles(lo, hi)
    except OverflowError:
        raise _too_large("double (1.8e308)") from None
    return Answer(_within(choices.expected_sum(), *ends), *ends, not choices.sure)


def _too_large(than: str) -> QueryRefused:
    return QueryRefused(
        f"this SUM may be larger than any {than}; AVG, MIN and MAX can be asked", clause="SUM"
    )


def _summed(choices: Choices, kind: pa.DataType) -> tuple[Exact, Exact]:
    """A sum of whole numbers is one: rounding inwards undoes what means have lost."""
    lo, hi = (choices.sum_of_all(),) * 2 if choices.decided else choices.sums()
    return (lo, hi) if pa.types.is_floating(kind) else (ceil(lo), floor(hi))


def _average(choices: Choices, kind: pa.DataType) -> Answer:
    rows = int(choices.least.sum())
    if rows and rows == int(choices.most.sum()):
        # of so many numbers: their average is as exact as their sum
        lo, hi = (_divided(end, rows) for end in _summed(choices, kind))
    else:
        lo, hi = choices.averages()
    unit = _unit(kind)
    ends = _doubles(_divided(lo, unit), _divided(hi, unit))
    estimate = choices.expected_average() / float(unit)
    return Answer(_within(estimate, *ends), *ends, not choices.sure)


def _minimum(choices: Choices, kind: pa.DataType) -> Answer:
    lo, hi = choices.smallest(), choices.largest_minimum()
    return told(choices.expected_minimum(), lo, hi, choices, kind)


def _maximum(choices: Choices, kind: pa.DataType) -> Answer:
    lo, hi = choices.smallest_maximum(), choices.largest()
    return told(choices.expected_maximum(), lo, hi, choices, kind)


# By the names of core.aggregates: of what may be chosen, some row at least, and the column's type.
BOUNDS: dict[str, Callable[[Choices, pa.DataType], Answer]] = {
    "sum": _sum,
    "avg": _average,
    "min": _minimum,
    "max": _maximum,
}


def told(estimate: Any, lo: Any, hi: Any, choices: Choices, kind: pa.DataType) -> Answer:
    """Exact numbers as values of a type; an estimate of whole numbers may be a fraction."""
    estimate = _within(estimate, lo, hi)
    if pa.types.is_decimal(kind):
        estimate, lo, hi = (_decimal(round(one), kind.scale) for one in (estimate, lo, hi))
    elif pa.types.is_temporal(kind):
        estimate, lo, hi = (_moment(round(one), kind) for one in (estimate, lo, hi))
    elif pa.types.is_integer(kind) and abs(estimate) >= SAFE:
        estimate = int(estimate)  # a double so large is a whole number, and is told like its bounds
    return Answer(estimate, lo, hi, not choices.sure)


def _within(estimate: Any, lo: Any, hi: Any) -> Any:
    """An estimate that doubles cannot tell becomes the middle."""
    if isinstance(estimate, float) and not isfinite(estimate):
        if estimate != estimate:
            estimate = lo / 2 + hi / 2 if isinstance(lo, float) else (lo + hi) // 2
        else:
            estimate = hi if estimate > 0 else lo
    return min(max(estimate, lo), hi)


def _doubles(lo: Exact, hi: Exact) -> tuple[float, float]:
    """Bounds as doubles; OverflowError where there is none, also none further outwards."""
    if lo == hi:
        return nearest(lo), nearest(hi)
    ends = double_below(lo), double_above(hi)
    if not all(map(isfinite, ends)):
        raise OverflowError
    return ends


def _divided(number: Exact, by: Exact) -> Exact:
    return number if by == 1 else Fraction(number) / by


def _unit(kind: pa.DataType) -> Exact:
    """How many of what is counted make one."""
    return Fraction(10) ** kind.scale if pa.types.is_decimal(kind) else 1


def _decimal(number: int, scale: int) -> Decimal:
    """Not by arithmetic, which rounds to 28 digits."""
    return Decimal((number < 0, tuple(map(int, str(abs(number)))), -scale))


def _moment(number: int, kind: pa.DataType) -> Any:
    if not pa.types.is_date(kind):
        return shown(number, kind)
    days = number if pa.types.is_date32(kind) else number // _DAY_IN_MS
    return date.fromordinal(days + _EPOCH)
