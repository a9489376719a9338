"""A generalized table as it is learnt from: every box is a line, evenly filled."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.answers.axes import Axis
from sfumato.answers.lines import LineReader, Lines
from sfumato.core.arrays import Floats
from sfumato.forms.generalized.answers import Boxed
from sfumato.queries.values import Values


def _axis_of(boxed: Boxed, name: str) -> Axis:
    """Bins that begin where sides do; a column that is shown exactly has no sides."""
    sides, of_box = boxed.side(name)
    weights = np.bincount(of_box, boxed.sizes).astype(np.float64)
    missing = bool(sides.read(Values(missing=True)).possible.any())
    return Axis.of(boxed.catalog.columns[name], *sides.begins(weights), missing)


def _lines_of(boxed: Boxed, axes: Sequence[Axis], target: str) -> Lines:
    """The shares of a box are those that a COUNT expects."""
    sides = [boxed.side(axis.column.name) for axis in axes]
    shares = [
        np.stack([side.read(wanted).share for wanted in axis.bins], axis=1)
        for axis, (side, _) in zip(axes, sides, strict=True)
    ]
    n_boxes = len(boxed.sizes)
    of_box = np.stack([codes for _, codes in sides], axis=1).astype(np.int32)
    return Lines(
        tuple(axes), tuple(map(_whole, shares)), of_box, boxed.sizes.astype(np.float64),
        np.arange(n_boxes, dtype=np.int32), boxed.rows.histograms(target),
    )  # fmt: skip


def _whole(shares: Floats) -> Floats:
    """What lies in no bin (of a suppressed cell, where nothing is shown) may lie in any."""
    totals = shares.sum(axis=1, keepdims=True)
    even = np.full_like(shares, 1 / max(shares.shape[1], 1))
    return np.where(totals > 0, shares / np.where(totals > 0, totals, 1.0), even)


BY_BOXES = LineReader(_axis_of, _lines_of)
