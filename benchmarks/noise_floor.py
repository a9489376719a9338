"""How well counts can be told from noisy numbers by anybody: two tables that look the same.

Donoho, Liu: "Geometrizing rates of convergence", 1991. Move people between values so that a count
changes as much as it can while noisy rows hardly look different: n times the chi-square distance of
what is shown stays below ``_ALIKE``, so whoever guesses which of the two tables it is, is wrong in
39 of 100 cases at best (Pinsker, Le Cam). Half the change is the ``floor``: in one of the two
tables every estimator is off by it in as many cases. The true table is one of the two, and its
floor is that of somebody who knows the other column of the question exactly, so that of our readers
is higher.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from scipy.optimize import nnls
from scipy.stats import norm

import sfumato as sf
from sfumato.core.arrays import Floats

_ALIKE = 0.1
_STEPS = 150  # whole numbers up to here are cells of their own
_CELLS = 200  # of what is shown
_FIRM = 1e4  # how much more an equation weighs than chance
_HALVINGS = 9
_RANGE = re.compile(r"(\w+) BETWEEN (-?\d+) AND (-?\d+)")


def floors(
    release: sf.MaskedTable, table: sf.Microdata, asked: Sequence[str], times: int = 1
) -> list[float]:
    """Of questions with two ranges each, as shares of the rows; of so many times as many rows."""
    return [_floor(release, table, one, times) for one in asked]


def _floor(release: sf.MaskedTable, table: sf.Microdata, asked: str, times: int) -> float:
    numbers = {one.name: one.positions[table.codes[one.name]] for one in table.quasi}
    ranges = [(name, float(low), float(high)) for name, low, high in _RANGE.findall(asked)]
    found = 0.0
    for (name, low, high), (other, least, most) in (ranges, ranges[::-1]):
        values = numbers[name][(numbers[other] >= least) & (numbers[other] <= most)]
        deviation = float(np.sqrt(release.distortions[name].variance))
        at, shares = _cells(values, low, high, deviation)
        wanted = ((at >= low) & (at <= high)).astype(np.float64)
        shown = _shown(at, deviation)
        change = max(
            _most(shares, shown, wanted, sign, len(values) * times) for sign in (-1.0, 1.0)
        )
        found = max(found, change / 2 * len(values))
    return found / table.n_rows


def _cells(values: Floats, low: float, high: float, deviation: float) -> tuple[Floats, Floats]:
    """Values that people have or may have, and the share of each; wide columns by quantiles, with
    a place a fiftieth of the noise beside either end of the range.
    """
    first, last = values.min(), values.max()
    if last - first <= _STEPS:
        at = np.arange(min(first, low) - 2, max(last, high) + 3)
    else:
        some = np.quantile(values, np.linspace(0, 1, 100), method="nearest")
        beside = deviation / 50
        at = np.unique(np.append(some, [low, high, low - beside, high + beside]))
    nearest = np.searchsorted((at[1:] + at[:-1]) / 2, values, "right")
    return at, np.bincount(nearest, minlength=len(at)) / len(values)


def _shown(at: Floats, deviation: float) -> Floats:
    edges = np.linspace(at[0] - 4 * deviation, at[-1] + 4 * deviation, _CELLS)
    chances = np.diff(norm.cdf((edges[None, :] - at[:, None]) / deviation), axis=1)
    found: Floats = chances / chances.sum(axis=1, keepdims=True)
    return found


def _most(shares: Floats, shown: Floats, wanted: Floats, sign: float, rows: int) -> float:
    """The largest change of a count, up or down, that is hardly seen."""
    expected = shares @ shown
    seen = expected > 1e-12
    scaled = (shown[:, seen] * np.sqrt(rows / expected[seen])).T
    firm = _FIRM * np.sqrt(rows)
    lines = np.vstack([scaled, np.full(len(shares), firm), firm * wanted])
    true = float(shares @ wanted)

    def apart(change: float) -> float:
        aim = np.concatenate([scaled @ shares, [firm, firm * (true + sign * change)]])
        other, _ = nnls(lines, aim, maxiter=20 * len(shares))
        return float(((scaled @ (other - shares)) ** 2).sum())

    least, most = 0.0, 1 - true if sign > 0 else true
    for _ in range(_HALVINGS):
        middle = (least + most) / 2
        least, most = (middle, most) if apart(middle) <= _ALIKE else (least, middle)
    return least
