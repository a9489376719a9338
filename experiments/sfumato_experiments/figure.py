"""What a figure is: curves, and what the paper says they show."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, Literal, NamedTuple, TypeAlias


class Point(NamedTuple):
    """A mean over several seeds and their standard deviation; None when there is one run only."""

    x: float
    y: float
    spread: float | None = None

    @classmethod
    def of(cls, x: float, values: Sequence[float]) -> Point:
        """The point that sums up one run per seed."""
        return cls(x, fmean(values), stdev(values) if len(values) > 1 else None)


class Box(NamedTuple):
    """A rectangle over two attributes, its ends included."""

    x_min: float
    x_max: float
    y_min: float
    y_max: float

    @property
    def area(self) -> float:
        """How many pairs of whole numbers it holds."""
        return (self.x_max - self.x_min + 1) * (self.y_max - self.y_min + 1)


class Drawing(NamedTuple):
    """Rows of two attributes, and the boxes around their groups."""

    rows: Sequence[tuple[float, float]]
    boxes: Sequence[Box]


Curve: TypeAlias = tuple[Point, ...]
Series: TypeAlias = Mapping[str, Curve]
Scale: TypeAlias = Literal["linear", "log"]
Verdict: TypeAlias = Literal["yes", "no", "open"]


@dataclass(frozen=True, slots=True)
class Claim:
    """Something a figure is said to show, where it is said, and how to see it in our curves.

    A claim about curves that we do not draw yet stays open: ``verdict`` is None.
    """

    text: str
    where: str
    needs: tuple[str, ...]
    check: Callable[[Series], bool]

    def missing(self, series: Series) -> tuple[str, ...]:
        """The curves that are needed to judge and are not there."""
        return tuple(name for name in self.needs if name not in series)

    def verdict(self, series: Series) -> bool | None:
        """Whether the curves show it."""
        return None if self.missing(series) else self.check(series)


@dataclass(frozen=True, slots=True)
class Figure:
    """The result of one experiment. ``references`` are curves of theory, not of measurement.

    ``panels`` divides the plot: each panel's title, and the curves in it by their labels there.
    Where there are ``drawings``, they are plotted under their titles instead of the curves.
    """

    number: str
    title: str
    x_label: str
    y_label: str
    series: Series
    claims: tuple[Claim, ...] = ()
    notes: tuple[str, ...] = ()
    references: frozenset[str] = frozenset()
    panels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    drawings: Mapping[str, Drawing] = field(default_factory=dict)
    x_scale: Scale = "linear"
    y_scale: Scale = "linear"

    @property
    def stem(self) -> str:
        """Name of the figure's files, without their endings."""
        return f"figure_{self.number}"

    def verdicts(self) -> list[tuple[Claim, Verdict]]:
        """Every claim with yes, no, or open."""
        words: dict[bool | None, Verdict] = {True: "yes", False: "no", None: "open"}
        return [(claim, words[claim.verdict(self.series)]) for claim in self.claims]

    def rows(self) -> tuple[list[str], list[list[float | str]]]:
        """The figure as a table: a column per series, and one for its spread where there is any."""
        columns = [column for name in self.series for column in self._columns(name)]
        places = sorted({point.x for curve in self.series.values() for point in curve})
        lines = [[x, *(values.get(x, "") for _, values in columns)] for x in places]
        return [self.x_label, *(name for name, _ in columns)], lines

    def _columns(self, name: str) -> Iterator[tuple[str, dict[float, float | str]]]:
        curve = self.series[name]
        yield name, {point.x: rounded(point.y) for point in curve}
        if any(point.spread for point in curve):
            yield "±", {point.x: rounded(point.spread or 0.0) for point in curve}

    def to_dict(self) -> dict[str, Any]:
        """Everything, for JSON."""
        return {
            "figure": self.number,
            "title": self.title,
            "x": self.x_label,
            "y": self.y_label,
            "series": {
                name: [point._asdict() for point in curve] for name, curve in self.series.items()
            },
            "claims": [
                {
                    "claim": claim.text,
                    "where": claim.where,
                    "shown": said,
                    "missing": list(claim.missing(self.series)),
                }
                for claim, said in self.verdicts()
            ],
            "notes": list(self.notes),
        }

    def write_csv(self, path: Path) -> None:
        """One line per point, in full precision."""
        with path.open("w", newline="", encoding="utf-8") as file:
            out = csv.writer(file, lineterminator="\n")
            out.writerow(["series", "x", "y", "spread"])
            for name, curve in self.series.items():
                for x, y, spread in curve:
                    out.writerow([name, x, y, "" if spread is None else spread])


def rounded(value: float) -> float:
    """Whole numbers, or three digits, where more would be noise to a reader."""
    return round(value) if abs(value) >= 100 or value == int(value) else float(f"{value:.3g}")


def rises(curve: Curve) -> bool:
    """Each point lies above the one before."""
    return all(after.y > before.y for before, after in pairwise(curve))


def falls(curve: Curve) -> bool:
    """The last point lies below the first, and no step goes up by more than the noise of its ends.

    The noise is the standard deviation over the seeds.
    """
    return curve[-1].y < curve[0].y and all(
        after.y <= before.y + (before.spread or 0) + (after.spread or 0)
        for before, after in pairwise(curve)
    )


def ratios(above: Curve, below: Curve) -> list[float]:
    """How many times higher one curve lies, at every x both have."""
    at = {point.x: point.y for point in below}
    return [point.y / at[point.x] for point in above if point.x in at]
