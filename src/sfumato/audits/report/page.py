"""The page as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.audits.report import answers, cost, distributions, masks, promise, risk, usefulness
from sfumato.audits.report.document import document
from sfumato.audits.report.text import part, percent, safe

if TYPE_CHECKING:
    from sfumato.audits.evaluation import Evaluation


def render(seen: Evaluation) -> str:
    """The report as one HTML page."""
    sections = (
        _header(seen),
        promise.section(seen),
        risk.section(seen),
        cost.section(seen.manifest),
        usefulness.section(seen),
        distributions.section(seen),
        answers.section(seen),
        masks.section(seen),
        _next_steps(seen),
    )
    return document("evaluate", f"Evaluation of {safe(seen.name)}", filter(None, sections))


def _header(seen: Evaluation) -> str:
    manifest = seen.manifest
    kept = seen.verification.ok
    promised = f'<b class="{"kept" if kept else "broken"}">{"kept" if kept else "BROKEN"}</b>'
    cards = [
        ("rows", f"<b>{manifest.rows:,}</b>"),
        *([("left out", f"<b>{manifest.suppressed:,}</b>")] if manifest.suppressed else []),
        ("groups", f"<b>{manifest.groups:,}</b>"),
        ("form", f"<b>{safe(manifest.kind)}</b>"),
        ("algorithm", f"<b>{safe(_algorithm(manifest.algorithm))}</b>"),
        ("promise", promised),
    ]
    if seen.usefulness is not None:
        cards.append(("of what goes with what", f"<b>{safe(seen.usefulness.verdict)}</b>"))
    if seen.errors is not None:
        cards.append(
            ("median error of answers", f"<b>{percent(seen.errors.comparison.median)}</b>")
        )
    listed = "".join(f"<li>{figure}<span>{name}</span></li>" for name, figure in cards)
    return (
        f"<header><h1>What {safe(seen.name)} is still good for</h1>\n"
        f'<ul class="cards">{listed}</ul>\n'
        '<p class="note"><b>For the owner of the data only.</b> This report contains true figures '
        "of the microdata, which the release hides. Do not publish it, least of all beside the "
        "release.</p></header>"
    )


def _algorithm(stated: dict[str, object]) -> str:
    """The name, and the options that were switched on."""
    options = [name for name, value in stated.items() if value is True]
    return " ".join([str(stated.get("name", "unknown")), *options])


def _next_steps(seen: Evaluation) -> str:
    items = "".join(
        f"<li>{safe(one.text, 500)} <span class='soft'>Because {safe(one.figure, 300)}.</span></li>"
        for one in seen.advice
    )
    lead = (
        "Each advice names the figure that it follows from; whether it fits your readers is yours "
        "to judge."
    )
    return part("What to do next", lead, f"<ul>{items}</ul>")
