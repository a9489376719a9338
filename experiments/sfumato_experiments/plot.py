"""Draws a figure with Matplotlib, which is an extra: only this file knows it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.errors import MissingExtra
from sfumato_experiments.figure import Curve, Drawing, Figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PatchCollection
    from matplotlib.figure import Figure as Sheet

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
_TALL_DPI = 95  # keeps the file of a tall figure small
_PANEL_COLUMNS = 2
_LEGEND_COLUMNS = 3


def draw(figure: Figure, path: Path) -> None:
    """Write the figure as a PNG."""
    try:
        import matplotlib as mpl
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure as Sheet
    except ImportError as error:
        raise MissingExtra("drawing figures", "plot") from error
    with mpl.rc_context(_STYLE):
        dpi = _DPI if len(figure.panels) <= _PANEL_COLUMNS else _TALL_DPI
        sheet = Sheet(figsize=_size(figure), dpi=dpi, layout="constrained")
        FigureCanvasAgg(sheet)  # no pyplot: no window, no backend chosen for the whole process
        if figure.drawings:
            _drawings(sheet, figure)
        elif figure.panels:
            _panels(sheet, figure)
        else:
            axes = sheet.subplots()
            _curves(axes, figure, {name: name for name in figure.series})
            _frame(axes, figure)
            axes.set_title(_title(figure))
            axes.legend()
        sheet.savefig(path, format="png", metadata={"Software": None})


def _size(figure: Figure) -> tuple[float, float]:
    if figure.drawings:
        return 3.2 * len(figure.drawings), 3.7
    rows = -(-len(figure.panels) // _PANEL_COLUMNS)
    return (_INCHES[0], 1.2 + 2.4 * rows) if rows > 1 else (_INCHES[0], 3.6) if rows else _INCHES


def _panels(sheet: Sheet, figure: Figure) -> None:
    """Small plots with common axes, and one legend for all."""
    rows = -(-len(figure.panels) // _PANEL_COLUMNS)
    grid = sheet.subplots(
        rows, _PANEL_COLUMNS, sharex="row", sharey=True, squeeze=False, gridspec_kw={"hspace": 0.08}
    )
    for place, (axes, (title, shown)) in enumerate(
        zip(grid.flat, figure.panels.items(), strict=False)
    ):
        _curves(axes, figure, shown)
        _frame(axes, figure, list(shown.values()))
        _plain_numbers(axes, figure)
        axes.set_title(title, fontsize=10)
        if place % _PANEL_COLUMNS:
            axes.set_ylabel("")
        if place // _PANEL_COLUMNS < rows - 1:
            axes.set_xlabel("")
    if figure.y_scale == "linear":
        grid.flat[0].set_ylim(bottom=0)  # at the end: it stops the common axis from growing
    sheet.suptitle(_title(figure), x=0.01, ha="left", fontsize=11)
    handles, labels = grid.flat[0].get_legend_handles_labels()
    ncols = len(labels) if len(labels) <= _LEGEND_COLUMNS else _PANEL_COLUMNS
    sheet.legend(handles, labels, loc="outside lower center", ncols=ncols)


def _drawings(sheet: Sheet, figure: Figure) -> None:
    """Rows as dots, the larger the more of them; the boxes of their groups as outlines."""
    grid = sheet.subplots(1, len(figure.drawings), sharex=True, sharey=True, squeeze=False)
    for axes, (title, drawing) in zip(grid.flat, figure.drawings.items(), strict=True):
        places = Counter(drawing.rows)
        sizes = [1.5 * count for count in places.values()]
        axes.scatter(*zip(*places, strict=True), s=sizes, color=_COLOURS[0], linewidths=0)
        axes.add_collection(_outlines(drawing))
        axes.set_title(title, fontsize=10)
        axes.set_aspect("equal")
        axes.grid(visible=False)
        axes.set_xlabel("X")
    grid.flat[0].set_ylabel("Y")
    sheet.suptitle(_title(figure), x=0.01, ha="left", fontsize=11)


def _outlines(drawing: Drawing) -> PatchCollection:
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle

    # half a value wider on all sides, so that boxes that touch share an edge
    boxes = [
        Rectangle(
            (box.x_min - 0.5, box.y_min - 0.5),
            box.x_max - box.x_min + 1,
            box.y_max - box.y_min + 1,
        )
        for box in drawing.boxes
    ]
    return PatchCollection(boxes, facecolor="none", edgecolor=_COLOURS[1], linewidth=0.7)


def _plain_numbers(axes: Axes, figure: Figure) -> None:
    """1, 2, 5, 10 on a logarithmic axis; thousands with commas on a linear one."""
    from matplotlib.ticker import LogLocator, StrMethodFormatter

    if figure.y_scale == "log":
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axes.tick_params(axis="y", which="minor", left=False, labelleft=False)
    else:
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))


def _title(figure: Figure) -> str:
    return f"Figure {figure.number}. {figure.title}"


def _curves(axes: Axes, figure: Figure, shown: Mapping[str, str]) -> None:
    looks = zip(cycle(_COLOURS), cycle(_MARKERS), strict=False)
    for place, (label, name) in enumerate(shown.items()):
        curve = figure.series[name]
        look: dict[str, Any] = {"label": label, "zorder": 10 - place}  # the first curve on top
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


def _frame(axes: Axes, figure: Figure, names: Sequence[str] | None = None) -> None:
    axes.set_xlabel(figure.x_label)
    axes.set_ylabel(figure.y_label.replace("C_DM", "$C_{DM}$"))
    axes.set_xscale(figure.x_scale)
    axes.set_yscale(figure.y_scale)
    shown = figure.series if names is None else names
    measured = sorted({point.x for name in shown for point in figure.series[name]})
    # the measured places are the ticks, on a logarithmic axis too
    axes.set_xticks(measured, [_tick(x) for x in measured])
    axes.set_xticks([], minor=True)
    axes.grid(visible=True, axis="y", which="minor", color="#f2f2f2", linewidth=0.5)


def _tick(x: float) -> str:
    return f"{x / 1000:g}k" if x >= 10_000 and x % 1000 == 0 else f"{x:g}"
