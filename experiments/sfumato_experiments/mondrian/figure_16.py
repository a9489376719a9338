"""Figure 16: the strict multidimensional partitioning of the same two attributes."""

from __future__ import annotations

from math import hypot
from statistics import fmean

from sfumato_experiments.figure import Box, Claim, Figure
from sfumato_experiments.mondrian import two_attributes as t
from sfumato_experiments.mondrian.comparison import STRICT
from sfumato_experiments.paper import Options

_GROUPS = "groups"
_MIDDLE = "values per box, half nearest to μ"
_OUTSIDE = "values per box, other half"


def run(options: Options) -> Figure:
    """Draw the partitions of the first seed, and measure the boxes of all."""
    tables = t.tables(options)
    found = [list(map(t.boxes, t.releases(STRICT, table))) for table in tables]
    return Figure(
        number="16",
        title="Strict multidimensional partitioning",
        x_label="k",
        y_label="groups and the size of their boxes",
        series={
            _GROUPS: t.over_seeds([[len(boxes) for boxes in line] for line in found]),
            _MIDDLE: t.over_seeds([[_areas(boxes)[0] for boxes in line] for line in found]),
            _OUTSIDE: t.over_seeds([[_areas(boxes)[1] for boxes in line] for line in found]),
        },
        claims=(_CAPTURES, _COARSER),
        notes=(t.described(options), "drawn: seed 0"),
        drawings=t.drawings(tables[0], found[0]),
    )


def _areas(boxes: list[Box]) -> tuple[float, float]:
    """The mean area of the half of the boxes that is nearest to the mean, and of the others."""
    ordered = sorted(boxes, key=_distance)
    half = len(boxes) // 2
    near, far = ordered[:half], ordered[half:]
    return fmean(box.area for box in near), fmean(box.area for box in far)


def _distance(box: Box) -> float:
    return hypot((box.x_min + box.x_max) / 2 - t.MU, (box.y_min + box.y_max) / 2 - t.MU)


_CAPTURES = Claim(
    "it captures the underlying distribution: boxes are smaller where rows are dense",
    "section 6.3",
    (_MIDDLE, _OUTSIDE),
    lambda at: all(
        middle.y < outside.y for middle, outside in zip(at[_MIDDLE], at[_OUTSIDE], strict=True)
    ),
)
_COARSER = Claim(
    "the larger k, the fewer groups",
    "expected",
    (_GROUPS,),
    lambda at: at[_GROUPS][0].y > at[_GROUPS][-1].y,
)
