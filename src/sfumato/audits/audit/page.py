"""The report of an audit: every attack as a bar beside the promise and the baseline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from sfumato.audits.report import svg
from sfumato.audits.report.document import document
from sfumato.audits.report.text import figure, part, percent, plural, safe, table
from sfumato.audits.scales import ticks

if TYPE_CHECKING:
    from sfumato.audits.audit.findings import Audit, Finding

_ROW, _BAR, _LEFT, _RIGHT = 24, 12, 176.0, svg.WIDTH - 22
_CLASSES = {
    "held": "kept", "known anyway": "kept", "not promised": "soft",
    "beaten": "broken", "invalid": "broken",
}  # fmt: skip


def render(seen: Audit) -> str:
    """The report as one HTML page."""
    sections = (_header(seen), _attacks(seen), _people(seen), _not_run(seen))
    return document("audit", f"Audit of {safe(seen.name)}", filter(None, sections))


def _header(seen: Audit) -> str:
    worst = seen.worst
    cards = [("people", f"{seen.people:,}")]
    title = f"What {safe(seen.name)} tells of people"
    if seen.sensitive is not None:
        title = f"How often {safe(seen.sensitive)} is guessed from {safe(seen.name)}"
        cards += [
            ("promised" if seen.promised else "for a plain reader", percent(seen.bound)),
            ("without the release", percent(seen.baseline)),
            ("best attacker", "–" if worst is None else percent(worst.outcome.attacker.right)),
        ]
    listed = "".join(f"<li><b>{value}</b><span>{name}</span></li>" for name, value in cards)
    alarm = "" if seen.valid else _INVALID
    return (
        f"<header><h1>{title}</h1>\n"
        f'<ul class="cards">{listed}</ul>\n<p>{safe(seen.summary, 400).capitalize()}.</p>{alarm}\n'
        '<p class="note"><b>For the owner of the data only.</b> This report was made with the true '
        "table, and says which attack works. Do not publish it beside the release.</p></header>"
    )


_INVALID = (
    '<p class="alarm">A control came out above what is possible. That attack sees something it '
    "must not see, and its figures prove nothing.</p>"
)


def _attacks(seen: Audit) -> str:
    drawn = ""
    if any(one.fails is None for one in seen.findings):
        drawn = figure(_bars(seen), "How often they are right", numbers=_numbers(seen))
    lines = (
        (
            f'<span class="{_CLASSES[one.verdict]}">{one.verdict}</span>',
            f"<b>{safe(one.name)}</b>",
            safe(one.who, 200),
            safe(one.sentence, 200),
        )
        for one in seen.findings
    )
    return part(
        "The attacks", _lead(seen), drawn + table(("", "attack", "who", "found"), lines, left=4)
    )


def _lead(seen: Audit) -> str:
    if seen.sensitive is None:
        return (
            "Share of people about whom an attacker is right: whom it finds, or of whom it tells "
            "what it says it does. A stroke across a bar's row is what is promised of that."
        )
    return (
        "Share of people whose value an attacker guesses right. The dashed line is what is "
        f"{'promised' if seen.promised else 'read off by anybody'}, the thin one what a learner "
        "guesses who has never seen the release. Where something else is promised, a stroke across "
        "the bar's row shows it."
    )


def _bars(seen: Audit) -> str:
    """Of attacks that do a thing or not there is nothing to draw."""
    shown = [one for one in seen.findings if one.fails is None]
    shares = [one.outcome.attacker.right for one in shown]
    high = max([*shares, *filter(None, map(_own_bound, shown)), seen.bound, seen.baseline, 0.01])
    bottom = _ROW * len(shown) + 6.0

    def x(share: float) -> float:
        return _LEFT + (_RIGHT - _LEFT) * share / (high * 1.1)

    parts = list[str]()
    for mark in ticks(110 * high, 4):
        at = x(mark / 100)
        parts.append(svg.line(at, 0, at, bottom, "grid"))
        parts.append(svg.text(at, bottom + 16, f"{mark:g}%", anchor="middle"))
    parts += _rows(seen, shown, x)
    if seen.sensitive is not None:
        parts.append(svg.line(x(seen.baseline), 0, x(seen.baseline), bottom, "range"))
        parts.append(svg.curve([(x(seen.bound), 0), (x(seen.bound), bottom)], "range"))
    parts.append(svg.line(_LEFT, 0, _LEFT, bottom, "axis"))
    return svg.drawing(bottom + 22, "About how many in a hundred each attacker is right", parts)


def _rows(seen: Audit, shown: Sequence[Finding], x: svg.Scale) -> Iterator[str]:
    for place, one in enumerate(shown):
        top, right = place * _ROW + 6, one.outcome.attacker.right
        yield svg.text(_LEFT - 6, top + 10, one.name, anchor="end", room=_LEFT - 8)
        bar = svg.bar(_LEFT, top, x(right) - _LEFT, _BAR, "published")
        yield svg.hinted(f"{one.name}: {one.sentence}", [bar])
        bound = _own_bound(one)
        if bound is not None and (seen.sensitive is None or bound != seen.bound):
            yield svg.line(x(bound), top - 3, x(bound), top + _BAR + 3, "range")


def _own_bound(one: Finding) -> float | None:
    return one.outcome.bound if one.outcome.promised else None


def _numbers(seen: Audit) -> str:
    head = (
        "attack", "right", "surest 5%", "claimed", "promised", "without the release", "control",
        "people", "seconds",
    )  # fmt: skip
    return table(head, map(_numbers_of, seen.findings))


def _numbers_of(one: Finding) -> tuple[str, ...]:
    people = f"{one.outcome.attacker.n:,}" if one.fails is None else "–"
    return (safe(one.name), *shares(one), people, f"{one.seconds:.1f}")


def shares(one: Finding) -> tuple[str, ...]:
    """Right, surest, claimed, promised, without the release, and control; of a thing that is done
    or not, no shares.
    """
    found = one.outcome
    if one.fails is not None:
        done, again = ("–" if run is None else _DONE[run.right > 0] for run in (
            found.attacker, found.control
        ))  # fmt: skip
        return done, "–", "–", "–", "–", again
    return (
        percent(found.attacker.right),
        percent(found.attacker.surest),
        percent(found.attacker.claimed),
        percent(found.bound) if found.promised else "–",
        percent(found.baseline),
        "–" if found.control is None else percent(found.control.right),
    )


_DONE = {False: "no", True: "yes"}


def _people(seen: Audit) -> str:
    lead = "What the figures mean, and what they do not."
    items = [
        f"Learners studied {safe(seen.studied)}. Whoever knows more of the population guesses "
        "better, with and without the release.",
    ]
    items = items * (seen.sensitive is not None) + [
        "The surest 5% are the people an attacker is surest of; an average hides them.",
        "Claimed are people of whom the attacker holds one value likelier than all others "
        "together.",
        "The control is the same attack on the same table, shuffled: it has to stay at or below "
        "what is promised.",
    ]
    if any(one.outcome.control is None and one.fails is None for one in seen.findings):
        items.append("Where no control is shown, the like of what is attacked cannot be made.")
    body = "".join(f"<li>{one}</li>" for one in items)
    return part("How to read it", lead, f"<ul>{body}</ul><p class='soft'>Seed {seen.seed}.</p>")


def _not_run(seen: Audit) -> str:
    if not seen.not_run:
        return ""
    lines = "".join(
        f"<li><b>{safe(name)}</b>: {safe(why, 300)}</li>" for name, why in seen.not_run.items()
    )
    amount = plural(len(seen.not_run), "attack")
    return part("Not run", f"{amount} not made, and why.", f"<ul>{lines}</ul>")
