"""An exploration as one HTML page: a plot, a table that sorts, and what became of distributions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import numpy as np

from sfumato.audits.bins import is_rest
from sfumato.audits.report.document import document
from sfumato.audits.report.text import number, part, percent, plural, safe
from sfumato.audits.usefulness import Conditional, Usefulness
from sfumato.audits.usefulness.association import shares
from sfumato.exploring.plot import drawn, legend
from sfumato.exploring.results import Exploration, Point

_LONGEST = 60  # letters of a category
_MULTIPLES = 9
_HEAD = (
    "Method", "Promise", "Best guess, mean", "Attacked", "Surest", "Exposed",
    "Found at worst", "Kept", "NCP", "Groups", "Left out", "Seconds",
)  # fmt: skip


def render(found: Exploration) -> str:
    """The whole page."""
    sections = (
        _header(found),
        _recommended(found),
        _plot(found),
        _chosen(),
        _all(found),
        _refused(found),
        f'<script type="application/json" id="data">{_data(found)}</script>',
        '<div id="tip" role="status" hidden></div>',
    )
    return document(
        "explore",
        "What should I publish?",
        filter(None, sections),
        style=_text("frontier.css") + _text("explore.css"),
        script=_text("frontier.js") + _text("explore.js"),
    )


def _text(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _header(found: Exploration) -> str:
    cards = [
        ("rows", f"{found.before.rows:,}"),
        ("releases tried", f"{len(found.points):,}"),
        ("beaten by no other", f"{len(found.frontier):,}"),
        ("recommended", safe(_name(found.recommended))),
    ]
    listed = "".join(f"<li><b>{value}</b><span>{name}</span></li>" for name, value in cards)
    return (
        f'<header><h1>What should I publish?</h1>\n<ul class="cards">{listed}</ul>\n'
        '<p class="note"><b>For the owner of the data only.</b> This page was made with the true '
        "table and shows its figures. Do not publish it.</p></header>"
    )


def _recommended(found: Exploration) -> str:
    reasons = "".join(f"<li>{safe(one, 500)}</li>" for one in found.reasons)
    return part(
        f"Recommended: {safe(_name(found.recommended))}",
        "Of the releases that keep most of what goes with what, or nearly so (within five points), "
        "the one in which fewest people are exposed (guessed at 50% or more, or more surely where "
        "half of all have one value anyway); then the most useful, and of those as useful the "
        "safest.",
        f'<ul>{reasons}</ul><pre id="best">{safe(found.command, 400)}</pre>'
        '<button type="button" data-copy="best">Copy</button>',
    )


def _plot(found: Exploration) -> str:
    return part(
        "Risk and usefulness",
        "Further left fewer guesses are right, further up more is kept. The line joins releases "
        "that no other beats. Point at a dot to hear what it is; click to see more of it.",
        f'<div class="plot">{legend(found)}{drawn(found)}</div>',
    )


def _chosen() -> str:
    return part(
        '<span id="name"></span>',
        '<span id="words"></span>',
        '<pre id="shell"></pre><button type="button" data-copy="shell">Copy</button>'
        '<pre id="python"></pre><button type="button" data-copy="python">Copy</button>'
        '<p><span class="key truth"></span>table<span class="key published"></span>release, as '
        'readers estimate it<span class="key range"></span>marginals: the same everywhere</p>'
        '<div id="multiples" class="figures"></div>',
    )


def _all(found: Exploration) -> str:
    return part(
        "All releases",
        "Click a heading to sort, a method to select. <b>Attacked</b>: the share of people whose "
        "value somebody guesses who has studied half of the table; <code>sfumato audit</code> "
        "makes all attacks.",
        table_of(found) + "".join(f'<p class="soft">{safe(one, 500)}</p>' for one in found.hints),
    )


def table_of(found: Exploration) -> str:
    """All points that are feasible, as a table that the script sorts."""
    head = "".join(f'<th scope="col"><button type="button">{one}</button></th>' for one in _HEAD)
    rows = "".join(
        f'<tr data-point="{place}">{"".join(_cells(one))}</tr>'
        for place, one in enumerate(found.feasible)
    )
    return (
        f'<div class="wide"><table id="points"><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _cells(one: Point) -> Iterator[str]:
    assert one.risk is not None
    yield f'<td class="whole"><button type="button">{safe(one.setting.method)}</button></td>'
    yield f'<td class="whole">{safe(one.setting.words)}</td>'
    for value, words in (
        (one.guess, percent(one.guess)),
        ("" if one.learned is None else one.learned, _share(one.learned)),
        (one.surest, percent(one.surest)),
        (one.likely, f"{one.likely:,}"),
        (one.risk.prosecutor.highest, percent(one.risk.prosecutor.highest)),
        (one.usefulness, percent(one.usefulness)),
        ("" if one.loss is None else one.loss, "exact" if one.loss is None else percent(one.loss)),
        (one.groups, f"{one.groups:,}"),
        (one.left_out, f"{one.left_out:,}"),
        (one.seconds, number(one.seconds)),
    ):
        yield f'<td class="n" data-value="{value}">{words}</td>'


def _share(value: float | None) -> str:
    return "–" if value is None else percent(value)


def _refused(found: Exploration) -> str:
    rows = [
        f"<li><b>{safe(one.setting.method)}</b>, {safe(one.setting.words)}: "
        f"{safe(one.refused, 300)}</li>"
        for one in found.points
        if one.refused is not None
    ]
    if found.left:
        rows.append(f"<li>No time was left for {plural(len(found.left), 'more point')}.</li>")
    return part("Not tried, or not feasible", "", f"<ul>{''.join(rows)}</ul>") if rows else ""


def drawable(found: Exploration) -> dict[str, Any]:
    """What the script draws and tells of the points that are feasible."""
    some = found.feasible
    return {
        "recommended": some.index(found.recommended),
        "questions": [question(one) for one in asked_of(some[0].useful)] if some else [],
        "points": [_point(found, one) for one in some],
    }


def _data(found: Exploration) -> str:
    """The same as a text; signs that could end the element are spelled out."""
    text = json.dumps(drawable(found), ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def asked_of(useful: Usefulness | None) -> list[Conditional]:
    """Questions about one column, those with most to keep first."""
    if useful is None:
        return []
    alone = [asked for asked in useful.conditionals if len(asked.columns) == 1]
    return sorted(alone, key=lambda asked: -asked.marginals)[:_MULTIPLES]


def _telling(asked: Conditional) -> int:
    """The class whose share differs most between categories; many rare values are no class."""
    seen = shares(asked.truth, asked.truth)
    usual = asked.truth.sum(axis=0) / max(asked.truth.sum(), 1.0)
    differs = asked.truth.sum(axis=1) @ abs(seen - usual)
    rest = np.array([is_rest(label) for label in asked.classes])
    return int(np.where(rest, -1.0, differs).argmax())


def question(asked: Conditional) -> dict[str, Any]:
    """One question with its true answers, about the class that differs most."""
    place = _telling(asked)
    usual = asked.truth.sum(axis=0) / max(asked.truth.sum(), 1.0)
    value = f"{asked.sensitive} {asked.classes[place]}"
    return {
        "title": _short(f"{_short(value)} by {asked.columns[0]}"),
        "labels": [_short(label) for label in asked.categories],
        "truth": _rounded(shares(asked.truth, asked.truth)[:, place]),
        "usual": round(float(usual[place]), 4),
    }


def _point(found: Exploration, one: Point) -> dict[str, Any]:
    return {
        "name": _name(one),
        "words": f"best guess right with {percent(one.guess)} on average, {percent(one.surest)} at "
        f"most{_told(one)}; {percent(one.usefulness)} kept; "
        + ("quasi-identifiers exact" if one.loss is None else f"NCP {percent(one.loss)}"),
        "command": found.typed(one.setting),
        "python": one.setting.python,
        "released": [released(asked) for asked in asked_of(one.useful)],
    }


def released(asked: Conditional) -> list[float]:
    """The answers of a release to such a question."""
    return _rounded(shares(asked.estimate, asked.truth)[:, _telling(asked)])


def _told(one: Point) -> str:
    return "" if one.learned is None else f", that of an attacker with {percent(one.learned)}"


def _rounded(values: Any) -> list[float]:
    return [round(float(value), 4) for value in values]


def _short(text: str) -> str:
    shown = "".join(sign if sign.isprintable() else "?" for sign in text)
    return shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…"


def _name(one: Point) -> str:
    return f"{one.setting.method}, {one.setting.words}"
