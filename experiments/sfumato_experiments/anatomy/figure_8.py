"""Figure 8: page I/Os against the number d of quasi-identifiers."""

from __future__ import annotations

from sfumato_experiments.anatomy import accuracy as a
from sfumato_experiments.anatomy import pages
from sfumato_experiments.anatomy.tables import sources
from sfumato_experiments.figure import Claim, Figure, rises
from sfumato_experiments.paper import Options


def run(options: Options) -> Figure:
    """Count the pages of both methods on OCC-3 to OCC-7 and SAL-3 to SAL-7."""
    n = a.ROWS  # counting is quick enough
    families = sources(options.data, n)
    series = {}
    for done, source in enumerate(families):
        options.progress(done / len(families))
        series.update(pages.costs(source, [(d, d, n) for d in a.DIMENSIONS]))
    return Figure(
        number="8",
        title=f"I/O cost and dimensionality (n = {n:,})",
        x_label="number d of quasi-identifiers",
        y_label="page reads and writes",
        series=series,
        panels=a.panels("", methods=a.PAPERS),
        claims=(_FEWER, _TEN_TIMES, _GROWS),
        notes=(
            *dict.fromkeys(source.said for source in families),
            f"counted, not measured: pages of {pages.PAGE} bytes, {pages.MEMORY} pages of memory",
        ),
    )


_FEWER = a.wins(
    1.5, "anatomy incurs significantly fewer I/Os: at least a third fewer", "section 6.2"
)
_TEN_TIMES = Claim(
    "for large d anatomy is ten times faster",
    "section 6.2",
    (),
    lambda at: all(general[-1].y >= 10 * anatomy[-1].y for anatomy, general in a.pairs(at)),
)
_GROWS = Claim(
    "anatomy's cost grows with d, as rows get longer",
    "expected",
    (),
    lambda at: all(rises(curve) for curve in a.curves_of(at, a.ANATOMY)),
)
