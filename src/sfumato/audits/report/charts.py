"""The four charts of a report."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from sfumato.audits.evaluation.distributions import Distribution
from sfumato.audits.evaluation.query_errors import Band
from sfumato.audits.report import svg
from sfumato.audits.report.svg import Scale
from sfumato.audits.report.text import number, percent, plural
from sfumato.audits.scales import decades, short, ticks

_RIGHT = svg.WIDTH - 22
_ROW, _BAR = 22, 7
_BOTTOM, _TOP, _LEFT = 150.0, 12.0, 46.0
_HEIGHT = 190
_LOPSIDED = 50
_WIDEST = 40.0  # of columns
_LONG = 10_000  # percent, for which there is no room in full
_FINEST = 0.001  # errors below a tenth of a percent are drawn as that


def compared(shown: Distribution) -> str:
    """Pairs of bars, true and published, and the bounds as a line through the published one."""
    left = _label_room(shown.labels)
    x, marks = _count_axis(shown, left)
    bottom = _ROW * len(shown.labels) + 6.0
    parts = [*_vertical_grid(marks, x, 0, bottom, short)]
    for place, label in enumerate(shown.labels):
        parts.append(svg.text(left - 6, place * _ROW + 18, label, anchor="end", room=left - 8))
        parts.append(_pair(shown, place, x))
    parts.append(svg.line(left, 0, left, bottom, "axis"))
    return svg.drawing(bottom + 22, f"{shown.attribute}: true and published counts", parts)


def lopsided(counts: Sequence[float]) -> bool:
    """Whether few are next to many, so that only a logarithmic scale shows both."""
    some = sorted(count for count in counts if count > 0)
    return bool(some) and some[-1] > _LOPSIDED * some[len(some) // 2]


def sizes(labels: Sequence[str], counts: Sequence[int]) -> str:
    """Columns of group counts, on a logarithmic scale where few are next to many."""
    logarithmic = max(counts) > _LOPSIDED * min(count for count in counts if count)
    y = _log_y(decades(0.5, max(counts))) if logarithmic else _linear_y(max(counts))
    marks = decades(1, max(counts)) if logarithmic else ticks(max(counts), 4)
    step = (_RIGHT - _LEFT) / len(counts)
    parts = [*_horizontal_grid(marks, y, number)]
    for place, (label, count) in enumerate(zip(labels, counts, strict=True)):
        if count:
            width = min(step - 2, _WIDEST)
            x = _LEFT + (place + 0.5) * step - width / 2
            column = svg.bar(x, y(count), width, _BOTTOM - y(count), "published")
            parts.append(svg.hinted(f"{plural(count, 'group')} of {label} rows", [column]))
    parts += _places_below(labels, step)
    return svg.drawing(_HEIGHT, "How many groups have which size", parts)


def cumulative(points: Sequence[tuple[float, float]]) -> str:
    """The share of answers whose error is at most x."""
    marks = decades(_FINEST, max(points[-1][0], _FINEST))
    first, last = math.log10(marks[0]), math.log10(marks[-1])

    def x(error: float) -> float:
        return _LEFT + (_RIGHT - _LEFT) * (math.log10(max(error, _FINEST)) - first) / (last - first)

    y = _linear_y(1.0)
    start = next((share for error, share in reversed(points) if error <= _FINEST), 0.0)
    steps = [(x(_FINEST), y(start))]
    for error, share in points:
        steps += [(x(error), steps[-1][1]), (x(error), y(share))]
    parts = [
        *_horizontal_grid([0, 0.25, 0.5, 0.75, 1], y, _share),
        *_vertical_grid(marks, x, _TOP, _BOTTOM, _share),
        svg.curve([*steps, (_RIGHT, y(1))], "published"),
        svg.text((_LEFT + _RIGHT) / 2, _BOTTOM + 34, "relative error at most", anchor="middle"),
    ]
    return svg.drawing(_HEIGHT, "Share of answers with at most a certain error", parts)


def bands(found: Sequence[Band]) -> str:
    """Median and 95% error over the size of the true answer."""
    marks = decades(_FINEST, max(max(band.high for band in found), 0.1))
    y = _log_y(marks)
    step = (_RIGHT - _LEFT) / len(found)
    middles = [_LEFT + step * (place + 0.5) for place in range(len(found))]
    parts = [*_horizontal_grid(marks, y, _share)]
    for kind, errors in (
        ("range", [band.high for band in found]),
        ("published", [band.median for band in found]),
    ):
        points = [(x, y(error)) for x, error in zip(middles, errors, strict=True)]
        parts.append(svg.curve(points, kind))
        parts += [
            svg.hinted(_band_hint(band), [svg.dot(*point, kind)])
            for band, point in zip(found, points, strict=True)
        ]
    parts += _places_below([band.label for band in found], step)
    parts.append(svg.text((_LEFT + _RIGHT) / 2, _BOTTOM + 34, "true answer", anchor="middle"))
    return svg.drawing(_HEIGHT, "Relative error by the size of the true answer", parts)


def _count_axis(shown: Distribution, left: float) -> tuple[Scale, list[float]]:
    """Where counts lie; bounds may reach very far, but it is the bars that must stay readable."""
    highest = max((*shown.truth, *shown.estimate, 1))
    if not lopsided(shown.truth):
        limit = highest * 1.25
        marks = ticks(highest * 1.15, 4)
        return lambda count: left + (_RIGHT - left) * min(count, limit) / limit, marks
    steps = decades(1, highest)
    room = (_RIGHT - left) / (math.log10(steps[-1]) + 0.5)

    def x(count: float) -> float:
        # half a decade for counts below 1, which have no logarithm to speak of
        place = math.log10(count) + 0.5 if count >= 1 else count / 2
        return min(left + room * place, _RIGHT)

    return x, [0.0, *steps]


def _pair(shown: Distribution, place: int, x: Scale) -> str:
    top, left = place * _ROW + 6, x(0)
    truth, estimate = shown.truth[place], shown.estimate[place]
    lo, hi = shown.lo[place], shown.hi[place]
    parts = [
        svg.bar(left, top, x(truth) - left, _BAR, "truth"),
        svg.bar(left, top + _BAR + 1, x(estimate) - left, _BAR, "published"),
    ]
    if hi > lo:
        parts.append(svg.line(x(lo), top + 1.5 * _BAR + 1, x(hi), top + 1.5 * _BAR + 1, "range"))
    hint = (
        f"{shown.labels[place]}: truly {number(truth)}, published about {number(estimate)}, "
        f"surely {number(lo)} to {number(hi)}"
    )
    return svg.hinted(hint, parts)


def _label_room(labels: Sequence[str]) -> float:
    longest = max(map(len, labels))
    return min(longest * svg.LETTER + 14, 140)


def _linear_y(high: float) -> Scale:
    return lambda value: _BOTTOM - (_BOTTOM - _TOP) * value / high


def _log_y(marks: Sequence[float]) -> Scale:
    low, high = math.log10(marks[0]), math.log10(marks[-1])

    def y(value: float) -> float:
        reached = (math.log10(max(value, marks[0])) - low) / (high - low)
        return _BOTTOM - (_BOTTOM - _TOP) * min(reached, 1.0)

    return y


def _horizontal_grid(
    marks: Sequence[float], y: Scale, words: Callable[[float], str]
) -> Iterator[str]:
    for mark in marks:
        yield svg.line(_LEFT, y(mark), _RIGHT, y(mark), "grid")
        yield svg.text(_LEFT - 5, y(mark) + 4, words(mark), anchor="end")
    yield svg.line(_LEFT, _BOTTOM, _RIGHT, _BOTTOM, "axis")


def _vertical_grid(
    marks: Sequence[float], x: Scale, top: float, bottom: float, words: Callable[[float], str]
) -> Iterator[str]:
    for mark in marks:
        yield svg.line(x(mark), top, x(mark), bottom, "grid")
        yield svg.text(x(mark), bottom + 16, words(mark), anchor="middle")


def _places_below(labels: Sequence[str], step: float) -> Iterator[str]:
    """Names under the columns; some are skipped where there is no room for all."""
    widest = max(map(len, labels)) * svg.LETTER + 4
    every = max(1, math.ceil(widest / step))
    for place in range(0, len(labels), every):
        room = step * every
        middle = _LEFT + step * (place + 0.5)
        yield svg.text(middle, _BOTTOM + 16, labels[place], anchor="middle", room=max(room, widest))


def _band_hint(band: Band) -> str:
    return (
        f"{band.label}: half of {plural(band.figures, 'answer')} are off by at most "
        f"{percent(band.median)}, 95% by at most {percent(band.high)}"
    )


def _share(mark: float) -> str:
    shown = mark * 100
    return f"{short(shown)}%" if shown >= _LONG else f"{shown:,g}%"
