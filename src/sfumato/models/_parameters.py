"""Parameters of models as plain Python numbers, whatever library they come from."""

from __future__ import annotations

import math
import numbers
import operator
from typing import Any


def whole_number(value: Any) -> int | None:
    """The value as an int if it is a whole number, NumPy's too; True is none, and 2.0 is none."""
    if isinstance(value, bool):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


def finite_number(value: Any) -> int | float | None:
    """The value as an int or a float if it is a finite number."""
    exact = whole_number(value)
    if exact is None and (isinstance(value, bool) or not isinstance(value, numbers.Real)):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    if not math.isfinite(number):
        return None
    return number if exact is None else exact
