"""The section about distributions: the original against what readers see."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.audits.evaluation.distributions import Distribution
from sfumato.audits.report import charts
from sfumato.audits.report.text import (
    figure,
    listing,
    number,
    part,
    percent,
    plural,
    safe,
    table,
)
from sfumato.core.schema import Role
from sfumato.forms.registry import FORMS

if TYPE_CHECKING:
    from sfumato.audits.evaluation import Evaluation

_KEY = (
    '<p><span class="key truth"></span>original<span class="key published"></span>published, as '
    'readers estimate it<span class="key range"></span>where the truth surely lies</p>'
)


def section(seen: Evaluation) -> str:
    """One chart per attribute that the release blurs."""
    drawn = "".join(map(_figure, sorted(seen.distributions, key=lambda one: -one.distance)))
    key = _KEY if drawn else ""
    return part(
        "Distributions, original against published",
        _lead(seen),
        f'{_refusals(seen)}{key}<div class="figures">{drawn}</div>{_joints(seen)}',
    )


def _joints(seen: Evaluation) -> str:
    """All columns together, which no chart can show."""
    if not seen.joints:
        return ""
    rows = [
        (safe(one.sensitive, 60), number(one.divergence), number(one.marginals))
        for one in seen.joints
    ]
    said = (
        "<p>All quasi-identifiers together with a sensitive column: by how many bits per person "
        "the published distribution is off (Kullback-Leibler divergence), and by how many one is "
        "that has every single column right and nothing of what goes with what.</p>"
    )
    return said + table(("", "published", "single columns alone"), rows)


def _refusals(seen: Evaluation) -> str:
    """Why some columns, or all of them, do not appear."""
    if not seen.unasked:
        return ""
    reasons = dict.fromkeys(seen.unasked.values())
    listed = "".join(f"<li>{safe(reason, 300)}</li>" for reason in reasons)
    left = plural(len(seen.unasked), "column")
    return f'<div class="note">{left} cannot be asked about:<ul>{listed}</ul></div>'


def _lead(seen: Evaluation) -> str:
    quasi, sensitive, plain = (
        [column.name for column in seen.manifest.of_role(role)]
        for role in (Role.QUASI, Role.SENSITIVE, Role.INSENSITIVE)
    )
    if FORMS[seen.manifest.kind].blurs_relations:
        return (
            "Readers see every column exactly, but not which sensitive value goes with which row: "
            "they estimate that from its group. Each chart counts the rows with one sensitive "
            "value, the one that suffers most. Published exactly, so not drawn alone: "
            f"{listing([*quasi, *sensitive, *plain])}."
        )
    exact = [*sensitive, *plain]
    return (
        "Readers see groups of values instead of values, and estimate from them how often each "
        "occurs." + (f" Published exactly, so not drawn: {listing(exact)}." if exact else "")
    )


def _figure(shown: Distribution) -> str:
    title = safe(shown.attribute, 60)
    if shown.among is not None:
        column, value = shown.among
        title += f" where {safe(column, 40)} is {safe(value, 40)}"
    moved = percent(shown.distance)
    caption = f"Distance: {moved} of the rows would have to move to another bar."
    if shown.among is not None:
        caption = f"Distance over all values of {safe(shown.among[0], 40)}: {moved} of the rows."
    if charts.lopsided(shown.truth):
        caption += " Logarithmic scale."
    return figure(charts.compared(shown), title, caption, _numbers(shown))


def _numbers(shown: Distribution) -> str:
    rows = [
        (safe(label, 60), number(truth), number(estimate), number(lo), number(hi))
        for label, truth, estimate, lo, hi in zip(
            shown.labels, shown.truth, shown.estimate, shown.lo, shown.hi, strict=True
        )
    ]
    return table(("", "original", "estimate", "at least", "at most"), rows)
