"""Dates and times as whole numbers, and as Python has them.

Timestamps, times of day and lengths of time are compared as whole numbers of their unit: Python
takes the two instants of an hour that summer time repeats for one, and has no nanoseconds. A
timestamp with a zone counts in UTC. What is shown has a fixed offset from UTC, so that two instants
differ also in Python.

Nanoseconds are shown as pandas has them, or as NumPy does where pandas is not installed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta, timezone
from fractions import Fraction
from math import ceil, floor
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.core.arrays import Counts
from sfumato.errors import QueryRefused

_EPOCH = datetime(1970, 1, 1)
_MIDNIGHT = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_DAY_IN_MS = 86_400_000
_FRACTION = re.compile(r"([.,])(\d{7,})")  # finer than Python reads


def is_moment(kind: pa.DataType) -> bool:
    """Whether values of a type are compared as numbers of their unit; dates are dates."""
    return bool(pa.types.is_temporal(kind) and not pa.types.is_date(kind))


def calendar_limits(kind: pa.DataType) -> tuple[int, int] | None:
    """The first and the last number of a type's units that Python has; None if it has all."""
    if pa.types.is_time(kind):
        return None
    if getattr(kind, "unit", "") == "ns":
        return -(2**63) + 1, 2**63 - 1  # the very first stands for "not a time"
    if pa.types.is_duration(kind):
        first, last = timedelta.min, timedelta.max
    else:
        first, last = datetime.min - _EPOCH, datetime.max - _EPOCH
    return ceil(_in_units(first, kind)), floor(_in_units(last, kind))


def units_of(values: pa.Array) -> Counts:
    """Dates and times, without nulls, as how many of their units passed since 1970."""
    numbers: Counts = (
        values.cast(_width(values.type)).to_numpy(zero_copy_only=False).astype(np.int64)
    )
    return numbers


def comparable(values: pa.Array) -> list[Any]:
    """Values as questions compare them; None for nulls."""
    if is_moment(values.type):
        values = values.cast(_width(values.type))
    found: list[Any] = values.to_pylist()
    return found


def python_values(values: pa.Array) -> list[Any]:
    """Values as Python has them; None for nulls."""
    return [shown(value, values.type) for value in comparable(values)]


def askable_values(values: pa.Array) -> list[Any]:
    """The same as conditions take them: a time of day that Python does not have is a text."""
    if values.type != pa.time64("ns"):
        return python_values(values)
    texts = values.cast(pa.string()).to_pylist()
    return [
        text if _is_too_fine(number, values.type) else shown(number, values.type)
        for number, text in zip(comparable(values), texts, strict=True)
    ]


