"""The section about masked columns: figures beside the truth, and how often people are found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.audits.masking import MaskingRisk, Moment
from sfumato.audits.report.text import number, part, percent, safe, table

if TYPE_CHECKING:
    from sfumato.audits.evaluation import Evaluation


def section(seen: Evaluation) -> str:
    """Nothing where nothing is masked."""
    if not seen.moments and seen.masking_risk is None:
        return ""
    head = ("figure", "truth", "estimate", "as shown")
    body = table(head, map(_line, seen.moments)) if seen.moments else ""
    return part(
        "What masks changed",
        "Estimates are corrected by what release.json states; who takes shown values for true ones "
        "computes the last column.",
        body + ("" if seen.masking_risk is None else _found(seen.masking_risk)),
    )


def _line(moment: Moment) -> tuple[str, ...]:
    name = f"{moment.figure} of {', '.join(safe(one, 40) for one in moment.columns)}"
    return name, *(number(one) for one in (moment.truth, moment.estimate, moment.shown))


def _found(risk: MaskingRisk) -> str:
    linked, beside = risk.words
    rows = [(linked, risk.linked, risk.linked_blindly)]
    rows += [
        (f"{safe(name, 40)} within {risk.width:.0%} of all ranks", share, risk.near_blindly[name])
        for name, share in risk.near.items()
    ]
    lines = [(name, percent(share), percent(blindly)) for name, share, blindly in rows]
    return f"<h3>How often people are found</h3>{table(('attack', 'right', beside), lines)}"
