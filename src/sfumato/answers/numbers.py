"""Values as floating-point numbers, for sums and lengths, and back."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import pyarrow as pa

_EPOCH = datetime(1970, 1, 1)
_DAY = timedelta(days=1)
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def number_of(value: Any, kind: pa.DataType) -> float:
    """A value as core.attribute.as_floats counts it: times in their type's unit since 1970."""
    if isinstance(value, datetime):
        shifted = value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
        return _in_units(shifted - _EPOCH, kind)
    if isinstance(value, date):
        return _in_units(timedelta(value.toordinal() - _EPOCH.toordinal()), kind)
    if isinstance(value, time):
        return _in_units(datetime.combine(_EPOCH, value) - _EPOCH, kind)
    return _in_units(value, kind) if isinstance(value, timedelta) else float(value)


def value_of(number: float, kind: pa.DataType) -> Any:
    """The value of a type that a number stands for, the nearest one if it lies between two."""
    if not pa.types.is_temporal(kind):
        return number
    width = pa.int32() if kind.bit_width == 32 else pa.int64()
    return pa.array([round(number)], width).cast(kind)[0].as_py()


def _in_units(span: timedelta, kind: pa.DataType) -> float:
    if pa.types.is_date(kind):
        return span / (_DAY if pa.types.is_date32(kind) else timedelta(milliseconds=1))
    return span / timedelta(seconds=1) * _PER_SECOND[kind.unit]
