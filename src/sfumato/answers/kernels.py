"""The compiled loops behind the answers; rows.py and value_bounds.py say what they are about.

Codes and places are unsigned: a signed index costs a test for negative numbers at every look.
"""

from __future__ import annotations

import numpy as np

from sfumato.answers.arrays import Marks
from sfumato.core.arrays import Counts, Flags, Floats, HalfWords, Words
from sfumato.core.compiled import inner, kernel


@kernel
def tally(
    starts: Words,
    columns: HalfWords,
    active: Counts,
    marks: Marks,
    places: Counts,
    counts: HalfWords,
    among: Flags,
) -> Counts:
    """How many rows of each group are marked in every active column.

    Group g has the cells ``starts[g]`` to ``starts[g + 1]``; cell i is marked in column j when
    ``marks[places[j] + columns[j, i]]`` is 1, and stands for ``counts[i]`` rows, or for one where
    ``counts`` is empty. Groups that are not ``among`` the wanted ones are not looked at.
    """
    found = np.zeros(starts.size - 1, np.int64)
    one, two = active[0], active[min(1, active.size - 1)]
    codes_1, marks_1 = columns[one], marks[places[one] :]
    codes_2, marks_2 = columns[two], marks[places[two] :]
    for g in range(found.size):
        if not among[g]:
            continue
        begin, end = starts[g], starts[g + 1]
        hits = np.uint64(0)
        # written out: a call per group takes as long as the group
        if counts.size or active.size > 2:
            hits = _many(columns, active, marks, places, counts, begin, end)
        elif active.size == 1:
            for i in range(begin, end):
                hits += np.uint64(marks_1[codes_1[i]])
        else:
            # products, not branches: which rows are marked cannot be foretold
            for i in range(begin, end):
                hits += np.uint64(marks_1[codes_1[i]] & marks_2[codes_2[i]])
        found[g] = hits
    return found


@kernel
def add_up(rows: Counts, share: Floats, lack: Counts, cap: Counts) -> tuple[float, int, int]:
    """Expected, fewest and most rows over all groups; see group_bounds.py."""
    expected, fewest, most = 0.0, 0, 0
    for g in range(rows.size):
        expected += share[g] * rows[g]
        fewest += max(0, rows[g] - lack[g])
        most += min(rows[g], cap[g])
    return expected, fewest, most


@kernel
def mark_cells(
    starts: Words,
    columns: HalfWords,
    active: Counts,
    marks: Marks,
    places: Counts,
    among: Flags,
) -> Flags:
    """Which cells are marked in every active column, and in a group that is among the wanted."""
    found = np.zeros(columns.shape[1], np.bool_)
    for g in range(starts.size - 1):
        if among[g]:
            for i in range(starts[g], starts[g + 1]):
                found[i] = _hit(columns, active, marks, places, i) != 0
    return found


@kernel
def tally_by(
    starts: Words,
    columns: HalfWords,
    active: Counts,
    marks: Marks,
    places: Counts,
    counts: HalfWords,
    keys: HalfWords,
    n_keys: int,
    share: Floats,
    lack: Counts,
    cap: Counts,
) -> tuple[Floats, Counts, Counts]:
    """Expected, fewest and most rows per key value, summed over groups; see group_bounds.py."""
    expected = np.zeros(n_keys, np.float64)
    fewest, most = np.zeros(n_keys, np.int64), np.zeros(n_keys, np.int64)
    seen, touched = np.zeros(n_keys, np.int64), np.zeros(n_keys, np.int64)
    n_active = active.size
    one, two = (active[0] if n_active else 0), (active[1] if n_active > 1 else 0)
    codes_1, marks_1 = columns[one], marks[places[one] :]
    codes_2, marks_2 = columns[two], marks[places[two] :]
    for g in range(starts.size - 1):
        if cap[g] == 0:
            continue
        n_touched = 0
        for i in range(starts[g], starts[g + 1]):
            # written out for the usual cases: a call per row takes longer than the rest
            if n_active == 1:
                if marks_1[codes_1[i]] == 0:
                    continue
            elif n_active == 2:
                if marks_1[codes_1[i]] & marks_2[codes_2[i]] == 0:
                    continue
            elif n_active > 2 and _hit(columns, active, marks, places, i) == 0:
                continue
            k = np.int64(keys[i])
            if seen[k] == 0:
                touched[n_touched] = k
                n_touched += 1
            seen[k] += counts[i] if counts.size else 1
        for t in range(n_touched):
            k = touched[t]
            expected[k] += share[g] * seen[k]
            fewest[k] += max(0, seen[k] - lack[g])
            most[k] += min(seen[k], cap[g])
            seen[k] = 0
    return expected, fewest, most


@kernel
def tally_single(
    starts: Words, keys: HalfWords, n_keys: int, share: Floats, lack: Counts, cap: Counts
) -> tuple[Floats, Counts, Counts]:
    """The same where no group has a key twice, and every cell is one row."""
    expected = np.zeros(n_keys, np.float64)
    fewest, most = np.zeros(n_keys, np.int64), np.zeros(n_keys, np.int64)
    for g in range(starts.size - 1):
        if cap[g] == 0:
            continue
        sure = 1 if lack[g] == 0 else 0
        for i in range(starts[g], starts[g + 1]):
            expected[keys[i]] += share[g]
            fewest[keys[i]] += sure
            most[keys[i]] += 1
    return expected, fewest, most


@kernel
def taken_rows(gains: Flags, counts: Counts, starts: Counts, least: Counts, most: Counts) -> Counts:
    """How many rows of each entry are taken where the best are: what must be, and what gains.

    Cluster c has the entries ``starts[c]`` to ``starts[c + 1]``, the best last, ``counts`` rows
    each, of which at least ``least[c]`` and at most ``most[c]`` are chosen.
    """
    found = np.zeros(counts.size, np.int64)
    for c in range(starts.size - 1):
        forced, free = least[c], most[c] - least[c]
        for i in range(starts[c + 1] - 1, starts[c] - 1, -1):
            taken = min(counts[i], forced)
            forced -= taken
            if gains[i]:
                more = min(counts[i] - taken, free)
                free -= more
                taken += more
            elif forced == 0 and taken == 0:
                break
            found[i] = taken
    return found


@kernel
def last_forced(counts: Counts, starts: Counts, least: Counts) -> Counts:
    """The entry of each cluster that the last row which must be taken is of, if the best are taken;
    -1 where none must be.
    """
    found = np.full(starts.size - 1, -1, np.int64)
    for c in range(starts.size - 1):
        forced = least[c]
        for i in range(starts[c + 1] - 1, starts[c] - 1, -1):
            if forced <= 0:
                break
            forced -= counts[i]
            found[c] = i
    return found


@inner
def _hit(columns: HalfWords, active: Counts, marks: Marks, places: Counts, i: int) -> np.uint64:
    hit = np.uint64(1)
    for k in range(active.size):
        j = active[k]
        hit &= np.uint64(marks[np.uint64(places[j]) + np.uint64(columns[j, i])])
    return hit


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
        hit = _hit(columns, active, marks, places, i)
        found += hit * np.uint64(counts[i]) if counts.size else hit
    return found
