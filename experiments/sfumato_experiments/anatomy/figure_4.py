"""Figure 4: query accuracy against the number d of quasi-identifiers, qd = d."""

from __future__ import annotations

from sfumato_experiments.anatomy import accuracy as a
from sfumato_experiments.figure import Claim, Figure, Series
from sfumato_experiments.paper import Options


def run(options: Options) -> Figure:
    """Measure all methods on OCC-3 to OCC-7 and SAL-3 to SAL-7."""
    n = a.rows_of(options)
    dimensions = a.FEW_DIMENSIONS if options.quick else a.DIMENSIONS
    settings = [a.Setting("", d, d, n, qd=d) for d in dimensions]
    outcome, notes = a.compare(settings, options, most=n)
    return Figure(
        number="4",
        title=f"Query accuracy and dimensionality (n = {n:,}, s = {a.SELECTIVITY:.0%})",
        x_label="number d of quasi-identifiers",
        y_label=a.Y_LABEL,
        series=outcome.series,
        panels=a.panels(""),
        claims=(_BELOW, _FLAT, _GROWS, _TEN_TIMES, _HUNDRED_TIMES, a.nearer()),
        notes=notes,
        y_scale="log",
    )


def _final_gain(at: Series) -> float:
    return min(general[-1].y / anatomy[-1].y for anatomy, general in a.pairs(at))


_BELOW = Claim(
    "the error of anatomy is always below 10%",
    "section 6.1",
    (),
    lambda at: all(point.y < 10 for curve in a.curves_of(at, a.ANATOMY) for point in curve),
)
_FLAT = Claim(
    "anatomy is not affected by d: no error exceeds that at d = 3 by more than a tenth",
    "section 6.1",
    (),
    lambda at: all(
        max(point.y for point in curve) <= 1.1 * curve[0].y for curve in a.curves_of(at, a.ANATOMY)
    ),
)
_GROWS = Claim(
    "the error of generalization grows with d: it is largest at d = 7",
    "section 6.1",
    (),
    lambda at: all(
        curve[-1] == max(curve, key=lambda point: point.y)
        for curve in a.curves_of(at, a.GENERALIZATION)
    ),
)
_TEN_TIMES = Claim(
    "at d = 7 anatomy's error is lower by an order of magnitude",
    "section 6.1, weakened",
    (),
    lambda at: _final_gain(at) >= 10,
)
_HUNDRED_TIMES = Claim(
    "at d = 7 anatomy's error is lower by two orders of magnitude",
    "section 6.1",
    (),
    lambda at: _final_gain(at) >= 100,
)
