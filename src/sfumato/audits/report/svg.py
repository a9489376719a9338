"""Pieces of drawings: all are as wide as a phone and scale from there.

Colours are classes of report.css, which knows light and dark pages: ``truth`` and ``published`` for
the two things compared, ``axis``, ``grid`` and ``range`` for the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from sfumato.audits.report.text import cut, safe

Scale: TypeAlias = Callable[[float], float]
WIDTH = 360
LETTER = 6.4  # how wide a letter is, on average


def drawing(height: float, label: str, parts: Iterable[str]) -> str:
    """A whole drawing; ``label`` is what those hear who cannot see it."""
    body = "".join(parts)
    return (
        f'<svg viewBox="0 0 {WIDTH} {height:g}" role="img" aria-label="{safe(label, 300)}">'
        f"{body}</svg>"
    )


def text(x: float, y: float, value: str, *, anchor: str = "start", room: float = WIDTH) -> str:
    """A text that keeps to its room; all of it shows under the mouse if it had to be cut."""
    most = max(3, int(room / LETTER))
    hint = f"<title>{safe(value, 300)}</title>" if len(value) > most else ""
    shown = safe(cut(value, most), most)
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{hint}{shown}</text>'


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    """A straight line."""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'


def bar(x: float, y: float, width: float, height: float, kind: str) -> str:
    """A rectangle."""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" '
        f'height="{max(height, 0):.1f}" class="{kind}"/>'
    )


def curve(points: Iterable[tuple[float, float]], kind: str) -> str:
    """A line through points."""
    through = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{through}" class="line {kind}"/>'


def dot(x: float, y: float, kind: str) -> str:
    """A point of a curve."""
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" class="{kind}"/>'


def hinted(hint: str, parts: Iterable[str]) -> str:
    """Parts with a text that shows under the mouse."""
    return f"<g><title>{safe(hint, 300)}</title>{''.join(parts)}</g>"
