"""Figure 5: query accuracy against the query dimensionality qd, for d = 3, 5 and 7."""

from __future__ import annotations

from sfumato_experiments.anatomy import accuracy as a
from sfumato_experiments.figure import Claim, Curve, Figure
from sfumato_experiments.paper import Options


def run(options: Options) -> Figure:
    """Measure all methods for queries on one attribute up to all."""
    n = a.rows_of(options)
    settings = [
        a.Setting(f"-{d}", qd, d, n, qd=qd)
        for d in a.FEW_DIMENSIONS
        for qd in range(1, d + 1)
        if not options.quick or qd in (1, 3, d)
    ]
    outcome, notes = a.compare(settings, options, most=n)
    return Figure(
        number="5",
        title=f"Query accuracy and query dimensionality (n = {n:,}, s = {a.SELECTIVITY:.0%})",
        x_label="query dimensionality qd",
        y_label=a.Y_LABEL,
        series=outcome.series,
        panels=a.panels(*(f"-{d}" for d in a.FEW_DIMENSIONS)),
        claims=(
            a.wins(1, "anatomy is more accurate, whatever d and qd", "section 6.1, weakened"),
            a.wins(10, "anatomy is more accurate by at least an order of magnitude", "section 6.1"),
            *(_falls(source, d) for d in (3, 5) for source in ("OCC", "SAL")),
            *(_stays(source) for source in ("OCC", "SAL")),
            a.nearer(),
        ),
        notes=notes,
        y_scale="log",
    )


def _improves(curve: Curve) -> bool:
    return curve[-1].y < curve[0].y


def _falls(source: str, d: int) -> Claim:
    name = a.named(source, f"-{d}", a.GENERALIZATION)
    return Claim(
        f"the error of generalization falls from qd = 1 to qd = d: {source}-{d}",
        "section 6.1",
        (name,),
        lambda at: _improves(at[name]),
    )


def _stays(source: str) -> Claim:
    name = a.named(source, "-7", a.GENERALIZATION)
    return Claim(
        f"with d = 7 generalization no longer improves with qd: {source}-7",
        "section 6.1",
        (name,),
        lambda at: not _improves(at[name]),
    )
