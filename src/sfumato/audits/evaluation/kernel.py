"""Compiled loop of the joint distribution: what a release leads to expect of single vectors."""

from __future__ import annotations

import numpy as np

from sfumato.core.arrays import Codes, Counts, Floats
from sfumato.core.compiled import kernel


@kernel
def expected_counts(
    bins: Codes,
    wanted: Codes,
    shares: Floats,
    sides: Codes,
    weights: Floats,
    groups: Codes,
    starts: Counts,
    values: Codes,
    chances: Floats,
) -> Floats:
    """Per vector ``bins[i]`` and value ``wanted[i]`` (-1: one that is not shown), how many people.

    ``sides[line, j]`` is a row of ``shares``; a line that leaves a vector out along one axis is not
    looked at along the others.
    """
    found = np.zeros(wanted.size)
    for i in range(wanted.size):
        for line in range(weights.size):
            amount = weights[line]
            for j in range(sides.shape[1]):
                amount *= shares[sides[line, j], bins[i, j]]
                if amount == 0.0:
                    break
            if amount == 0.0:
                continue
            for entry in range(starts[groups[line]], starts[groups[line] + 1]):
                if values[entry] == wanted[i]:
                    found[i] += amount * chances[entry]
                    break
    return found
