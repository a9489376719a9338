"""The tree of columns that tell most of each other, and what each is given its parent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.algorithms.masking.synthesize.cells import Cells
from sfumato.core.arrays import Floats, Ints

_SAMPLE = 20_000  # rows, to say which columns tell least
_FEW = 50  # cells, of columns in such a sample


@dataclass(frozen=True, slots=True, eq=False)
class Branch:
    """A column and its parent, None for a root; chances of its cells, a line for each parent's.

    ``kept`` is the share of rows whose pair of cells can be drawn.
    """

    column: int
    parent: int | None
    chances: Floats
    kept: float

    def draw(self, parents: Ints, shares: Floats) -> Ints:
        """Cells given those of the parent."""
        lines = np.cumsum(self.chances, axis=1)
        lines /= lines[:, -1:]
        steps = (lines + np.arange(len(lines))[:, None]).ravel()
        found = np.searchsorted(steps, parents + shares, side="right")
        last = len(lines[0]) - 1
        drawn: Ints = np.clip(found - parents * (last + 1), 0, last)
        return drawn


def branches(cells: Sequence[Cells], least: int) -> list[Branch]:
    """The tree, parents before their children."""
    told = information([(one.rows, one.count) for one in cells])
    found = [_root(cells[0], 0)]
    best, parent = told[0].copy(), np.zeros(len(cells), np.int64)
    best[0] = -np.inf
    for _ in range(len(cells) - 1):
        column = int(best.argmax())
        # columns that tell nothing of any other are drawn by themselves
        found.append(
            _branch(cells, column, int(parent[column]), least)
            if best[column] > 0
            else _root(cells[column], column)
        )
        best[column] = -np.inf
        closer = (told[column] > best) & (best > -np.inf)
        best[closer], parent[closer] = told[column][closer], column
    return found


def information(columns: Sequence[tuple[Ints, int]]) -> Floats:
    """The mutual information of all pairs, less what independent columns would seem to have."""
    told = np.zeros((len(columns), len(columns)))
    for i, one in enumerate(columns):
        for j, other in enumerate(columns[:i]):
            told[i, j] = told[j, i] = _mutual(_joint(*one, *other))
    return told


def least_told(columns: Sequence[tuple[Ints, int]]) -> list[int]:
    """Columns, those first whose closest neighbour tells least; by some of the rows."""
    every = max(1, len(columns[0][0]) // _SAMPLE)
    few = [(codes[::every] * min(_FEW, n) // max(1, n), min(_FEW, n)) for codes, n in columns]
    return [int(place) for place in np.argsort(information(few).max(axis=1), kind="stable")]


def _joint(one: Ints, ones: int, other: Ints, others: int) -> Floats:
    pairs = one.astype(np.int64) * max(1, others) + other
    found: Floats = np.bincount(pairs, minlength=max(1, ones) * max(1, others)).astype(np.float64)
    return found.reshape(max(1, ones), max(1, others))


def _mutual(joint: Floats) -> float:
    """Miller and Madow's correction takes away what an empty relation shows on average."""
    n = joint.sum()
    first, second = joint.sum(axis=1), joint.sum(axis=0)
    some = joint > 0
    ratio = joint[some] * n / np.outer(first, second)[some]
    free = (np.count_nonzero(first) - 1) * (np.count_nonzero(second) - 1)
    return float((joint[some] * np.log(ratio)).sum() / n - free / (2 * n))


def _root(one: Cells, column: int) -> Branch:
    counts = np.bincount(one.rows, minlength=max(1, one.count)).astype(np.float64)
    return Branch(column, None, counts[None, :], 1.0)


def _branch(cells: Sequence[Cells], column: int, parent: int, least: int) -> Branch:
    one, above = cells[column], cells[parent]
    joint = _joint(above.rows, above.count, one.rows, one.count)
    frequent = np.where(joint >= least, joint, 0.0)
    empty = frequent.sum(axis=1) == 0
    frequent[empty] = joint.sum(axis=0)
    return Branch(column, parent, frequent, float(frequent[~empty].sum() / joint.sum()))
