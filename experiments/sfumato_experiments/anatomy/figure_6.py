"""Figure 6: query accuracy against the expected selectivity s, for d = 3, 5 and 7, qd = d."""

from __future__ import annotations

from sfumato_experiments.anatomy import accuracy as a
from sfumato_experiments.figure import Claim, Figure
from sfumato_experiments.paper import Options

_PERCENT = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
_QUICK_PERCENT = (1, 5, 10)


def run(options: Options) -> Figure:
    """Measure all methods from rare to frequent answers."""
    n = a.rows_of(options)
    settings = [
        a.Setting(f"-{d}", percent, d, n, qd=d, s=percent / 100)
        for d in a.FEW_DIMENSIONS
        for percent in (_QUICK_PERCENT if options.quick else _PERCENT)
    ]
    outcome, notes = a.compare(settings, options, most=n)
    return Figure(
        number="6",
        title=f"Query accuracy and selectivity (n = {n:,})",
        x_label="expected selectivity s (%)",
        y_label=a.Y_LABEL,
        series=outcome.series,
        panels=a.panels(*(f"-{d}" for d in a.FEW_DIMENSIONS)),
        claims=(
            a.wins(1, "anatomy is the clear winner, whatever s", "section 6.1"),
            *(_falls(method) for method in a.PAPERS),
            a.nearer(),
        ),
        notes=notes,
        y_scale="log",
    )


def _falls(method: str) -> Claim:
    return Claim(
        f"the precision of {method} improves from the smallest s to the largest",
        "section 6.1",
        (),
        lambda at: all(curve[-1].y < curve[0].y for curve in a.curves_of(at, method)),
    )
