"""A column cut into few bins, so that two distributions of it can be compared and drawn.

Bins are conditions: the same ones are asked of the release and of the table. Numbers and times are
cut into ranges without gaps, for the boxes of a release also cover values that nobody has; a range
ends before the next one begins, and the outermost are open. Values with a declared order are cut
into runs, others into the most frequent ones and the rest. Missing has a bin of its own.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.audits.scales import round_step, whole_step
from sfumato.core.arrays import Counts
from sfumato.core.attribute import Attribute, Kind
from sfumato.core.moments import askable_values, comparable
from sfumato.core.predicates import Compare, Missing, Predicate, at_least, one_of

_CROWDED = 0.8  # one range with more rows than this tells nothing; ranges of equal counts do
_REST = " others"
_LONG_TAIL = 0.03  # ... nor do ranges of which the upper half has fewer rows than this


@dataclass(frozen=True, slots=True)
class Bin:
    """A name for the reader, and the condition that its rows satisfy."""

    label: str
    predicate: Predicate


def bins_of(attribute: Attribute, counts: Counts, most: int) -> tuple[Bin, ...]:
    """At most so many bins, which together hold every row once; ``counts`` are those of codes."""
    room = most - attribute.has_missing
    known = counts[: len(attribute.values)]
    if attribute.kind is Kind.NUMERICAL and len(attribute.values) > 1:
        found = _ranges(attribute, _edges(attribute, known, room))
    elif attribute.ordered:
        found = _runs(askable_values(attribute.values), room)
    else:
        found = _most_frequent(askable_values(attribute.values), known, room)
    return (*found, *([Bin("(missing)", Missing())] if attribute.has_missing else []))


def _edges(attribute: Attribute, counts: Counts, most: int) -> list[Any]:
    """Where ranges begin, the first one at the least value."""
    if len(attribute.values) <= most:
        return askable_values(attribute.values)
    if pa.types.is_temporal(attribute.values.type):
        firsts = np.linspace(attribute.positions[0], attribute.positions[-1], most + 1)[:-1]
        return _at(attribute, np.searchsorted(attribute.positions, firsts))
    edges = _round_edges(attribute, most)
    return edges if _tell(attribute, counts, edges) else _even(attribute, counts, most)


def _tell(attribute: Attribute, counts: Counts, edges: Sequence[Any]) -> bool:
    values = comparable(attribute.values)
    firsts = [0, *(bisect_left(values, edge) for edge in edges[1:])]
    rows = np.diff(np.append(0, np.cumsum(counts))[[*firsts, len(values)]])
    upper = rows[len(rows) // 2 :].sum()
    return bool(rows.max() < _CROWDED * counts.sum() and upper > _LONG_TAIL * counts.sum())


def _round_edges(attribute: Attribute, most: int) -> list[Any]:
    """Multiples of 1, 2 or 5 times a power of ten that lie among the values."""
    if _whole(attribute):
        first, last = attribute.values[0].as_py(), attribute.values[-1].as_py()
        stride = whole_step(-(-(last - first) // (most - 1)))
        return [first, *range((first // stride + 1) * stride, last + 1, stride)]
    low, high = float(attribute.positions[0]), float(attribute.positions[-1])
    step = round_step(high / (most - 1) - low / (most - 1))
    with np.errstate(over="ignore"):  # what is too large is not below the highest either
        inner = np.arange(math.floor(low / step) + 1, math.ceil(high / step) + 1) * step
    return [low, *inner[(inner > low) & (inner <= high)].tolist()]


def _even(attribute: Attribute, counts: Counts, most: int) -> list[Any]:
    """Ranges that hold about equally many rows."""
    ends = np.cumsum(counts)
    return _at(attribute, np.searchsorted(ends, ends[-1] * np.arange(most) / most, side="right"))


def _at(attribute: Attribute, codes: Counts) -> list[Any]:
    return askable_values(attribute.values.take(pa.array(np.unique(codes))))


def _ranges(attribute: Attribute, edges: Sequence[Any]) -> Iterator[Bin]:
    (last,) = askable_values(attribute.values[-1:])
    if len(edges) > 1:
        yield Bin(_span(attribute, edges[0], edges[1]), Compare("<", edges[1]))
    for low, high in pairwise(edges[1:]):
        yield Bin(_span(attribute, low, high), at_least(low) & Compare("<", high))
    label = shown(last) if edges[-1] == last else f"{shown(edges[-1])} – {shown(last)}"
    yield Bin(label, at_least(edges[-1]) if len(edges) > 1 else ~Missing())


def _span(attribute: Attribute, low: Any, high: Any) -> str:
    """A range that ends before ``high``; whole numbers name their last one."""
    if not _whole(attribute):
        return f"{shown(low)} – {shown(high)}"
    return shown(low) if low == high - 1 else f"{shown(low)} – {shown(high - 1)}"


def _whole(attribute: Attribute) -> bool:
    return bool(pa.types.is_integer(attribute.values.type))


def _runs(values: Sequence[Any], most: int) -> Iterator[Bin]:
    """Neighbours in the declared order."""
    length = max(1, math.ceil(len(values) / most))
    for first in range(0, len(values), length):
        run = values[first : first + length]
        ends = shown(run[0]) if len(run) == 1 else f"{shown(run[0])} – {shown(run[-1])}"
        yield Bin(ends, one_of(run))


def _most_frequent(values: Sequence[Any], counts: Counts, most: int) -> Iterator[Bin]:
    order = np.argsort(-counts, kind="stable").tolist()
    alone = order if len(order) <= most else order[: most - 1]
    for code in alone:
        yield Bin(shown(values[code]), one_of([values[code]]))
    if others := [values[code] for code in order[len(alone) :]]:
        yield Bin(f"{len(others):,}{_REST}", ~one_of(values[code] for code in alone))


def is_rest(label: str) -> bool:
    """Whether a bin holds what was too rare for one of its own."""
    return label.endswith(_REST)


def shown(value: Any) -> str:
    """A value as people write it."""
    if value is None:
        return "(missing)"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
