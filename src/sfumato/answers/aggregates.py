"""SUM, AVG, MIN and MAX as answers: an estimate, and bounds in the column's own type."""

from __future__ import annotations

from math import ceil, floor

import pyarrow as pa

from sfumato.answers.choices import Choices
from sfumato.answers.numbers import value_of
from sfumato.core.answer import Answer
from sfumato.core.query import Function

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
        return _minimum(choices, kind)
    return _maximum(choices, kind)


def _sum(choices: Choices, kind: pa.DataType) -> Answer:
    if choices.decided:
        total = choices.exact_sum()
        return Answer(total, *_ends(total, total, kind))
    slack = choices.slack()
    lo = -choices.mirrored().largest_sum() - slack
    hi = choices.largest_sum() + slack
    estimate = _within(choices.expected_sum(), lo, hi)
    return Answer(estimate, *_ends(lo, hi, kind), not choices.sure)


def _ends(lo: float, hi: float, kind: pa.DataType) -> tuple[float, float]:
    """A sum of whole numbers is one: rounding inwards undoes what means have lost."""
    return (ceil(lo), floor(hi)) if pa.types.is_integer(kind) else (lo, hi)


def _average(choices: Choices, kind: pa.DataType) -> Answer:
    rows = int(choices.least.sum())
    whole = pa.types.is_integer(kind) and rows == int(choices.most.sum())
    if choices.decided or whole:
        # of so many numbers: their average is as exact as their sum
        total = _sum(choices, kind)
        lo, hi = total.lo / rows, total.hi / rows
    else:
        slack = choices.slack() / max(1, rows)
        lo = -choices.mirrored().largest_average() - slack
        hi = choices.largest_average() + slack
    rows_expected = choices.expected_rows()
    estimate = choices.expected_sum() / rows_expected if rows_expected else (lo + hi) / 2
    return Answer(_within(estimate, lo, hi), lo, hi, not choices.sure)


def _minimum(choices: Choices, kind: pa.DataType) -> Answer:
    lo, hi = -choices.mirrored().largest(), choices.largest_minimum()
    estimate = _within(choices.expected_minimum(), lo, hi)
    return _of_type(estimate, lo, hi, not choices.sure, kind)


def _maximum(choices: Choices, kind: pa.DataType) -> Answer:
    mirrored = choices.mirrored()
    lo, hi = -mirrored.largest_minimum(), choices.largest()
    estimate = _within(-mirrored.expected_minimum(), lo, hi)
    return _of_type(estimate, lo, hi, not choices.sure, kind)


def _of_type(estimate: float, lo: float, hi: float, nullable: bool, kind: pa.DataType) -> Answer:
    if pa.types.is_integer(kind):
        return Answer(estimate, int(lo), int(hi), nullable)
    return Answer(value_of(estimate, kind), value_of(lo, kind), value_of(hi, kind), nullable)


def _within(estimate: float, lo: float, hi: float) -> float:
    return min(max(estimate, lo), hi)
