"""How far a count from a masked table may be off.

Every row weighs W in a count, and satisfies the conditions with the chance P (blurs.py): it is off
by (W - 1)^2 in P cases and by W^2 in the others. The sum of W^2 - 2 W P + P is the mean square
error of the count, so far as chance explains it. Often W and P are the same, and the sum is that of
P (1 - P). Where finer things are asked than can be told apart, the interval begins where nothing
doubtful counts and ends where all of it does.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple

import numpy as np

from sfumato.core.arrays import Counts, Floats
from sfumato.forms.masked.blurs import Blur
from sfumato.queries.values import Values

LOW, HIGH = -1, 1  # the edges of what may or may not be wanted
_LEAST = 1.0  # the square of what a count of whole rows is off by at least


class Told(NamedTuple):
    """Weights and chances of all rows, by one condition or several, at both edges."""

    low: tuple[Floats, Floats]
    high: tuple[Floats, Floats]

    @classmethod
    def by(cls, blur: Blur, wanted: Values) -> Told:
        """What a masked column tells."""
        low, high = (
            (blur.weights(wanted, edge), blur.chances(wanted, edge)) for edge in (LOW, HIGH)
        )
        return cls(low, high)


class Doubt(NamedTuple):
    """The count at either edge, and its error there."""

    low: float
    under: float
    high: float
    over: float

    def interval(self, far: float, most: float) -> tuple[float, float]:
        """Both ends, so many errors away, cut to what is possible."""
        low, high = self.low - far * self.under, self.high + far * self.over
        return min(max(0.0, low), most), min(max(0.0, high), most)

    def away(self, true: float) -> float:
        """How many errors away the interval has to end to hold the truth."""
        return max(0.0, (self.low - true) / self.under, (true - self.high) / self.over)


def doubt(parts: Sequence[Told], rows: Floats | Counts, *, drawn: bool, keeps: bool) -> Doubt:
    """Of the rows that count, by all conditions on masked columns.

    Rows that were ``drawn`` are a sample. A column that ``keeps`` its values, in other rows, is
    off by nothing on the whole, and so by less in a part.
    """
    low = _edge([one.low for one in parts], rows, drawn=drawn, keeps=keeps)
    high = _edge([one.high for one in parts], rows, drawn=drawn, keeps=keeps)
    return Doubt(*low, *high)


def _edge(
    parts: Sequence[tuple[Floats, Floats]], rows: Floats | Counts, *, drawn: bool, keeps: bool
) -> tuple[float, float]:
    weights = np.prod([one for one, _ in parts], axis=0)
    chances = np.prod([one for _, one in parts], axis=0)
    counted = float(weights @ rows)
    if drawn:  # no row has another chance than all together
        error = counted * (1 - counted / max(1.0, float(rows.sum())))
    else:
        errors = weights**2 - 2 * weights * chances + chances
        error = max(0.0, float(errors @ rows))
        if keeps:
            error *= 1 - error / max(error, float(errors.sum()), 1e-9)
    return counted, sqrt(error + _LEAST)
