"""What the two methods cost in pages read and written, on tables larger than memory.

Nothing is timed and no file is made: the external algorithms are followed on the real tables, and
the pages they would touch are counted, with pages of 4096 bytes and 50 pages of memory as in
section 6.2 of the paper. A value takes 4 bytes, so a page holds floor(4096 / 4(d + 1)) rows.

*Anatomy*, after the proof of Theorem 3:

1. hash: read the table, write one bin per sensitive value (each ends with a page of its own)
2. group creation: read the bins, write the groups one after another
3. residue: where rows are left, read the groups to find places for them, and write one page each
4. read the groups, write the QIT (d values and the group) and the ST (group, value, count)

Steps 1 and 2 want a page of memory per sensitive value and one more: 51 for the 50 values here.

*Generalization*, after section 4.2 of the Mondrian paper: a partition that does not fit into memory
is read to make frequency sets, read again, and written as two. One that fits is read once more and
finished in memory; one that does not fit and cannot be cut is read twice. The result is written
once, with two ends per quasi-identifier. Cuts are at the median ("<= median", else "< median"),
widest range first, both sides l-diverse; frequency sets are assumed to fit into memory, so that
looking for a cut along another attribute costs nothing.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

import sfumato as sf
from sfumato_experiments.anatomy.accuracy import ANATOMY, GENERALIZATION, L
from sfumato_experiments.anatomy.tables import Source
from sfumato_experiments.figure import Curve, Point

PAGE = 4096
MEMORY = 50
_VALUE = 4

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


def costs(source: Source, places: list[tuple[float, int, int]]) -> dict[str, Curve]:
    """Page I/Os of both methods, for (x, d, n) one after another."""
    points: dict[str, list[Point]] = {ANATOMY: [], GENERALIZATION: []}
    for x, d, n in places:
        table = source.table(d, n)
        points[ANATOMY].append(Point(x, anatomy_pages(table)))
        points[GENERALIZATION].append(Point(x, mondrian_pages(table)))
    return {f"{source.name} {method}": tuple(curve) for method, curve in points.items()}


def anatomy_pages(table: sf.Microdata, l: int = L) -> int:
    """Pages read and written by external Anatomize."""
    d, n = len(table.quasi), table.n_rows
    sensitive = table.codes[table.schema.sensitive[0]]
    bins = sum(_pages(int(size), d + 1) for size in np.bincount(sensitive) if size)
    left = n % l
    groups = _pages(n - left, d + 1)
    residue = groups + left if left else 0
    records = n  # in a group of Anatomize every row has a value of its own
    hashing = _pages(n, d + 1) + bins
    return hashing + bins + groups + residue + groups + _pages(n, d + 1) + _pages(records, 3)


def mondrian_pages(table: sf.Microdata, l: int = L, memory: int = MEMORY) -> int:
    """Pages read and written by external Mondrian."""
    d = len(table.quasi)
    codes = table.quasi_codes()
    sensitive = table.codes[table.schema.sensitive[0]].astype(np.int64)
    at = [attribute.coordinates for attribute in table.quasi]
    total = _pages(table.n_rows, 2 * d + 1)
    waiting = [np.arange(table.n_rows)]
    while waiting:
        rows = waiting.pop()
        pages = _pages(len(rows), d + 1)
        if pages <= memory:
            total += pages
            continue
        total += 2 * pages
        sides = _cut(codes[rows], sensitive[rows], at, l)
        if sides is not None:
            waiting += [rows[sides], rows[~sides]]
            total += sum(_pages(len(side), d + 1) for side in waiting[-2:])
    return total


def _pages(rows: int, values: int) -> int:
    return -(-rows // (PAGE // (_VALUE * values)))


def _cut(codes: Array, sensitive: Array, at: list[Array], l: int) -> Array | None:
    """The rows on the left of the first allowable median cut, widest attribute first."""
    widths = [
        axis[column.max()] - axis[column.min()] for axis, column in zip(at, codes.T, strict=True)
    ]
    for j in np.argsort([-width for width in widths], kind="stable"):
        column = codes[:, j]
        median = np.partition(column, (len(column) - 1) // 2)[(len(column) - 1) // 2]
        for cut in (np.less_equal, np.less):
            left: Array = cut(column, median)
            if _diverse(sensitive[left], l) and _diverse(sensitive[~left], l):
                return left
    return None


def _diverse(sensitive: Array, l: int) -> bool:
    return len(sensitive) > 0 and int(np.bincount(sensitive).max()) * l <= len(sensitive)
