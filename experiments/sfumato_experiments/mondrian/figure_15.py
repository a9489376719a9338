"""Figure 15: the optimal single-dimensional partitioning of two skewed attributes."""

from __future__ import annotations

import sfumato as sf
from sfumato_experiments.figure import Claim, Figure
from sfumato_experiments.mondrian import two_attributes as t
from sfumato_experiments.mondrian.comparison import SINGLE
from sfumato_experiments.paper import Options

_GROUPS = "groups"
_MORE = "intervals of the attribute with more"
_LESS = "intervals of the other"


def run(options: Options) -> Figure:
    """Draw the grids of the first seed, and count the intervals of all."""
    tables = t.tables(options)
    grids = [list(t.releases(SINGLE, table)) for table in tables]
    cuts = [[sorted(map(_intervals, (grid, grid), (t.X, t.Y))) for grid in line] for line in grids]
    return Figure(
        number="15",
        title="Optimal single-dimensional partitioning",
        x_label="k",
        y_label="groups and intervals",
        series={
            _GROUPS: t.over_seeds([[grid.manifest.groups for grid in line] for line in grids]),
            _MORE: t.over_seeds([[pair[1] for pair in line] for line in cuts]),
            _LESS: t.over_seeds([[pair[0] for pair in line] for line in cuts]),
        },
        claims=(_ONE_ATTRIBUTE, _COARSER),
        notes=(t.described(options), _said(grids), "drawn: seed 0"),
        drawings=t.drawings(tables[0], list(map(t.boxes, grids[0]))),
    )


def _intervals(grid: sf.GeneralizedTable, name: str) -> int:
    return len(set(grid.groups.column(f"{name}_min").to_pylist()))


def _said(grids: list[list[sf.GeneralizedTable]]) -> str:
    proven = [grid.manifest.search["optimal"] for line in grids for grid in line]
    return f"{sum(proven)} of {len(proven)} grids proven optimal"


_ONE_ATTRIBUTE = Claim(
    "for small k it tends to reflect the distribution of just one attribute: the other has at most "
    "two intervals",
    "section 6.3",
    (_LESS,),
    lambda at: at[_LESS][0].y <= 2,
)
_COARSER = Claim(
    "the larger k, the fewer groups",
    "expected",
    (_GROUPS,),
    lambda at: at[_GROUPS][0].y > at[_GROUPS][-1].y,
)
