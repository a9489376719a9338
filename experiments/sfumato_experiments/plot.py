"""Draws a figure with Matplotlib, which is an extra: only this file knows it."""

from __future__ import annotations

from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.errors import MissingExtra
from sfumato_experiments.figure import Curve, Figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito: told apart by colour-blind readers too; markers tell them apart in grey.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_MARKERS = ("o", "s", "^", "D", "v", "P")
_STYLE: dict[Any, Any] = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.7,
    "axes.axisbelow": True,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "legend.frameon": False,
}
_LINE: dict[str, Any] = {"markersize": 5.5, "markerfacecolor": "white", "linewidth": 1.6}
_INCHES = (6.8, 4.2)
_DPI = 130


def draw(figure: Figure, path: Path) -> None:
    """Write the figure as a PNG."""
    try:
        import matplotlib as mpl
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure as Sheet
    except ImportError as error:
        raise MissingExtra("drawing figures", "plot") from error
    with mpl.rc_context(_STYLE):
        sheet = Sheet(figsize=_INCHES, dpi=_DPI, layout="constrained")
        FigureCanvasAgg(sheet)  # no pyplot: no window, no backend chosen for the whole process
        axes = sheet.subplots()
        _curves(axes, figure)
        _frame(axes, figure)
        sheet.savefig(path, format="png", metadata={"Software": None})


def _curves(axes: Axes, figure: Figure) -> None:
    looks = zip(cycle(_COLOURS), cycle(_MARKERS), strict=False)
    for place, (name, curve) in enumerate(figure.series.items()):
        look: dict[str, Any] = {"label": name, "zorder": 10 - place}  # the first curve on top
        if name in figure.references:
            axes.plot(*_xy(curve), color="#777777", linestyle="--", linewidth=1.2, **look)
        else:
            colour, marker = next(looks)
            axes.plot(*_xy(curve), color=colour, marker=marker, **_LINE, **look)
            _whiskers(axes, curve, color=colour, zorder=9.5 - place)


def _xy(curve: Curve) -> tuple[list[float], list[float]]:
    return [point.x for point in curve], [point.y for point in curve]


def _whiskers(axes: Axes, curve: Curve, **look: Any) -> None:
    spread = [point.spread or 0.0 for point in curve]
    if any(spread):
        axes.errorbar(*_xy(curve), yerr=spread, fmt="none", capsize=2.5, elinewidth=1, **look)


def _frame(axes: Axes, figure: Figure) -> None:
    axes.set_title(f"Figure {figure.number}. {figure.title}")
    axes.set_xlabel(figure.x_label)
    axes.set_ylabel(figure.y_label.replace("C_DM", "$C_{DM}$"))
    axes.set_xscale(figure.x_scale)
    axes.set_yscale(figure.y_scale)
    measured = sorted({point.x for curve in figure.series.values() for point in curve})
    # the measured places are the ticks, on a logarithmic axis too
    axes.set_xticks(measured, [f"{x:g}" for x in measured])
    axes.set_xticks([], minor=True)
    axes.grid(visible=True, axis="y", which="minor", color="#f2f2f2", linewidth=0.5)
    axes.legend()
