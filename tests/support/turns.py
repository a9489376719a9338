"""Mondrian with axes in turn, as the k-join paper has it, again: row by row, in plain Python."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median_low

Row = tuple[int, ...]


def cut_in_turns(
    people: Sequence[Row], rows: Sequence[int], turn: int, k: int
) -> Iterator[tuple[frozenset[int], int]]:
    """The groups of these rows, and the axis that would have been next in each."""
    d = len(people[0])
    for axis in [(turn + step) % d for step in range(d)]:
        for left in _median_cuts(people, rows, axis):
            right = [row for row in rows if row not in left]
            if min(len(left), len(right)) >= k:
                yield from cut_in_turns(people, left, (axis + 1) % d, k)
                yield from cut_in_turns(people, right, (axis + 1) % d, k)
                return
    yield frozenset(rows), turn


def _median_cuts(people: Sequence[Row], rows: Sequence[int], axis: int) -> list[list[int]]:
    """The rows up to the median, and those below it, the more even cut first."""
    median = median_low(people[row][axis] for row in rows)
    upto = [row for row in rows if people[row][axis] <= median]
    below = [row for row in rows if people[row][axis] < median]
    return sorted([upto, below], key=lambda left: abs(2 * len(left) - len(rows)))
