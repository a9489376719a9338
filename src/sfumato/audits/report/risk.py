"""The section about risk: who is exposed in the table, and who still is in the release."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sfumato.audits.evaluation.distributions import Distribution
from sfumato.audits.report import charts
from sfumato.audits.report.text import figure, meter, part, percent, safe, table
from sfumato.audits.risk.results import BINS, AttributeRisk, Risk, UniqueSets
from sfumato.audits.risk.wording import FORMULAS, MOST_IMPORTANT

if TYPE_CHECKING:
    from sfumato.audits.evaluation import Evaluation

_SETS = 10
_KEY = (
    '<p><span class="key truth"></span>people of the table<span class="key published"></span>'
    "people of the release</p>"
)


def section(seen: Evaluation) -> str:
    """Before and after, in words, figures and drawings; nothing if neither is known."""
    before, after = seen.before, seen.after
    if before is None:
        return ""
    told = "".join(
        f"<h3>{title}</h3><ul>{_listed(risk.sentences[:MOST_IMPORTANT])}</ul>"
        for title, risk in (("In the table", before), ("In the release", after))
        if risk is not None
    )
    drawn = "" if after is None else "".join(_guesses(before, after))
    key = _KEY if drawn else ""
    return part(
        "Who is exposed",
        "By whoever knows the quasi-identifiers of a person and nothing else.",
        f"{told}{_figures(before, after)}{key}"
        f'<div class="figures">{drawn}{_sets(before.sets, before.people)}</div>{_formulas()}',
    )


def _listed(sentences: tuple[str, ...]) -> str:
    return "".join(f"<li>{safe(sentence, 500)}</li>" for sentence in sentences)


def _figures(before: Risk, after: Risk | None) -> str:
    head = ("", "table", *(["release"] if after is not None else []))
    both = [before, *([after] if after is not None else [])]
    lines = [
        ("People who stand alone", *(f"{one.unique_rows:,}" for one in both)),
        ("Smallest number who look alike", *(f"{one.smallest_class:,}" for one in both)),
        ("Found at worst (prosecutor)", *(percent(one.prosecutor.highest) for one in both)),
        ("Found on average (marketer)", *(percent(one.marketer) for one in both)),
    ]
    return table(head, lines)


def _guesses(before: Risk, after: Risk) -> Iterator[str]:
    known = {one.name: one for one in before.attributes}
    for one in after.attributes:
        if one.name in known:
            yield figure(
                charts.compared(_compared(known[one.name], one)),
                f"How surely {safe(one.name)} is guessed",
                "People by the chance that the best guess of their value is right.",
            )


def _compared(before: AttributeRisk, after: AttributeRisk) -> Distribution:
    labels = [f"{100 * low // BINS}–{100 * (low + 1) // BINS}%" for low in range(BINS)]
    return Distribution(
        attribute=after.name,
        among=None,
        labels=tuple(labels),
        truth=before.guesses,
        estimate=tuple(map(float, after.guesses)),
        lo=after.guesses,
        hi=after.guesses,
        distance=0.0,
    )


def _sets(found: UniqueSets | None, people: int) -> str:
    if found is None or not found.sets:
        return ""
    sets = [
        (safe(" and ".join(one.columns)), meter(one.people / people), f"{one.people:,}")
        for one in found.sets[:_SETS]
    ]
    columns = [
        (safe(one.name), meter(one.people / people), f"{one.people:,}", f"{one.alone_without:,}")
        for one in sorted(found.columns, key=lambda one: -one.people)
    ]
    return figure(
        table(("columns", "", "people"), sets, left=2),
        "What singles people out in the table",
        f"Sets of up to {found.largest} columns on which people are alone, and on no part of them.",
    ) + figure(
        table(("column", "", "people", "alone without it"), columns, left=2),
        "Which columns take part",
        "People singled out by such a set with the column, and those who would still stand alone "
        "if nobody knew it.",
    )


def _formulas() -> str:
    lines = [(safe(name), safe(words, 300)) for name, words in FORMULAS.items()]
    return f"<details><summary>Formulas</summary>{table(('figure', 'is'), lines, left=2)}</details>"
