"""The values of one attribute that a query wants: points, ranges, and perhaps the missing one.

Ranges lie on the attribute's natural line (numbers, dates, texts letter by letter). Where an owner
declared another order, binding has listed the values, so that only points occur.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cmp_to_key
from typing import Any, NamedTuple


class Range(NamedTuple):
    """From low to high; None where it has no end. An open end is not part of it."""

    low: Any = None
    high: Any = None
    low_open: bool = False
    high_open: bool = False

    def holds(self, value: Any) -> bool:
        """Whether a value lies inside."""
        return (
            self.low is None or (value > self.low if self.low_open else value >= self.low)
        ) and (self.high is None or (value < self.high if self.high_open else value <= self.high))

    @property
    def empty(self) -> bool:
        """Whether nothing lies between the ends."""
        if self.low is None or self.high is None:
            return False
        return bool(
            self.low > self.high or (self.low == self.high and (self.low_open or self.high_open))
        )


EVERYTHING = Range()


@dataclass(frozen=True, slots=True)
class Values:
    """A set of values; ``ranges`` are sorted, apart from each other, and hold none of the points.

    (Sets made of points alone, by far the most frequent, are never sorted.)
    """

    points: frozenset[Any] = frozenset()
    ranges: tuple[Range, ...] = ()
    missing: bool = False

    def holds(self, value: Any) -> bool:
        """Whether a value, or None for a missing one, is in the set."""
        if value is None:
            return self.missing
        return value in self.points or any(part.holds(value) for part in self.ranges)

    @property
    def empty(self) -> bool:
        """Whether nothing is in the set."""
        return not (self.points or self.ranges or self.missing)

    def all_ranges(self) -> tuple[Range, ...]:
        """Points and ranges in one sorted list of ranges."""
        points = (Range(value, value) for value in self.points)
        return tuple(sorted((*points, *self.ranges), key=_BY_LOW))


def of_ranges(ranges: Iterable[Range], missing: bool) -> Values:
    """The set of everything in some ranges, in canonical form: equal sets are equal objects."""
    merged = _merged(ranges)
    points = frozenset(
        part.low for part in merged if part.low is not None and part.low == part.high
    )
    return Values(points, tuple(part for part in merged if _is_long(part)), missing)


def intersection(parts: Sequence[Values]) -> Values:
    """What is in all sets: everything that is outside of none, which takes one sort."""
    outside = [gap for part in parts for gap in complement(part.all_ranges())]
    inside = complement(_merged(outside))
    return of_ranges(inside, all(part.missing for part in parts))


def complement(ranges: Sequence[Range]) -> list[Range]:
    """Everything outside of sorted ranges that are apart from each other."""
    found: list[Range] = []
    low, low_open, done = None, False, False
    for part in ranges:
        if part.low is not None:
            found.append(Range(low, part.low, low_open, not part.low_open))
        low, low_open, done = part.high, not part.high_open, part.high is None
    if not done:
        found.append(Range(low, None, low_open, False))
    return [part for part in found if not part.empty]


def stepped(
    ranges: Iterable[Range],
    lowest: Callable[[Any, bool], Any],
    highest: Callable[[Any, bool], Any],
    following: Callable[[Any], Any],
) -> list[Range]:
    """Ranges on a line of steps (whole numbers, days): closed, and joined with neighbours.

    ``lowest(end, open)`` is the first step inside a low end, ``highest`` the last one inside a high
    end, ``following`` the next step. They raise OverflowError where the line ends.
    """
    joined: list[Range] = []
    for part in sorted(_closed(ranges, lowest, highest), key=_BY_LOW):
        last = joined.pop() if joined else None
        if last is None:
            joined.append(part)
        elif _neighbours(last, part, following):
            high = None if last.high is None or part.high is None else max(last.high, part.high)
            joined.append(Range(last.low, high))
        else:
            joined += (last, part)
    return joined


def _closed(
    ranges: Iterable[Range],
    lowest: Callable[[Any, bool], Any],
    highest: Callable[[Any, bool], Any],
) -> Iterator[Range]:
    for part in ranges:
        try:
            low = None if part.low is None else lowest(part.low, part.low_open)
            high = None if part.high is None else highest(part.high, part.high_open)
        except OverflowError:
            continue  # beyond the last step there is nothing
        if not (closed := Range(low, high)).empty:
            yield closed


def _neighbours(left: Range, right: Range, following: Callable[[Any], Any]) -> bool:
    if left.high is None or right.low is None:
        return True
    try:
        return bool(right.low <= following(left.high))
    except OverflowError:
        return True


def _is_long(part: Range) -> bool:
    return part.low is None or part.low != part.high


def _merged(ranges: Iterable[Range]) -> list[Range]:
    merged: list[Range] = []
    for part in sorted((part for part in ranges if not part.empty), key=_BY_LOW):
        if merged and _touch(merged[-1], part):
            last = merged.pop()
            high, high_open = _further(last, part)
            part = Range(last.low, high, last.low_open, high_open)
        merged.append(part)
    return merged


def _touch(left: Range, right: Range) -> bool:
    """Whether nothing lies between two ranges, the left one starting first."""
    if left.high is None or right.low is None:
        return True
    if left.high == right.low:
        return not (left.high_open and right.low_open)
    return bool(left.high > right.low)


def _further(left: Range, right: Range) -> tuple[Any, bool]:
    if left.high is None or right.high is None:
        return None, False
    if left.high == right.high:
        return left.high, left.high_open and right.high_open
    return max((left.high, left.high_open), (right.high, right.high_open), key=lambda end: end[0])


def _compare_low(one: Range, other: Range) -> int:
    if one.low is None or other.low is None:
        return (one.low is not None) - (other.low is not None)
    if one.low == other.low:
        return one.low_open - other.low_open
    return -1 if one.low < other.low else 1


_BY_LOW = cmp_to_key(_compare_low)
