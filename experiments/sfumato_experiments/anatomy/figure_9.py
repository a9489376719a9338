"""Figure 9: page I/Os against the number n of rows, d = 5."""

from __future__ import annotations

from itertools import pairwise

from sfumato_experiments.anatomy import accuracy as a
from sfumato_experiments.anatomy import figure_7, pages
from sfumato_experiments.anatomy.tables import sources
from sfumato_experiments.figure import Claim, Curve, Figure, Point
from sfumato_experiments.paper import Options


def run(options: Options) -> Figure:
    """Count the pages of both methods on ever larger samples."""
    sizes = figure_7.ROWS  # counting is quick enough
    families = sources(options.data, max(sizes))
    series = {}
    for done, source in enumerate(families):
        options.progress(done / len(families))
        series.update(pages.costs(source, [(n, a.USUAL_D, n) for n in sizes]))
    return Figure(
        number="9",
        title=f"I/O cost and table size (d = {a.USUAL_D})",
        x_label="number n of rows",
        y_label="page reads and writes",
        series=series,
        panels=a.panels("", methods=a.PAPERS),
        claims=(_LINEAR, _SUPER_LINEAR, _TEN_TIMES),
        notes=(
            *dict.fromkeys(source.said for source in families),
            f"counted, not measured: pages of {pages.PAGE} bytes, {pages.MEMORY} pages of memory",
        ),
    )


def _linear(curve: Curve) -> bool:
    """Whether a further row costs the same everywhere, within 2%."""
    steps = [(after.y - before.y) / (after.x - before.x) for before, after in pairwise(curve)]
    return max(steps) < 1.02 * min(steps)


def _per_row(point: Point) -> float:
    return point.y / point.x


_LINEAR = Claim(
    "anatomy's cost is linear in n: a further row costs the same everywhere, within 2%",
    "Theorem 3",
    (),
    lambda at: all(_linear(curve) for curve in a.curves_of(at, a.ANATOMY)),
)
_SUPER_LINEAR = Claim(
    "generalization's cost is super-linear in n: a row costs at least 10% more at the end",
    "section 6.2",
    (),
    lambda at: all(
        _per_row(curve[-1]) > 1.1 * _per_row(curve[0])
        for curve in a.curves_of(at, a.GENERALIZATION)
    ),
)
_TEN_TIMES = Claim(
    "for large n anatomy is ten times faster",
    "section 6.2",
    (),
    lambda at: all(general[-1].y >= 10 * anatomy[-1].y for anatomy, general in a.pairs(at)),
)
