"""Compiled loops of within_groups.py: values handed out inside groups, as likely as they are."""

from __future__ import annotations

import numpy as np

from sfumato.core.arrays import Codes, Counts, Flags, Floats
from sfumato.core.compiled import inner, kernel


@kernel
def hand_out(
    tables: Floats,
    lines: Codes,
    heads: Counts,
    starts: Counts,
    values: Codes,
    counts: Counts,
    scale: Floats,
    sums: Floats,
) -> float:
    """Hand out the values of every group once, add up who took them, and correct the ``scale``.

    Group g has the rows ``heads[g]`` to ``heads[g + 1]`` and the entries ``starts[g]`` to
    ``starts[g + 1]`` of ``values`` with their ``counts``. Row i takes one value in all, each in
    proportion to exp(scale + the sum of the table's ``lines[i]``). An entry that gave too much or
    too little has its scale corrected. How many values were given by an entry that had too few.
    """
    most = 0
    for g in range(heads.size - 1):
        most = max(most, starts[g + 1] - starts[g])
    chances, given = np.empty(most, np.float64), np.empty(most, np.float64)
    over = 0.0
    for g in range(heads.size - 1):
        low, n = starts[g], starts[g + 1] - starts[g]
        given[:n] = 0.0
        for i in range(heads[g], heads[g + 1]):
            _share(tables, lines, i, values, low, n, scale, chances)
            for s in range(n):
                given[s] += chances[s]
                for j in range(lines.shape[1]):
                    sums[lines[i, j], values[low + s]] += chances[s]
        for s in range(n):
            over += max(0.0, given[s] - counts[low + s])
            scale[low + s] += np.log(counts[low + s] / max(given[s], 1e-300))
    return over


@kernel
def chances_of(
    tables: Floats,
    lines: Codes,
    rows: Counts,
    groups: Codes,
    starts: Counts,
    values: Codes,
    scale: Floats,
    wanted: Flags,
    by_value: Floats,
) -> Floats:
    """How likely each of the rows has a wanted value; and how many are expected to have which."""
    most = 0
    for g in range(starts.size - 1):
        most = max(most, starts[g + 1] - starts[g])
    chances = np.empty(most, np.float64)
    found = np.zeros(rows.size, np.float64)
    for place in range(rows.size):
        i = rows[place]
        low, n = starts[groups[i]], starts[groups[i] + 1] - starts[groups[i]]
        _share(tables, lines, i, values, low, n, scale, chances)
        for s in range(n):
            if wanted[values[low + s]]:
                found[place] += chances[s]
                by_value[values[low + s]] += chances[s]
    return found


@inner
def _share(
    tables: Floats,
    lines: Codes,
    i: int,
    values: Codes,
    low: int,
    n: int,
    scale: Floats,
    chances: Floats,
) -> None:
    """The chance that row i has each of n values, the first of which is entry ``low``."""
    top = -np.inf
    for s in range(n):
        score = scale[low + s]
        for j in range(lines.shape[1]):
            score += tables[lines[i, j], values[low + s]]
        chances[s] = score
        top = max(top, score)
    whole = 0.0
    for s in range(n):
        chances[s] = np.exp(chances[s] - top)
        whole += chances[s]
    for s in range(n):
        chances[s] /= whole
