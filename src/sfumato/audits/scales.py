"""Numbers along an axis: round, and short."""

from __future__ import annotations

import math


def round_step(least: float) -> float:
    """The least of 1, 2 and 5 times a power of ten that is not below this."""
    power = 10.0 ** math.floor(math.log10(least))
    if not power:
        return least  # smaller than the smallest power of ten
    return next(step for step in (power, 2 * power, 5 * power, 10 * power) if step >= least * 0.999)


def whole_step(least: int) -> int:
    """The same of whole numbers, however large."""
    power = int(10 ** (len(str(max(least, 1))) - 1))
    return next(step for step in (power, 2 * power, 5 * power, 10 * power) if step >= least)


def ticks(high: float, most: int) -> list[float]:
    """Round whole numbers from 0 up to a limit, at most so many beside 0."""
    step = round_step(max(high / most, 1.0))
    return [step * place for place in range(math.floor(high / step + 1e-9) + 1)]


def decades(low: float, high: float) -> list[float]:
    """The powers of ten that enclose two positive numbers."""
    first = math.floor(math.log10(low) + 1e-9)
    last = max(math.ceil(math.log10(high) - 1e-9), first + 1)
    return [10.0**power for power in range(first, last + 1)]


def short(amount: float) -> str:
    """1200 as 1.2k: there is little room beside an axis."""
    for limit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if amount >= limit:
            return f"{amount / limit:g}{letter}"
    return f"{amount:g}"
