"""What is kept, and what is not, in plain words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfumato.audits.usefulness.results import Usefulness

_VERDICTS = {
    "keeps most": "The release keeps most of what goes with what",
    "keeps part": "The release keeps part of what goes with what",
    "keeps little": "The release keeps little of what goes with what: it beats the marginals by "
    "little",
    "worse": "The release keeps nothing of what goes with what: the marginals alone do better",
}


def sentences(found: Usefulness) -> Iterator[str]:
    """The verdict, what suffers, what survives, and what can be learned."""
    if not found.associated:
        yield (
            "There is nothing to keep: no quasi-identifier goes with a sensitive column more than "
            "chance alone would show. The marginals say as much as the table."
        )
    else:
        yield from _about_answers(found)
    yield from _about_relations(found)
    yield from _about_learners(found)


def _about_answers(found: Usefulness) -> Iterator[str]:
    said = _VERDICTS["worse" if found.kept < 0 else found.verdict]
    best = "" if found.best is None else f", the best its groups allow by {found.best:.1%}"
    yield (
        f"{said}: conditional distributions are off by {found.distance:.1%}, the marginals alone "
        f"by {found.marginals:.1%}{best}."
    )
    worst = max(found.associated, key=lambda one: one.distance)
    yield (
        f"Furthest off is {worst.sensitive} by {' and '.join(worst.columns)}: "
        f"{worst.distance:.1%}, the marginals alone {worst.marginals:.1%}."
    )
    means = [one for one in found.associated if one.mean_distance is not None]
    if means:
        off = sum(one.mean_distance or 0.0 for one in means) / len(means)
        alone = sum(one.mean_marginals or 0.0 for one in means) / len(means)
        yield (
            f"Means by category are off by {off:.2f} standard deviations, the marginals alone by "
            f"{alone:.2f}."
        )


def _about_relations(found: Usefulness) -> Iterator[str]:
    if found.differences:
        alive = sum(one.survives for one in found.differences)
        yield (
            f"{alive} of the {len(found.differences)} largest differences between categories can "
            "still be seen; with the marginals alone none."
        )
    if found.coefficients:
        inside = sum(one.inside for one in found.coefficients)
        yield (
            f"{inside} of {len(found.coefficients)} regression slopes lie in the table's own 95% "
            "interval."
        )


def _about_learners(found: Usefulness) -> Iterator[str]:
    for one in found.learners:
        yield (
            f"{one.model} that learns {one.sensitive} ({one.asked}) from the release has an AUC of "
            f"{one.auc_released:.2f}; from the table {one.auc:.2f}, from the marginals "
            f"{one.auc_marginals:.2f}."
        )