def of_python(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """The way back from ``python_values``; Arrow does not take all that NumPy has."""
    numbers = [None if value is None else int(unit_number(value, kind)) for value in values]
    return pa.array(numbers, _width(kind)).cast(kind)


def shown(value: Any, kind: pa.DataType) -> Any:
    """What Python has for a value that is compared; None stays None."""
    if value is None or not is_moment(kind):
        return value
    number = round(value)
    if pa.types.is_timestamp(kind):
        return _nanotime(number, kind.tz) if kind.unit == "ns" else _datetime(number, kind)
    if pa.types.is_time(kind):
        return _time_of_day(number, kind)
    if kind.unit == "ns":
        return _nanolength(number)
    return timedelta(microseconds=_microseconds(number, kind))


def unit_number(value: Any, kind: pa.DataType) -> int | Fraction:
    """A date or time that Python has as the number of a type's units; a fraction between two."""
    if isinstance(value, np.datetime64 | np.timedelta64):
        return _of_numpy(value, kind)
    if isinstance(value, datetime):
        since = (value if value.tzinfo is None else _in_utc(value)) - _EPOCH
        return _in_units(since, kind, getattr(value, "nanosecond", 0))
    if isinstance(value, date):
        days = value.toordinal() - _EPOCH.toordinal()
        if pa.types.is_date(kind):
            return days if pa.types.is_date32(kind) else days * _DAY_IN_MS
        return _in_units(timedelta(days), kind)
    if isinstance(value, time):
        if value.tzinfo is not None:
            raise ValueError("a time of day has no zone")
        return _in_units(datetime.combine(_MIDNIGHT, value) - _MIDNIGHT, kind)
    return _in_units(value, kind, getattr(value, "nanoseconds", 0))


def read_text(text: str, kind: pa.DataType) -> int | Fraction:
    """The number of units of a timestamp or time of day in ISO form, however fine."""
    finer = _FRACTION.search(text)
    plain = text if finer is None else text[: finer.start()] + text[finer.end() :]
    read = time.fromisoformat if pa.types.is_time(kind) else datetime.fromisoformat
    found = unit_number(read(plain), kind)
    if finer is None:
        return found
    digits = finer[2]
    return _whole(found + Fraction(int(digits) * _PER_SECOND[kind.unit], 10 ** len(digits)))


def has_zone(value: Any) -> bool | None:
    """Whether a timestamp states its offset from UTC; None of what need not: NumPy's are in UTC."""
    if isinstance(value, np.datetime64):
        return None
    if isinstance(value, str):
        return datetime.fromisoformat(_FRACTION.sub("", value)).tzinfo is not None
    return value.tzinfo is not None


def nanoseconds_of(value: Any) -> np.datetime64 | np.timedelta64 | None:
    """A time of pandas or NumPy that is finer than Python's, as NumPy's; None of all others."""
    if isinstance(value, np.datetime64 | np.timedelta64):
        return value if np.datetime_data(value.dtype)[0] == "ns" else None
    if isinstance(value, datetime) and getattr(value, "nanosecond", False):
        return np.datetime64(int(unit_number(value, pa.timestamp("ns"))), "ns")
    if isinstance(value, timedelta) and getattr(value, "nanoseconds", False):
        return np.timedelta64(int(unit_number(value, pa.duration("ns"))), "ns")
    return None


def _width(kind: pa.DataType) -> pa.DataType:
    return pa.int32() if kind.bit_width == 32 else pa.int64()


def _datetime(number: int, kind: pa.DataType) -> datetime:
    found = _EPOCH + timedelta(microseconds=_microseconds(number, kind))
    if kind.tz is None:
        return found
    instant = found.replace(tzinfo=UTC)
    try:
        local = instant.astimezone(pa.lib.string_to_tzinfo(kind.tz))
    except OverflowError:  # the last hours that Python has
        return instant
    offset = local.utcoffset()
    return instant if offset is None else local.replace(tzinfo=timezone(offset), fold=0)


def _nanotime(number: int, zone: str | None) -> Any:
    try:
        import pandas as pd
    except ImportError:
        return np.datetime64(number, "ns")
    instant = pd.Timestamp(number, unit="ns", tz=None if zone is None else "UTC")
    if zone is None:
        return instant
    try:
        return instant.tz_convert(zone)
    except pd.errors.OutOfBoundsDatetime:  # the first and the last hours that pandas has
        return instant


def _nanolength(number: int) -> Any:
    try:
        import pandas as pd
    except ImportError:
        return np.timedelta64(number, "ns")
    return pd.Timedelta(number, unit="ns")


def _time_of_day(number: int, kind: pa.DataType) -> time:
    if _is_too_fine(number, kind):
        raise QueryRefused(
            "a time of day finer than microseconds cannot be shown; such rows can be counted",
            clause="SELECT",
        )
    return (_MIDNIGHT + timedelta(microseconds=_microseconds(number, kind))).time()


def _is_too_fine(number: Any, kind: pa.DataType) -> bool:
    """Whether it is a time of day between two microseconds."""
    return number is not None and kind == pa.time64("ns") and number % 1_000 != 0


def _microseconds(number: int, kind: pa.DataType) -> int:
    return number * 10**6 // _PER_SECOND[kind.unit]


def _in_units(span: timedelta, kind: pa.DataType, nanoseconds: int = 0) -> int | Fraction:
    if pa.types.is_date(kind):
        unit = timedelta(days=1) if pa.types.is_date32(kind) else timedelta(milliseconds=1)
        return _whole(Fraction(span // _MICROSECOND, unit // _MICROSECOND))
    fine = span // _MICROSECOND * 1_000 + nanoseconds
    return _whole(Fraction(fine * _PER_SECOND[kind.unit], 10**9))


def _in_utc(value: datetime) -> datetime:
    """Without conversion, which fails in the last hours of the calendar."""
    offset = value.utcoffset() or timedelta(0)
    return value.replace(tzinfo=None) - offset


def _of_numpy(value: np.datetime64 | np.timedelta64, kind: pa.DataType) -> int | Fraction:
    if np.isnat(value):
        raise ValueError("not a time")
    # coarser units reach too far for nanoseconds
    unit = "ns" if np.datetime_data(value.dtype)[0] == "ns" else "us"
    kind_of_number = "datetime64" if isinstance(value, np.datetime64) else "timedelta64"
    number = int(value.astype(f"{kind_of_number}[{unit}]").astype(np.int64))
    return _whole(Fraction(number * _PER_SECOND[kind.unit], _PER_SECOND[unit]))


def _whole(number: int | Fraction) -> int | Fraction:
    return int(number) if number == int(number) else number
