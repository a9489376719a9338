"""Draw the picture of docs/neighbours.md: the same people in the paper's groups, and in ours.

python -m tools.draw_neighbours docs/pictures/neighbours.png
"""

from __future__ import annotations

import sys

import matplotlib as mpl
import numpy as np
import pyarrow as pa

import sfumato as sf
from tools.draw_partition import INK, PAPER

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

PEOPLE, L, SHOWN = 600, 3, 30
COLOURS = ("#4269d0", "#efb118", "#ff725c", "#6cc5b0", "#3ca951", "#ff8ab7", "#a463f2", "#9c6b4e")


def people() -> pa.Table:
    """Ages, incomes, and diseases that lean on both."""
    random = np.random.default_rng(3)
    age = random.integers(20, 80, PEOPLE)
    income = np.clip(random.gamma(8, 4 + age / 30, PEOPLE), 8, 100).round().astype(int)
    lean = (age - 20) / 60 * 3 + (income < 45) + random.normal(0, 2.5, PEOPLE)
    disease = np.argsort(np.argsort(lean)) * len(COLOURS) // PEOPLE
    return pa.table({"age": age, "income": income, "disease": disease})


def main(path: str) -> None:
    """Two panels: a dot is somebody, its colour the disease; lines join the people of a group."""
    table = people()
    data = sf.read(table, sf.Schema(quasi=["age", "income"], sensitive="disease"))
    ways = {
        "As in the paper: groups ignore who people are": sf.Anatomize(near=False),
        "Groups of neighbours": sf.Anatomize(size=L),
    }
    figure, panels = plt.subplots(1, 2, figsize=(10, 3.9), sharey=True, facecolor=PAPER)
    for axes, (title, way) in zip(panels, ways.items(), strict=True):
        release = sf.publish(data, way, sf.LDiversity(L), seed=7)
        _lines(axes, release)
        colours = [COLOURS[one] for one in table["disease"].to_pylist()]
        axes.scatter(table["age"], table["income"], s=9, c=colours, linewidths=0, zorder=2)
        _frame(axes, title)
    panels[0].set_ylabel("income, thousands", color=INK)
    figure.tight_layout()
    figure.savefig(path, dpi=110, facecolor=PAPER)


def _lines(axes: Axes, release: sf.AnatomizedTables) -> None:
    """Some groups, each as a star around its middle."""
    groups = release.qit["group_id"].to_numpy()
    for group in range(1, SHOWN + 1):
        members = release.qit.filter(pa.array(groups == group))
        x, y = members["age"].to_numpy(), members["income"].to_numpy()
        for age, income in zip(x, y, strict=True):
            axes.plot([x.mean(), age], [y.mean(), income], color=INK, lw=0.6, alpha=0.8, zorder=1)


def _frame(axes: Axes, title: str) -> None:
    axes.set_title(title, color=INK, fontsize=11, loc="left")
    axes.set_xlabel("age", color=INK)
    axes.set_facecolor(PAPER)
    axes.tick_params(colors=INK, labelsize=8)
    for spine in axes.spines.values():
        spine.set_color(INK)
        spine.set_linewidth(0.5)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "docs/pictures/neighbours.png")
