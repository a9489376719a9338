"""Conditions as runs of codes, and as steps through the bitmaps of the index.

A condition keeps the codes that satisfy it, as sorted runs that are apart from each other, whatever
its words: that is the canonical form in which queries of equal meaning are equal. Values that the
public domain lacks have no code, so they count as an empty range. A condition that keeps every code
is none.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import pyarrow as pa

from sfumato.core.attribute import Attribute, Kind
from sfumato.core.moments import comparable, python_values
from sfumato.core.predicates import Both, Compare, Predicate
from sfumato.queries.values import Range, Values

Run: TypeAlias = tuple[int, int]  # first and last code
Runs: TypeAlias = tuple[Run, ...]
Conditions: TypeAlias = Mapping[str, Runs]


@dataclass(frozen=True, eq=False)
class Axis:
    """The public domain of an attribute, and which codes its values have."""

    attribute: Attribute

    @cached_property
    def size(self) -> int:
        """Number of codes; a missing value's comes last."""
        return self.attribute.size

    @cached_property
    def line(self) -> list[Any]:
        """The values as they are compared (core.moments), in the order of their codes, without the
        missing one.
        """
        return comparable(self.attribute.values)

    @cached_property
    def shown(self) -> list[Any]:
        """The same values as Python has them."""
        return python_values(self.attribute.values)

    @property
    def keys(self) -> list[Any]:
        """The values as they are shown, None for a missing one at the end."""
        return [*self.shown, *([None] if self.attribute.has_missing else [])]

    @cached_property
    def codes(self) -> Mapping[Any, int]:
        """The code of every value."""
        return {value: code for code, value in enumerate(self.line)}

    @cached_property
    def sorted(self) -> bool:
        """Whether codes follow the order of values, not one that the owner declared."""
        return not (self.attribute.kind is Kind.CATEGORICAL and self.attribute.ordered)

    @cached_property
    def whole(self) -> bool:
        """Whether the values are whole numbers in their order."""
        return self.sorted and bool(pa.types.is_integer(self.attribute.values.type))

    def runs(self, wanted: Values) -> Runs:
        """The codes of the wanted values."""
        if self.sorted and len(wanted.ranges) == 1 and not wanted.points and not wanted.missing:
            return self._span(wanted.ranges[0])
        return joined(sorted(self._wanted(wanted)))

    def quick_runs(self, predicate: Predicate) -> Runs | None:
        """The codes from one whole number to another, the most frequent question; else None.

        What queries.binding makes of such a predicate is the same, and takes longer.
        """
        if type(predicate) is not Both or not self.whole:
            return None
        low, high = predicate.first, predicate.second
        if (
            type(low) is Compare
            and type(high) is Compare
            and low.operator == ">="
            and high.operator == "<="
            and type(low.value) is int
            and type(high.value) is int
        ):
            return self._between(low.value, high.value)
        return None

    def _between(self, low: Any, high: Any) -> Runs:
        first, last = bisect_left(self.line, low), bisect_right(self.line, high) - 1
        return ((first, last),) if first <= last else ()

    def _span(self, part: Range) -> Runs:
        line, first, last = self.line, 0, len(self.line) - 1
        if part.low is not None:
            first = (bisect_left, bisect_right)[part.low_open](line, part.low)
        if part.high is not None:
            last = (bisect_right, bisect_left)[part.high_open](line, part.high) - 1
        return ((first, last),) if first <= last else ()

    def _wanted(self, wanted: Values) -> set[int]:
        found = {self.codes[value] for value in wanted.points if value in self.codes}
        for part in wanted.ranges:
            if self.sorted:
                found.update(code for a, b in self._span(part) for code in range(a, b + 1))
            else:
                found.update(code for code, value in enumerate(self.line) if part.holds(value))
        if wanted.missing and self.attribute.has_missing:
            found.add(self.attribute.missing_code)
        return found


def joined(codes: Iterable[int]) -> Runs:
    """Ascending codes as runs."""
    runs: list[Run] = []
    for code in codes:
        if runs and runs[-1][1] == code - 1:
            runs[-1] = (runs[-1][0], code)
        else:
            runs.append((code, code))
    return tuple(runs)


def is_all(runs: Runs, axis: Axis) -> bool:
    """Whether a condition keeps every code."""
    return len(runs) == 1 and runs[0][0] == 0 and runs[0][1] == axis.size - 1


def common(one: Runs, other: Runs) -> Runs:
    """The codes in both."""
    found = [(max(a, c), min(b, d)) for a, b in one for c, d in other]
    return tuple(run for run in found if run[0] <= run[1])
