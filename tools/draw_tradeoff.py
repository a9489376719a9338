"""Draw the second picture of docs/neighbours.md: answers and attackers by the size of groups.

python -m tools.draw_tradeoff docs/pictures/tradeoff.png

The figures are read from the table of ``python -m benchmarks tradeoff`` in benchmarks/RESULTS.md.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl

from tools.draw_partition import INK, PAPER

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

RESULTS = Path(__file__).parents[1] / "benchmarks" / "RESULTS.md"
HEAD = (
    "| | size | 3 of 7: error, bounds | ranges of 2: error, bounds | deFinetti | learner | limit |"
)
ERROR, WIDTH, LIMIT = "#4269d0", "#efb118", "#ff725c"


class Point(NamedTuple):
    """Groups of one size: mean error and width of bounds (ranges of two), right guesses, limit."""

    size: str
    error: float
    width: float
    right: float
    limit: float


def tradeoffs() -> dict[str, list[Point]]:
    """The table, by what was published."""
    found: dict[str, list[Point]] = {}
    for name, size, _, answers, _, learner, limit in _rows():
        error, width = answers.split(" %, ")
        right = float(learner.strip("*"))
        point = Point(size, float(error) / 100, float(width), right, float(limit))
        found.setdefault(name, []).append(point)
    return found


def _rows() -> Iterator[list[str]]:
    lines = RESULTS.read_text("utf-8").split(HEAD)[1].splitlines()[2:]
    for line in lines:
        if not line.startswith("|"):
            return
        yield re.split(r" \| ", line.strip("| "))


def main(path: str) -> None:
    """A panel per table: errors and widths beside the paper's, by what the learner guesses."""
    tables = tradeoffs()
    figure, panels = plt.subplots(1, len(tables), figsize=(10, 3.6), sharey=True, facecolor=PAPER)
    for axes, (name, points) in zip(panels, tables.items(), strict=True):
        paper, *near = points
        _curve(axes, [(one.right, one.error / paper.error) for one in near], ERROR, "error")
        _curve(
            axes, [(one.right, one.width / paper.width) for one in near], WIDTH, "width of bounds"
        )
        axes.plot([paper.right], [1], "s", color=INK, ms=5, label="the paper's groups")
        axes.axvline(paper.limit, color=LIMIT, lw=1, ls="--", label="limit")
        for one in near:
            at = one.right, one.error / paper.error
            times = one.size.removesuffix("l").strip() or "1"
            below = {"xytext": (0, -12), "textcoords": "offset points", "ha": "center"}
            axes.annotate(times, at, fontsize=8, color=INK, **below)
        _frame(axes, name)
    panels[0].set_ylabel("relative to the paper's groups", color=INK, fontsize=9)
    panels[0].set_ylim(0, None)
    panels[0].legend(fontsize=7, frameon=False, loc="lower right", labelcolor=INK)
    figure.tight_layout()
    figure.savefig(path, dpi=110, facecolor=PAPER)


def _curve(axes: Axes, places: list[tuple[float, float]], colour: str, name: str) -> None:
    axes.plot(*zip(*places, strict=True), "o-", color=colour, ms=4, lw=1, label=name)


def _frame(axes: Axes, title: str) -> None:
    axes.set_title(title, color=INK, fontsize=10, loc="left")
    axes.set_xlabel("right guesses of the learner (numbers: size over l)", color=INK, fontsize=8)
    axes.set_facecolor(PAPER)
    axes.tick_params(colors=INK, labelsize=8)
    for spine in axes.spines.values():
        spine.set_color(INK)
        spine.set_linewidth(0.5)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "docs/pictures/tradeoff.png")
