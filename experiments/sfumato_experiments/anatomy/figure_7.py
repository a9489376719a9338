"""Figure 7: query accuracy against the number n of rows, qd = d = 5."""

from __future__ import annotations

from sfumato_experiments.anatomy import accuracy as a
from sfumato_experiments.figure import Claim, Figure
from sfumato_experiments.paper import Options

ROWS = (100_000, 200_000, 300_000, 400_000, 500_000)
QUICK_ROWS = (20_000, 60_000, 100_000)


def run(options: Options) -> Figure:
    """Measure all methods on ever larger samples."""
    sizes = QUICK_ROWS if options.quick else ROWS
    settings = [a.Setting("", n, a.USUAL_D, n, qd=a.USUAL_D) for n in sizes]
    outcome, notes = a.compare(settings, options, most=max(sizes))
    return Figure(
        number="7",
        title=f"Query accuracy and table size (d = {a.USUAL_D}, s = {a.SELECTIVITY:.0%})",
        x_label="number n of rows",
        y_label=a.Y_LABEL,
        series=outcome.series,
        panels=a.panels(""),
        claims=(
            a.wins(2, "anatomy has significantly lower error in all cases", "section 6.1"),
            _STEADY,
            a.nearer(),
        ),
        notes=notes,
        y_scale="log",
    )


_STEADY = Claim(
    "the error of anatomy stays below 10% for every n",
    "section 6.1",
    (),
    lambda at: all(point.y < 10 for curve in a.curves_of(at, a.ANATOMY) for point in curve),
)
