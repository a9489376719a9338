"""Axes for learning: the bins into which the values of a column are put.

A release tells nothing apart between two values at which boxes begin, so that is where bins begin;
of exact columns every value is such a place. Bins are wanted values, so whatever answers questions
says which share of a box lies in each. Values without an order have a bin each, the rarest one
together, and a missing value has its own, the last.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.answers.packing import Domain
from sfumato.core.arrays import Codes, Counts, Floats
from sfumato.core.attribute import Attribute
from sfumato.queries.binding import canonical_values
from sfumato.queries.columns import Column
from sfumato.queries.values import Range, Values

MOST_BINS = 64


@dataclass(frozen=True, slots=True, eq=False)
class Axis:
    """A column's bins, which hold no value twice, and whether they follow an order."""

    column: Column
    bins: tuple[Values, ...]
    ordered: bool

    @classmethod
    def of(cls, column: Column, values: Sequence[Any], weights: Floats, missing: bool) -> Axis:
        """Bins that begin at these values, which come in their order, with about even weights."""
        ordered = is_line(column)
        cut = _runs if ordered else _frequent
        last = (Values(missing=True),) if missing else ()
        return cls(column, (*cut(column, values, weights), *last), ordered)

    def __repr__(self) -> str:
        """The column and the number of bins: their limits are values of the table."""
        return f"Axis({self.column.name!r}, {len(self.bins)} bins)"

    def of_codes(self, attribute: Attribute) -> Codes:
        """The bin of every code of an attribute; -1 where a value is in none."""
        domain = Domain(attribute)
        bins = np.full(attribute.size, -1, np.int32)
        for place, wanted in enumerate(self.bins):
            bins[domain.marks(wanted).view(np.bool_)] = place
        return bins


def is_line(column: Column) -> bool:
    """Whether values follow an order, by nature or as it was declared."""
    kind = column.type
    numbers = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    return bool(column.order is not None or numbers or pa.types.is_temporal(kind))


def exact_axis(column: Column, attribute: Attribute, counts: Counts) -> Axis:
    """Bins of a column whose values are shown, each of them so often."""
    codes = np.flatnonzero(counts[: len(attribute.values)])
    values = Domain(attribute).values
    shown = [values[code] for code in codes.tolist()]
    return Axis.of(column, shown, counts[codes].astype(np.float64), attribute.has_missing)


def _runs(column: Column, values: Sequence[Any], weights: Floats) -> Iterator[Values]:
    """From one of the chosen values up to the next; what lies outside belongs to the outermost."""
    chosen = [values[place] for place in _even(weights).tolist()]
    if column.order is not None:
        ends = [0, *sorted(column.ranks[value] for value in chosen)[1:], len(column.order)]
        for low, high in pairwise(ends):
            yield Values(frozenset(column.order[low:high]))
        return
    for low, high in pairwise([None, *chosen[1:], None]):
        yield canonical_values([Range(low, high, False, True)], column)


def _even(weights: Floats) -> Counts:
    """Which of the places begin a run, so that runs weigh about the same."""
    if len(weights) <= MOST_BINS:
        return np.arange(len(weights))
    upto = np.cumsum(weights) - weights
    runs = np.minimum(upto * MOST_BINS / max(upto[-1], 1e-9), MOST_BINS - 1).astype(np.int64)
    return np.unique(runs, return_index=True)[1]


def _frequent(_column: Column, values: Sequence[Any], weights: Floats) -> Iterator[Values]:
    order = np.argsort(-weights, kind="stable").tolist()
    alone = order if len(order) <= MOST_BINS else order[: MOST_BINS - 1]
    for place in alone:
        yield Values(frozenset([values[place]]))
    if len(alone) < len(order):
        yield Values(frozenset(values[place] for place in order[len(alone) :]))
