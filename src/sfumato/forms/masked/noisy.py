"""Numbers with normal noise: cells for the true ones, and how they are shown."""

from __future__ import annotations

from math import ceil, erf, exp, floor, pi, sqrt

import numpy as np

from sfumato.core.arrays import Floats
from sfumato.forms.manifest import PublishedColumn
from sfumato.forms.masked.blurs import Blur, Cells, Line, Scattered, numbers_shown
from sfumato.forms.masked.deconvolution import Channel
from sfumato.forms.masked.release import MaskedTable

_MOST = 200  # cells
_FINE = 4  # of them per standard deviation of the noise
_GRID = np.linspace(-9.0, 9.0, 20_001)
_PHI = np.array([(1 + erf(z / sqrt(2))) / 2 for z in _GRID])
_PSI = np.array([z * (1 + erf(z / sqrt(2))) / 2 + exp(-z * z / 2) / sqrt(2 * pi) for z in _GRID])


def noisy(release: MaskedTable, column: PublishedColumn) -> Blur:
    """A column of numbers that noise was added to."""
    values, stated = release.table.column(column.name), release.distortions[column.name]
    shown, known = numbers_shown(values)
    line, deviation = Line(stated.step, values.type), sqrt(stated.variance)
    if deviation <= 0 or not known.any():
        return Scattered(shown, known, line)
    low, high = float(shown[known].min()), float(shown[known].max())
    whole = bool(stated.step) and (high - low) / stated.step < _MOST
    edges = _whole(low, high, stated.step) if whole else _even(low, high, deviation)
    cells = np.clip(np.searchsorted(edges, shown, "right") - 1, 0, len(edges) - 2)
    moved = _points(edges, deviation) if whole else _stretches(edges, deviation)
    counts = np.bincount(cells[known], minlength=len(edges) - 1)
    channel = Channel.of_counts(moved, counts)
    return Cells(cells, known, channel, lambda wanted: line.shares(wanted, edges))


def _whole(low: float, high: float, step: int) -> Floats:
    """A cell for every step, with the step in its middle."""
    steps = np.arange(floor(low / step), ceil(high / step) + 2, dtype=np.float64)
    return (steps - 0.5) * step


def _even(low: float, high: float, deviation: float) -> Floats:
    """Cells of one width, as fine as noise lets them be told apart, and not too many."""
    n = ceil(min(_MOST, max(1.0, (high - low) / deviation * _FINE)))
    pad = (high - low or deviation) * 1e-9 + 4 * np.spacing(max(-low, high))  # ends are inside
    edges: Floats = np.unique(np.linspace(low - pad, high + pad, n + 1))
    return edges


def _points(edges: Floats, deviation: float) -> Floats:
    """The chances of values in the middle of cells to be shown in others."""
    middles = (edges[1:] + edges[:-1]) / 2
    below = np.interp((edges[None, :] - middles[:, None]) / deviation, _GRID, _PHI)
    return _rows_of(below)


def _stretches(edges: Floats, deviation: float) -> Floats:
    """The same for values anywhere in a cell: the mean of the normal distribution over it."""
    apart = (edges[None, :] - edges[:, None]) / deviation
    risen = np.interp(apart, _GRID, _PSI)
    risen = np.where(apart > _GRID[-1], apart, risen)
    width = np.diff(edges)[:, None] / deviation
    return _rows_of((risen[:-1] - risen[1:]) / width)


def _rows_of(below: Floats) -> Floats:
    """What lies between edges; beyond the first and the last all that is left."""
    below = below.copy()
    below[:, 0], below[:, -1] = 0.0, 1.0
    between: Floats = np.maximum(np.diff(below, axis=1), 0.0)
    return between
