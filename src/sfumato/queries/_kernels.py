"""The compiled loops behind the estimators; runs.py and cells.py say what they are about.

Codes and places are unsigned: a signed index costs a test for negative numbers at every look.
"""

from __future__ import annotations

import numpy as np

from sfumato.core.arrays import Counts, Floats, HalfWords, Words
from sfumato.core.compiled import inner, kernel
from sfumato.queries.arrays import Marks


@kernel
def total(
    weights: Floats,
    leading: Marks,
    starts: Words,
    groups: HalfWords,
    columns: HalfWords,
    active: Counts,
    marks: Marks,
    places: Counts,
) -> float:
    """Add up the weights of the groups of all rows that are marked everywhere.

    Rows are sorted by the leading code: code c has those from ``starts[c]`` to ``starts[c + 1]``.
    In every other active column j a row is marked when ``marks[places[j] + columns[j, i]]`` is 1.
    """
    found = 0.0
    n_active = active.size
    first = active[0] if n_active else 0
    second = active[1] if n_active > 1 else 0
    codes_1, codes_2 = columns[first], columns[second]
    marks_1, marks_2 = marks[places[first] :], marks[places[second] :]
    for c in range(starts.size - 1):
        if leading[c] == 0:
            continue
        begin, end = starts[c], starts[c + 1]
        # products, not branches: which rows are marked cannot be foretold
        if n_active == 1:
            for i in range(begin, end):
                found += weights[groups[i]] * np.float64(marks_1[codes_1[i]])
        elif n_active == 2:
            for i in range(begin, end):
                hits = marks_1[codes_1[i]] & marks_2[codes_2[i]]
                found += weights[groups[i]] * np.float64(hits)
        else:
            for i in range(begin, end):
                hit = np.uint64(1)
                for k in range(active.size):
                    j = active[k]
                    hit &= np.uint64(marks[np.uint64(places[j]) + np.uint64(columns[j, i])])
                found += weights[groups[i]] * np.float64(hit)
    return found


@kernel
def weigh(
    weights: Floats,
    starts: Words,
    columns: HalfWords,
    active: Counts,
    marks: Marks,
    places: Counts,
    counts: HalfWords,
) -> None:
    """Multiply the weight of each group by the number of its rows that are marked everywhere.

    Group g has the cells ``starts[g]`` to ``starts[g + 1]``; cell i is marked in column j when
    ``marks[places[j] + columns[j, i]]`` is 1. Only the active columns are looked at, and groups of
    weight 0 not at all. ``counts`` says how many rows each cell stands for; empty, one each.
    """
    codes, marked = columns[active[0]], marks[places[active[0]] :]
    for g in range(weights.size):
        if weights[g] == 0.0:
            continue
        if counts.size == 0 and active.size == 1:
            found = _one(codes, marked, starts[g], starts[g + 1])
        else:
            found = _many(columns, active, marks, places, counts, starts[g], starts[g + 1])
        weights[g] *= np.float64(found)


@inner
def _one(codes: HalfWords, marks: Marks, begin: np.uint64, end: np.uint64) -> np.uint64:
    found = np.uint64(0)
    for i in range(begin, end):
        found += np.uint64(marks[codes[i]])
    return found


@inner
def _many(
    columns: HalfWords,
    active: Counts,
    marks: Marks,
    places: Counts,
    counts: HalfWords,
    begin: np.uint64,
    end: np.uint64,
) -> np.uint64:
    found = np.uint64(0)
    for i in range(begin, end):
        hit = np.uint64(1)
        for k in range(active.size):
            j = active[k]
            hit &= np.uint64(marks[np.uint64(places[j]) + np.uint64(columns[j, i])])
        found += hit * np.uint64(counts[i]) if counts.size else hit
    return found
