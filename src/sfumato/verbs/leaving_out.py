"""Rows that a plan leaves out: the others close up, as they do in memory.

What is published hangs on the numbers of rows, and models compare a group with the rows that are
published. So both are found anew, in one pass that counts and one that writes the rest down.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from sfumato.algorithms.base import Plan
from sfumato.core.arrays import Counts, Flags
from sfumato.core.attribute import Attribute
from sfumato.core.partition import LEFT_OUT
from sfumato.core.schema import Schema
from sfumato.engines.base import Engine
from sfumato.engines.coded import ROW, microdata, row_numbers
from sfumato.engines.domains import Counted


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """The rows that are kept of each part, by the number of its first row, and their values.

    They are kept of ``n_rows``.
    """

    n_rows: int
    rows: Mapping[int, int]
    counts: Mapping[str, Counts]

    def __add__(self, other: Kept) -> Kept:
        """Of more parts."""
        counts = {name: found + other.counts[name] for name, found in self.counts.items()}
        return Kept(self.n_rows + other.n_rows, {**self.rows, **other.rows}, counts)


def remaining(coded: Engine, counted: Counted, plan: Plan) -> tuple[Engine, Counted]:
    """The rows that are published, numbered without gaps, and what is known of them."""
    n_rows = int(plan.loads.sum())
    if n_rows == counted.n_rows:
        return coded, counted
    kept = coded.reduce(count_kept, Kept.__add__, plan, counted.rows.schema, counted.attributes)
    if kept.n_rows != counted.n_rows:
        raise counted.rows.changed()  # else rows that are gone would be said to be left out
    parts = sorted(kept.rows)
    ends = np.cumsum([kept.rows[part] for part in parts])
    firsts = {part: int(end) - kept.rows[part] for part, end in zip(parts, ends, strict=True)}
    return coded.keep(closed_up, plan, firsts), replace(counted, n_rows=n_rows, counts=kept.counts)


def count_kept(
    part: pa.Table, plan: Plan, schema: Schema, attributes: Mapping[str, Attribute]
) -> Kept:
    """The task of the first pass."""
    keep = _kept(part, plan)
    counts = {
        name: np.bincount(codes[keep], minlength=attributes[name].size)
        for name, codes in microdata(part, schema, attributes).codes.items()
    }
    return Kept(part.num_rows, {int(row_numbers(part)[0]): int(keep.sum())}, counts)


def closed_up(part: pa.Table, plan: Plan, firsts: Mapping[int, int]) -> pa.Table:
    """The task of the second pass: the rows that are kept, from their first number on."""
    first = firsts[int(row_numbers(part)[0])]
    rest = part.filter(pa.array(_kept(part, plan)))
    numbers = pa.array(np.arange(first, first + rest.num_rows))
    return rest.set_column(rest.column_names.index(ROW), ROW, numbers)


def _kept(part: pa.Table, plan: Plan) -> Flags:
    keep: Flags = plan.of_rows(part) != LEFT_OUT
    return keep
