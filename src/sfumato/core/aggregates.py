"""The functions that a query can compute, in one table.

Questions in SQL and JSON, the checks before an answer, the types of answers and the server's
description all look here. How a function is bounded stands in answers/aggregates.py, under the same
name. COUNT is bounded like no other: by counting, not by choosing among values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class AggregateFunction:
    """Which columns a function takes, and what comes out.

    ``needs`` names the types that it ``takes`` in the refusal of any other; ``result`` is the type
    of its bounds. A function that ``adds`` values profits from the means that groups state. One
    that looks for an ``end`` profits from boxes whose ends are values of rows.
    """

    takes: Callable[[pa.DataType], bool]
    needs: str
    result: Callable[[pa.DataType], pa.DataType]
    adds: bool = False
    end: Literal["low", "high"] | None = None


def is_number(kind: pa.DataType) -> bool:
    """Whether values of this type can be added up."""
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )


def is_measured(kind: pa.DataType) -> bool:
    """Whether values of this type lie on a line: numbers, dates and times."""
    return is_number(kind) or bool(pa.types.is_temporal(kind))


def widest(kind: pa.DataType) -> pa.DataType:
    """The widest type of a column's kind of values, which also holds sums of them."""
    if pa.types.is_integer(kind):
        return pa.int64()
    return kind if pa.types.is_temporal(kind) or pa.types.is_decimal(kind) else pa.float64()


_MEASURED = "numbers, dates or times"

AGGREGATES: dict[str, AggregateFunction] = {
    "count": AggregateFunction(lambda _: True, "a column", lambda _: pa.int64()),
    "sum": AggregateFunction(is_number, "numbers", widest, adds=True),
    "avg": AggregateFunction(is_number, "numbers", lambda _: pa.float64(), adds=True),
    "min": AggregateFunction(is_measured, _MEASURED, widest, end="low"),
    "max": AggregateFunction(is_measured, _MEASURED, widest, end="high"),
}
