"""Figures of two cross tables of the same question, the true one and the released one."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from sfumato.audits.usefulness.counting import Crossed
from sfumato.audits.usefulness.questions import Classes, Cross
from sfumato.audits.usefulness.results import Association, Coefficient, Conditional, Difference
from sfumato.core.arrays import Floats

_FEWEST = 30  # rows of a category that is worth a sentence
_CERTAIN = 3.0  # standard errors that a difference is more than chance
_NORMAL = 1.96


def conditional(
    cross: Cross, classes: Classes, true: Crossed, released: Crossed, best: Floats | None
) -> Conditional:
    """How far the release is from the truth, and the marginals, and the means of its groups."""
    alone = true.independent
    return Conditional(
        columns=cross.columns,
        sensitive=classes.name,
        categories=cross.labels,
        classes=tuple(one.label for one in classes.bins),
        truth=true.cells,
        estimate=released.cells,
        distance=distance(true.cells, released.cells),
        marginals=distance(true.cells, alone.cells),
        chance=chance(true.cells),
        best=None if best is None else distance(true.cells, best),
        mean_distance=_means_off(true, released, classes),
        mean_marginals=_means_off(true, alone, classes),
    )


def distance(truth: Floats, other: Floats) -> float:
    """Total variation between the lines of two tables as shares, weighted by the true rows."""
    weights = truth.sum(axis=1)
    if not weights.sum():
        return 0.0
    apart = np.abs(shares(truth, truth) - shares(other, truth)).sum(axis=1) / 2
    return float(weights @ apart / weights.sum())


def shares(cells: Floats, truth: Floats) -> Floats:
    """Every line as shares; of a category that is not shown only the marginals are known."""
    lines, usual = cells.sum(axis=1, keepdims=True), truth.sum(axis=0) / max(truth.sum(), 1.0)
    found: Floats = np.where(lines > 0, cells / np.where(lines > 0, lines, 1), usual)
    return found


def chance(cells: Floats) -> float:
    """The distance of the marginals that is to be expected where columns are independent."""
    rows = cells.sum(axis=1)
    some, total = rows[rows > 0], rows.sum()
    if not total:
        return 0.0
    usual = cells.sum(axis=0) / total
    spread = np.sqrt(2 * usual * (1 - usual) / math.pi).sum() / 2
    return float((some * spread / np.sqrt(some)).sum() / total)


def association(
    cross: Cross, classes: Classes, true: Crossed, released: Crossed, *, ordered: bool
) -> Association:
    """Cramér's V, and Spearman's rank correlation of bins where both columns have an order."""
    both = (true.cells, released.cells)
    ranks = [_rank_correlation(cells) if ordered else None for cells in both]
    return Association(cross.columns[0], classes.name, *(_v(cells) for cells in both), *ranks)


def coefficient(
    cross: Cross, classes: Classes, true: Crossed, released: Crossed
) -> Coefficient | None:
    """The slope over the bins of an ordered column, one unit a bin, in standard deviations."""
    found = _slope(true, _spread(true, classes))
    if found is None:
        return None
    slope, error = found
    other = _slope(released, _spread(true, classes))
    shown = other[0] if other is not None else 0.0
    lo, hi = slope - _NORMAL * error, slope + _NORMAL * error
    return Coefficient(cross.columns[0], classes.name, slope, lo, hi, shown)


def differences(one: Conditional) -> Iterator[tuple[float, Difference]]:
    """Cells that stand out in the table, each with how far."""
    rows, seen = one.truth.sum(axis=1), shares(one.truth, one.truth)
    shown = shares(one.estimate, one.truth)
    usual = one.truth.sum(axis=0) / max(one.truth.sum(), 1.0)
    names = " and ".join(one.columns)
    for line, column in np.ndindex(*one.truth.shape):
        error = math.sqrt(usual[column] * (1 - usual[column]) / max(rows[line], 1.0))
        apart = float(seen[line, column] - usual[column])
        if rows[line] >= _FEWEST and abs(apart) > _CERTAIN * error:
            yield (
                abs(apart),
                Difference(
                    f"{names}: {one.categories[line]}",
                    one.sensitive,
                    one.classes[column],
                    float(seen[line, column]),
                    float(usual[column]),
                    float(shown[line, column]),
                ),
            )


def _means_off(true: Crossed, other: Crossed, classes: Classes) -> float | None:
    spread = _spread(true, classes)
    if true.known is None or other.known is None or not spread:
        return None
    off = np.abs(true.means - np.where(np.isnan(other.means), true.independent.means, other.means))
    return float(true.known @ off / true.known.sum() / spread)


def _spread(true: Crossed, classes: Classes) -> float:
    """The standard deviation of the sensitive numbers, which the classes carry."""
    return classes.spread if true.known is not None and true.known.sum() else 0.0


def _v(cells: Floats) -> float:
    kept = cells[cells.sum(axis=1) > 0][:, cells.sum(axis=0) > 0]
    freedom, total = min(kept.shape) - 1, kept.sum()
    if freedom < 1:
        return 0.0
    expected = np.outer(kept.sum(axis=1), kept.sum(axis=0)) / total
    return float(math.sqrt(((kept - expected) ** 2 / expected).sum() / total / freedom))


def _rank_correlation(cells: Floats) -> float:
    lines, columns = cells.sum(axis=1), cells.sum(axis=0)
    if not cells.sum():
        return 0.0
    ranks = [np.cumsum(rows) - rows / 2 for rows in (lines, columns)]
    centred = [
        one - one @ rows / rows.sum() for one, rows in zip(ranks, (lines, columns), strict=True)
    ]
    spread = (lines @ centred[0] ** 2) * (columns @ centred[1] ** 2)
    return float(centred[0] @ cells @ centred[1] / math.sqrt(spread)) if spread > 0 else 0.0


def _slope(found: Crossed, spread: float) -> tuple[float, float] | None:
    """Of means over the places of bins, both in standard deviations, and its standard error."""
    if found.known is None or not spread:
        return None
    rows, places = found.known, np.arange(len(found.known), dtype=np.float64)
    total = rows.sum()
    if total < 3:
        return None  # nothing is shown
    centred = places - rows @ places / total
    width = math.sqrt(rows @ centred**2 / total)
    if not width:
        return None
    slope = float(rows * centred @ found.means / total / width / spread)
    return slope, math.sqrt(max(1 - slope**2, 0.0) / (total - 2))
