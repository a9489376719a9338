"""Minimal unique sets: which few columns already single people out.

Elliot, Manning, Ford: "A computational algorithm for handling the special uniques problem", Int. J.
of Uncertainty, Fuzziness and Knowledge-Based Systems 10 (2002); SUDA. A set of columns is minimal
unique for a person who is alone on it, and on no part of it.

Level by level, over the different combinations of all columns (points): a point on which people
are several is nobody's alone, whichever columns are left out. Cost: one pass over the points for
each set of columns; whoever is alone on a part is alone on the whole, so that only the sets with
one column less need to be remembered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import comb

import numpy as np

from sfumato.audits.risk.kernel import alone_on
from sfumato.audits.risk.results import ColumnShare, UniqueSet, UniqueSets
from sfumato.core._kernels import number_rows
from sfumato.core.arrays import Codes, Counts, Flags
from sfumato.core.compiled import announce

LARGEST = 3
_WORK = 250_000_000  # points of all sets together: some ten seconds
_BITS = 62.0  # of a packed key
Places = tuple[int, ...]


def unique_sets(
    names: Sequence[str], points: Codes, sizes: Counts, who: Codes, largest: int = LARGEST
) -> UniqueSets:
    """Of points of codes, each with its only person (or SEVERAL): the sets, and the columns' parts.

    Where that would be too much work, only smaller sets are looked for; ``largest`` of the result
    says up to which size.
    """
    announce(alone_on)
    depth = _affordable(len(names), len(points), largest)
    minimal = _minimal(points, sizes, who, depth)
    found = [
        UniqueSet(tuple(names[j] for j in places), _people(who, rows))
        for places, rows in minimal.items()
        if len(rows)
    ]
    every = np.concatenate([*minimal.values(), np.empty(0, np.int64)])
    return UniqueSets(
        depth,
        _people(who, every),
        tuple(sorted(found, key=lambda one: (-one.people, len(one.columns)))),
        tuple(
            ColumnShare(name, _people(who, _with(minimal, j)), _without(points, sizes, who, j))
            for j, name in enumerate(names)
        ),
    )


def _minimal(points: Codes, sizes: Counts, who: Codes, depth: int) -> dict[Places, Counts]:
    """The points that are alone on each set of columns and on no part of it."""
    minimal: dict[Places, Counts] = {}
    below: dict[Places, Counts] = {}
    for size in range(1, depth + 1):
        level = {
            places: np.flatnonzero(_alone(points, sizes, who, places))
            for places in combinations(range(points.shape[1]), size)
        }
        for places, rows in level.items():
            minimal[places] = _new(rows, below, places, len(points))
        below = level
    return minimal


def _new(rows: Counts, below: Mapping[Places, Counts], places: Places, n: int) -> Counts:
    known = np.zeros(n, np.bool_)
    for part in combinations(places, len(places) - 1):
        if part:
            known[below[part]] = True
    fresh: Counts = rows[~known[rows]]
    return fresh


def _alone(points: Codes, sizes: Counts, who: Codes, places: Places) -> Flags:
    columns = np.array(places, np.int64)
    if float(np.log2(sizes[columns]).sum()) < _BITS:
        return alone_on(points, columns, sizes, who)
    numbers, _, counts = number_rows(np.ascontiguousarray(points[:, columns]), sizes[columns])
    one, room = np.zeros(1, np.int64), np.array([len(counts)], np.int64)
    return alone_on(np.ascontiguousarray(numbers[:, None]), one, room, who)


def _with(minimal: Mapping[Places, Counts], column: int) -> Counts:
    return np.concatenate(
        [np.empty(0, np.int64), *(rows for places, rows in minimal.items() if column in places)]
    )


def _without(points: Codes, sizes: Counts, who: Codes, column: int) -> int:
    """People who would still stand alone if nobody knew the column."""
    others = tuple(j for j in range(points.shape[1]) if j != column)
    if not others:
        return 0
    return _people(who, np.flatnonzero(_alone(points, sizes, who, others)))


def _people(who: Codes, rows: Counts) -> int:
    return len(np.unique(who[rows]))


def _affordable(columns: int, points: int, largest: int) -> int:
    depth, work = 0, columns * points
    for size in range(1, min(largest, columns) + 1):
        work += comb(columns, size) * points
        if work > _WORK and depth:
            break
        depth = size
    return depth
