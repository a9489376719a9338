"""The plot of an exploration: a dot for each release, and a line through those nobody beats."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sfumato.audits.report import svg
from sfumato.audits.report.text import percent, safe
from sfumato.audits.scales import ticks
from sfumato.exploring.results import Exploration, Point

_WIDTH, _HEIGHT = 720, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 52.0, 700.0, 14.0, 350.0
_COLOURS = 7
_RADIUS, _LARGER = 6, 9


def drawn(found: Exploration) -> str:
    """All points; the recommended one is larger."""
    some, methods = found.feasible, _methods(found)
    at = _Scales(some)
    dots = (
        _dot(place, one, at, methods.index(one.setting.method), one is found.recommended)
        for place, one in enumerate(some)
    )
    through = " ".join(f"{x:.1f},{y:.1f}" for x, y in _steps(found.frontier, at))
    line = f'<polyline points="{through}" class="frontier"/>'
    body = "".join([*at.grid(), line, *dots])
    label = "Releases by how well values are guessed and by what is kept"
    return f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="group" aria-label="{label}">{body}</svg>'


def legend(found: Exploration) -> str:
    """Which colour is which method."""
    items = (
        f'<li><i class="m{place % _COLOURS}"></i>{safe(name)}</li>'
        for place, name in enumerate(_methods(found))
    )
    return f'<ul class="legend">{"".join(items)}</ul>'


def _methods(found: Exploration) -> list[str]:
    return list(dict.fromkeys(one.setting.method for one in found.feasible))


class _Scales:
    """Where a point lies; what is worse than the marginals lies on the lowest line."""

    def __init__(self, points: Sequence[Point]) -> None:
        self.most = max(max(one.guess for one in points) * 1.08, 0.01)

    def of(self, one: Point) -> tuple[float, float]:
        """Its place in the drawing."""
        return self.x(one.guess), self.y(one.usefulness)

    def x(self, guess: float) -> float:
        return _LEFT + (_RIGHT - _LEFT) * guess / self.most

    def y(self, kept: float) -> float:
        return _BOTTOM - (_BOTTOM - _TOP) * max(kept, 0.0)

    def grid(self) -> Iterator[str]:
        """Lines and words around the dots."""
        for mark in (0.0, 0.25, 0.5, 0.75, 1.0):
            yield svg.line(_LEFT, self.y(mark), _RIGHT, self.y(mark), "grid")
            yield svg.text(_LEFT - 6, self.y(mark) + 4, percent(mark), anchor="end")
        for mark in ticks(self.most, 6):
            if self.x(mark) <= _RIGHT:
                yield svg.line(self.x(mark), _TOP, self.x(mark), _BOTTOM, "grid")
                yield svg.text(self.x(mark), _BOTTOM + 16, percent(mark), anchor="middle")
        middle = (_LEFT + _RIGHT) / 2
        yield svg.text(middle, _BOTTOM + 38, "the best guess is right, on average", anchor="middle")
        yield svg.text(_LEFT + 6, _TOP + 12, "kept of what goes with what")


def _steps(frontier: Sequence[Point], at: _Scales) -> Iterator[tuple[float, float]]:
    """Right first, then up: between two points nothing better is known than the left one."""
    last: float | None = None
    for one in frontier:
        x, y = at.of(one)
        if last is not None:
            yield x, last
        yield x, y
        last = y


def _dot(place: int, one: Point, at: _Scales, method: int, best: bool) -> str:
    x, y = at.of(one)
    name = safe(f"{one.setting.method}, {one.setting.words}")
    return (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{_LARGER if best else _RADIUS}" tabindex="0" '
        f'role="button" aria-pressed="false" aria-label="{name}" data-point="{place}" '
        f'class="dot m{method % _COLOURS}"/>'
    )
