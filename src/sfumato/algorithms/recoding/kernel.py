"""The compiled loops of global recoding: classes of many vectors, what they cost, and one quick no.

Recodings of all attributes stand one after another in one table, ``starts`` says where each begins.
"""

from __future__ import annotations

import numpy as np

from sfumato.core.arrays import Codes, Counts, Flags, Floats
from sfumato.core.compiled import kernel


@kernel
def classes_of(codes: Codes, columns: Counts, starts: Counts, table: Codes) -> Codes:
    """The classes of every vector on some columns."""
    classes = np.empty((codes.shape[0], columns.size), np.int32)
    for i in range(codes.shape[0]):
        for at in range(columns.size):
            classes[i, at] = table[starts[at] + codes[i, columns[at]]]
    return classes


@kernel
def total_penalties(codes: Codes, starts: Counts, table: Floats) -> Floats:
    """The sum of the penalties of every vector, from the first attribute to the last."""
    sums = np.zeros(codes.shape[0])
    for i in range(codes.shape[0]):
        total = 0.0
        for j in range(codes.shape[1]):
            total += table[starts[j] + codes[i, j]]
        sums[i] = total
    return sums


@kernel
def leaves_too_few(
    groups: Codes, sizes: Counts, codes: Codes, weights: Counts, taken: Flags, least: int
) -> bool:
    """Whether some group gets too small when the vectors with codes that are taken leave it.

    ``codes`` are those of one attribute. What leaves a group is a group, and so is what stays.
    """
    leaving = np.zeros(sizes.size, np.int64)
    for i in range(groups.size):
        if taken[codes[i]]:
            leaving[groups[i]] += weights[i]
    for g in range(sizes.size):
        if 0 < leaving[g] < least or 0 < sizes[g] - leaving[g] < least:
            return True
    return False
