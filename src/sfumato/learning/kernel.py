"""Compiled loops of learning: what lines are expected to have, added up."""

from __future__ import annotations

from sfumato.core.arrays import Codes, Counts, Floats
from sfumato.core.compiled import kernel


@kernel
def add_shares(
    rows: Codes,
    groups: Codes,
    weights: Floats,
    starts: Counts,
    values: Codes,
    shares: Floats,
    sums: Floats,
) -> None:
    """Line i adds its weight to row ``rows[i]`` of the sums, value by value of its group."""
    for i in range(rows.size):
        for entry in range(starts[groups[i]], starts[groups[i] + 1]):
            sums[rows[i], values[entry]] += weights[i] * shares[entry]
