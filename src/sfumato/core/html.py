"""What notebooks show of an object: a title, a short table, a small drawing.

A notebook keeps what it has shown, and is mailed and committed with it. So nothing is shown here
that ``repr`` would hide: of tables, schemas and releases names and counts, and no value of anybody.
Rows of a release are public once it is published; but a notebook tries many settings, and a few
rows of each would together be many releases of the same people. ``to_pandas().head()`` shows them
to who asks. Answers are asked for, and are shown.

Colours are those of the page around it (``currentColor``), so that dark pages stay readable;
nothing is fetched, and no script runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

MOST_LINES = 20
_CELL = "text-align:{};padding:.15em .8em .15em 0;white-space:nowrap"


def safe(value: object, most: int = 120) -> str:
    """A text from the data: letters that would steer something are spelled out, long ones cut."""
    text = cut(str(value), most)
    visible = "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)
    return escape(visible)


def cut(text: str, most: int) -> str:
    """The beginning of a text that is too long, with a sign that something is missing."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def card(title: str, *parts: str) -> str:
    """An object: what it is, in a line, and ready pieces below."""
    body = "".join(parts)
    return f'<div class="sfumato"><p style="margin:.3em 0"><b>{safe(title)}</b></p>{body}</div>'


def note(text: str) -> str:
    """A line of small print."""
    return f'<p style="margin:.3em 0;opacity:.75">{safe(text, 500)}</p>'


def lines(texts: Iterable[str]) -> str:
    """Sentences below each other."""
    items = "".join(f"<li>{safe(text, 500)}</li>" for text in texts)
    return f'<ul style="margin:.3em 0">{items}</ul>' if items else ""


def grid(head: Sequence[str], rows: Sequence[Sequence[object]], *, left: int = 1) -> str:
    """A table whose first columns are texts and the others numbers; drawings are Drawing."""

    def cells(tag: str, row: Sequence[object]) -> str:
        sides = ("left" if place < left else "right" for place in range(len(row)))
        return "".join(
            f'<{tag} style="{_CELL.format(side)}">{_cell(cell)}</{tag}>'
            for side, cell in zip(sides, row, strict=True)
        )

    shown = rows[:MOST_LINES]
    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in shown)
    rest = note(f"{len(rows) - len(shown):,} more") if len(rows) > len(shown) else ""
    heading = f"<thead><tr>{cells('th', [safe(name) for name in head])}</tr></thead>"
    return f'<table style="border-collapse:collapse">{heading}<tbody>{body}</tbody></table>{rest}'


class Drawing(str):
    """Ready SVG, which is put on the page as it is."""

    __slots__ = ()


def share_bar(share: float, mark: float | None = None) -> Drawing:
    """A share of 1 as a bar, perhaps with a mark where it should stay below."""
    known = min(max(share, 0.0), 1.0) * _WIDTH
    bar = f'<rect y="3" width="{known:.1f}" height="8" fill="currentColor" opacity=".6"/>'
    return _drawing(f"{share:.1%}", bar + ("" if mark is None else _tick(mark * _WIDTH)))


def range_bar(lo: float, hi: float, estimate: float, ends: tuple[float, float]) -> Drawing:
    """Bounds as a bar between two ends of a scale, with a tick where the estimate is."""
    low, span = ends[0], (ends[1] - ends[0]) or 1.0
    at = [min(max((value - low) / span, 0.0), 1.0) * _WIDTH for value in (lo, hi, estimate)]
    width = max(at[1] - at[0], 1.0)
    bar = f'<rect x="{at[0]:.1f}" y="4" width="{width:.1f}" height="6"{_FAINT}/>'
    return _drawing(f"from {lo:g} to {hi:g}", bar + _tick(at[2]))


def histogram(counts: Sequence[float], label: str) -> Drawing:
    """Bars side by side, the highest as high as the drawing."""
    most, wide = max(counts, default=0) or 1, _WIDTH / max(len(counts), 1)
    bars = (
        f'<rect x="{place * wide:.1f}" y="{36 * (1 - count / most):.1f}" '
        f'width="{max(wide - 1, 1):.1f}" height="{36 * count / most:.1f}" '
        'fill="currentColor" opacity=".6"/>'
        for place, count in enumerate(counts)
    )
    return _drawing(label, "".join(bars), height=36)


_WIDTH = 120
_FAINT = ' fill="currentColor" opacity=".35"'


def _tick(x: float) -> str:
    return f'<rect x="{max(x - 1, 0):.1f}" y="0" width="2" height="14" fill="currentColor"/>'


def _drawing(label: str, body: str, height: int = 14) -> Drawing:
    return Drawing(
        f'<svg width="{_WIDTH}" height="{height}" viewBox="0 0 {_WIDTH} {height}" role="img" '
        f'aria-label="{safe(label)}"><title>{safe(label)}</title>{body}</svg>'
    )


def _cell(value: object) -> str:
    if isinstance(value, Drawing):
        return value
    return f"{value:,}" if isinstance(value, int) else safe(value, 60)
