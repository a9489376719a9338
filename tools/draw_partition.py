"""Draw the picture of the README: people as dots, and the boxes Mondrian publishes instead.

python tools/draw_partition.py docs/pictures/mondrian.png
"""

from __future__ import annotations

import sys

import matplotlib as mpl
import numpy as np
import pyarrow as pa

import sfumato as sf

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

INK, PAPER, HAZE = "#3b2f2a", "#fbf7ef", "#b5835a"
K, PEOPLE = 10, 600


def people() -> pa.Table:
    """Ages and incomes of invented people: incomes rise until 50 and spread."""
    generator = np.random.default_rng(7)
    age = np.clip(generator.gamma(9, 4.8, PEOPLE), 18, 85).round().astype(int)
    level = 22 + 28 * np.exp(-(((age - 50) / 22) ** 2))
    income = np.clip(level * generator.lognormal(0, 0.28, PEOPLE), 8, 110).round(1)
    return pa.table({"age": age, "income": income})


def main(path: str) -> None:
    """Draw both views of the same people side by side."""
    table = people()
    data = sf.Microdata.from_arrow(table, sf.Schema(quasi=["age", "income"]))
    release = sf.publish(data, sf.Mondrian(), sf.KAnonymity(K), seed=1)
    figure, (before, after) = plt.subplots(1, 2, figsize=(10, 3.9), sharey=True, facecolor=PAPER)
    before.scatter(table["age"], table["income"], s=7, color=INK, alpha=0.75, linewidths=0)
    _boxes(after, release)
    _frame(before, "The table: every dot is somebody")
    _frame(after, f"Published, k = {K}: every box is at least {K} people")
    before.set_ylabel("income, thousands", color=INK)
    figure.tight_layout()
    figure.savefig(path, dpi=110, facecolor=PAPER)


def _boxes(axes: Axes, release: sf.GeneralizedTable) -> None:
    columns = ["age_min", "age_max", "income_min", "income_max"]
    counted = release.table.group_by(columns).aggregate([([], "count_all")])
    for row in counted.to_pylist():
        wide = max(row["age_max"] - row["age_min"], 0.6)
        high = max(row["income_max"] - row["income_min"], 0.6)
        shade = min(0.85, 0.12 + row["count_all"] / (wide * high) * 0.9)
        corner = (row["age_min"], row["income_min"])
        axes.add_patch(Rectangle(corner, wide, high, facecolor=HAZE, alpha=shade, linewidth=0))
        axes.add_patch(Rectangle(corner, wide, high, fill=False, edgecolor=INK, linewidth=0.4))


def _frame(axes: Axes, title: str) -> None:
    axes.set_title(title, color=INK, fontsize=11, loc="left")
    axes.set_xlim(16, 88)
    axes.set_ylim(0, 112)
    axes.set_xlabel("age", color=INK)
    axes.set_facecolor(PAPER)
    axes.tick_params(colors=INK, labelsize=8)
    for spine in axes.spines.values():
        spine.set_color(INK)
        spine.set_linewidth(0.5)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "docs/pictures/mondrian.png")
