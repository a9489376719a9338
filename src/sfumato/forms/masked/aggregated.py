"""Columns of averages, and how far values lie from them, group by group.

The scatter of a column is stated for the whole table. Whose it is can be seen in part:

    neighbours  groups are made of what lies close together, so a group is about as wide as its
                neighbours are apart. Here neighbours are the cells of a k-d tree (Bentley 1975) of
                a few groups each, and what is stated is shared out by the squares of their widths
    steps       the average of n whole numbers that differ is whole by chance in one of n cases.
                So how many groups with a whole average have equal values follows from how many
                averages are not whole
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.answers.packing import Domain
from sfumato.core.arrays import Codes, Counts, Floats, Ints
from sfumato.core.attribute import Kind
from sfumato.core.schema import Role
from sfumato.forms.compact import number_lines
from sfumato.forms.manifest import PublishedColumn, encoded
from sfumato.forms.masked.blurs import Blur, Line, Replaced, Scattered, numbers_shown
from sfumato.forms.masked.release import MaskedTable

_FEW = 6  # groups in a cell
_LEAST = 1e-12  # of the scatter that is stated


def aggregated(release: MaskedTable, column: PublishedColumn) -> Blur:
    """A column that shows averages, or most frequent values."""
    values, stated = release.table.column(column.name), release.distortions[column.name]
    if column.kind == Kind.NUMERICAL:
        shown, known = numbers_shown(values)
        line = Line(stated.step, values.type)
        return Scattered(shown, known, line, *scatter(release, column))
    attribute, codes = encoded(column, values)
    return Replaced(Domain(attribute), codes, stated.changed)


class Scatter(NamedTuple):
    """Of every row the chance that its group has scatter, and the deviation if it has."""

    chance: Floats
    deviation: Floats


def scatter(release: MaskedTable, column: PublishedColumn) -> Scatter:
    """What can be told of a column of averages."""
    stated = release.distortions[column.name]
    quasi = release.manifest.of_role(Role.QUASI)
    groups, first = number_lines(release.table.select([one.name for one in quasi]))
    numbers = [one.name for one in quasi if one.kind == Kind.NUMERICAL]
    means = {name: numbers_shown(release.table.column(name))[0][first] for name in numbers}
    own, sizes = means[column.name], np.bincount(groups)
    chance = _scattered(own, sizes, stated.step)
    apart = _apart(own, cells(np.column_stack(list(means.values()))))
    shares = sizes * chance
    everything = max(float(shares @ apart), 1e-300)
    variance = stated.variance * (apart * shares.sum() / everything + _LEAST)
    variance *= len(groups) / max(shares.sum(), 1.0)  # what some do not have, others have more of
    return Scatter(chance[groups], np.sqrt(variance)[groups])


def _scattered(means: Floats, sizes: Counts, step: int) -> Floats:
    """The chance that the values of a group differ."""
    chance = np.ones(len(means))
    if step:
        whole = np.abs(means / step - np.rint(means / step)) < 1e-9
        by_chance = (sizes / np.maximum(sizes - 1, 1))[~whole].sum()
        chance[whole] = min(1.0, by_chance / max(1, sizes[whole].sum()))
    return chance


def _apart(means: Floats, cell: Codes) -> Floats:
    """The variance of the averages in the cell of each group."""
    n = np.bincount(cell)
    from_middle = means - (np.bincount(cell, means) / n)[cell]
    found: Floats = (np.bincount(cell, from_middle**2) / np.maximum(n - 1, 1))[cell]
    return found


def cells(points: Floats) -> Codes:
    """Halve the points along their widest axis until few are left in a cell."""
    wide = points.std(axis=0)
    points = points / np.where(wide > 0, wide, 1.0)
    order, starts = np.arange(len(points)), np.array([0, len(points)])
    while np.diff(starts).max() > _FEW:
        order = _sorted_inside(points, order, starts)
        middles = (starts[1:] + starts[:-1]) // 2
        starts = np.unique(np.append(starts, middles[np.diff(starts) > _FEW]))
    cell = np.empty(len(points), np.int32)
    cell[order] = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    return cell


def _sorted_inside(points: Floats, order: Ints, starts: Ints) -> Ints:
    """Each cell along the axis on which it is widest."""
    lines = points[order]
    low = np.minimum.reduceat(lines, starts[:-1])
    high = np.maximum.reduceat(lines, starts[:-1])
    cell = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    along = lines[np.arange(len(lines)), (high - low).argmax(axis=1)[cell]]
    return order[np.lexsort((along, cell))]
