"""SUM, AVG, MIN and MAX as answers: an estimate, and bounds in the column's own type.

What is computed is exact (value_bounds.py). Whole numbers and decimals are told as they are.
Doubles, and averages of anything, are rounded once: to the nearest double where one value is left,
else downwards at the lower bound and upwards at the upper one. An estimate is as good as doubles
are, and lies between the bounds.
"""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor, isfinite
from typing import Any

import pyarrow as pa

from sfumato.answers.value_bounds import Choices
from sfumato.core.answer import Answer
from sfumato.core.exact import SAFE, Exact, double_above, double_below, nearest
from sfumato.core.moments import shown
from sfumato.core.query import Function
from sfumato.errors import QueryRefused

_EPOCH = date(1970, 1, 1).toordinal()
_DAY_IN_MS = 86_400_000
_MOST_DECIMAL = 10**76
NOTHING = Answer(None, None, None, nullable=True)


def aggregated(function: Function, choices: Choices, kind: pa.DataType) -> Answer:
    """The answer of a function over what may be chosen."""
    if not choices.possible:
        return NOTHING
    if function == "sum":
        return _sum(choices, kind)
    if function == "avg":
        return _average(choices, kind)
    if function == "min":
        ends = choices.smallest(), choices.largest_minimum()
        return _extreme(choices.expected_minimum(), ends, choices, kind)
    ends = choices.smallest_maximum(), choices.largest()
    return _extreme(choices.expected_maximum(), ends, choices, kind)


def result_type(function: Function, kind: pa.DataType | None) -> pa.DataType:
    """The type of a function's bounds over a column; wider where a value does not fit."""
    if function == "count" or kind is None:
        return pa.int64()
    if function == "avg":
        return pa.float64()
    if pa.types.is_integer(kind):
        return pa.int64()
    return kind if pa.types.is_temporal(kind) or pa.types.is_decimal(kind) else pa.float64()


def _sum(choices: Choices, kind: pa.DataType) -> Answer:
    lo, hi = _summed(choices, kind)
    if pa.types.is_decimal(kind) and (hi >= _MOST_DECIMAL or lo <= -_MOST_DECIMAL):
        raise _too_large("decimal (76 digits)")
    if not pa.types.is_floating(kind):
        estimate = _within(choices.expected_sum(), lo, hi)
        return _told(estimate, lo, hi, choices, kind)
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


def _extreme(estimate: Any, ends: tuple[Any, Any], choices: Choices, kind: pa.DataType) -> Answer:
    return _told(_within(estimate, *ends), *ends, choices, kind)


def _told(estimate: Any, lo: Any, hi: Any, choices: Choices, kind: pa.DataType) -> Answer:
    """Exact numbers as values of a type; an estimate of whole numbers may be a fraction."""
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
