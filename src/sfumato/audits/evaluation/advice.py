"""What an owner could do next: rules over the figures of an evaluation.

Every advice names the figure that led to it, so that its reader can judge both. A change is only
advised where it was tried on this table and helped (trials.py), and the advice says by how much.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sfumato.algorithms.join.methods import Direct
from sfumato.audits.evaluation.query_errors import QueryErrors
from sfumato.audits.evaluation.trials import (
    EMPTY,
    FAIR,
    LARGE_GROUPS,
    MOVED,
    SIZES,
    WIDE,
    widest,
    worst_of,
)
from sfumato.forms.registry import FORMS

if TYPE_CHECKING:
    from sfumato.audits.evaluation import Evaluation

_POOR = 0.5  # relative error with which half of the queries of a size are as good as lost
_SLANTED = 0.05
_SURE = 0.9  # of being in the table


@dataclass(frozen=True, slots=True)
class Advice:
    """What to do, and the figure that says so."""

    figure: str
    text: str


def advise(seen: Evaluation) -> tuple[Advice, ...]:
    """All advice that applies, the gravest first."""
    found = [
        *_about_promise(seen),
        *_about_presence(seen),
        *_about_bounds(seen),
        *_about_associations(seen),
        *_about_text(seen),
        *_about_attributes(seen),
        *_about_distances(seen),
        *_about_groups(seen),
        *_about_errors(seen),
        *_about_bias(seen),
        *_about_workload(seen),
    ]
    return tuple(found) or (_nothing(seen),)


def _about_promise(seen: Evaluation) -> Iterator[Advice]:
    broken = [check for check in seen.verification.checks if not check.kept]
    if broken:
        yield Advice(
            f"{_plural(len(broken), 'check')} of the promise failed",
            "Do not publish this release. Make it again from the table and verify it; if files "
            "were changed or added by hand, leave them out.",
        )


def _about_presence(seen: Evaluation) -> Iterator[Advice]:
    if seen.presence is not None and seen.presence >= _SURE:
        yield Advice(
            f"somebody is known to be in the table with a chance of {seen.presence:.0%}",
            "Where the list adds few people, who fits a box is in the table. If that must stay "
            "secret, use a longer list or a larger k. Direct with --no-trim hides who is in it, "
            "and proves of most others on the list that they are not; sf.join_risk counts both.",
        )


def _about_bounds(seen: Evaluation) -> Iterator[Advice]:
    errors = seen.errors
    missed = 0 if errors is None else int((~errors.comparison.covered).sum())
    if missed:
        yield Advice(
            f"the truth lies outside its bounds in {_plural(missed, 'answer')}",
            "Check that the table is exactly the one that was published, with the same schema. If "
            "it is, this is a bug in sfumato: please report it, and do not rely on the bounds.",
        )


def _about_text(seen: Evaluation) -> Iterator[Advice]:
    if seen.unasked and _is_direct(seen):
        yield Advice(
            "nothing can be asked",
            "A release made by Direct does not tell how many rows of a box are of the microdata. "
            "If readers are to count with it, use Refinement.",
        )
    elif seen.unasked:
        yield Advice(
            f"{_plural(len(seen.unasked), 'column')} cannot be asked about",
            "If readers are to count with this release, publish Parquet files and --labels "
            "ranges, sets or taxonomy.",
        )


def _is_direct(seen: Evaluation) -> bool:
    return bool(seen.manifest.algorithm.get("name") == Direct.name)


def _about_attributes(seen: Evaluation) -> Iterator[Advice]:
    for shown in seen.distributions:
        if len(shown.labels) == 1:
            yield Advice(
                f"{shown.attribute} has one value only",
                f"Give {shown.attribute} no role in the schema: it tells nothing.",
            )
    penalties = seen.manifest.metrics.get("ncp_by_attribute", {})
    if empty := _named(penalties, EMPTY, math.inf):
        yield Advice(
            f"NCP is {empty}",
            "These attributes say next to nothing any more: publish them or not. Hardly a cut goes "
            "through them, so the others stay as they are without them; ask less of the promise "
            "if readers need them.",
        )
    if effect := seen.effects.get("narrower"):
        yield Advice(
            f"NCP is {_named(penalties, WIDE, EMPTY)}",
            f"Without {widest(penalties)} the others become finer: tried on this table, their mean "
            f"NCP falls from {effect.before:.0%} to {effect.after:.0%}. Leave it out if readers do "
            "not need it.",
        )


def _named(penalties: Mapping[str, float], least: float, below: float) -> str:
    """The attributes that lost so much of their detail, the worst first."""
    worst = sorted(penalties.items(), key=lambda item: -item[1])
    return ", ".join(f"{share:.0%} for {name}" for name, share in worst if least <= share < below)


def _about_distances(seen: Evaluation) -> Iterator[Advice]:
    worst = worst_of(seen.distributions)
    if not FORMS[seen.manifest.kind].own_boxes or worst is None or worst.distance < MOVED:
        return
    effect = seen.effects.get("sets")
    remedy = (
        "Readers should use the bounds beside estimates."
        if effect is None
        else "--labels sets names the values of a group and not a whole branch: tried on this "
        f"table, {effect.after:.0%} of the rows are elsewhere then."
    )
    yield Advice(
        f"estimates put {worst.distance:.0%} of the rows into another bin of {worst.attribute}",
        f"Frequent and rare values of {worst.attribute} stand in the same groups, and readers "
        f"take them for equally frequent. {remedy}",
    )


def _about_groups(seen: Evaluation) -> Iterator[Advice]:
    manifest, effects = seen.manifest, seen.effects
    ratio = manifest.metrics.get("average_group_size")
    if ratio is None or ratio < LARGE_GROUPS:
        return
    figure = f"groups are {ratio:.1f} times as large as k asks"
    others = [str(part["model"]) for part in manifest.promise if part["model"] not in SIZES]
    if effect := effects.get("lighter"):
        yield Advice(
            figure,
            f"Not k but {' and '.join(others)} decides how large groups are: tried without it, "
            f"they are {effect.after:.1f} times as large as k asks. Ask less of it.",
        )
    if effect := effects.get("cuts"):
        yield Advice(
            figure,
            'Mondrian(cuts="all") tries more cuts: tried on this table, groups are '
            f"{effect.after:.1f} times as large as k asks.",
        )
    if not others and (effect := effects.get("relaxed")):
        yield Advice(
            figure,
            "Many rows have equal values, and they are kept together, which loses no detail. If "
            "groups are to be small all the same, --relaxed divides them: tried on this table, "
            f"they are {effect.after:.1f} times as large as k asks.",
        )


def _about_associations(seen: Evaluation) -> Iterator[Advice]:
    found = seen.usefulness
    if found is None or found.verdict != "keeps little":
        return
    figure = (
        f"conditional distributions are off by {found.distance:.1%}, and the marginals alone by "
        f"{found.marginals:.1%}"
    )
    said = "This release beats the marginals by little: what goes with what is nearly lost."
    effect = seen.effects.get("near")
    remedy = (
        "Other methods may keep more at the same promise: sfumato explore compares them."
        if effect is None
        else "Groups of neighbours (--near, the default) keep more: tried on this table, the "
        f"release is then off by {effect.after:.1%}."
    )
    yield Advice(figure, f"{said} {remedy}")


def _about_errors(seen: Evaluation) -> Iterator[Advice]:
    errors = seen.errors
    poor = [] if errors is None else [band for band in errors.by_size if band.median >= _POOR]
    if not poor:
        return
    largest = poor[-1]
    figure = (
        f"half of the answers about {largest.label} rows are off by {largest.median:.0%} or more"
    )
    assert errors is not None
    fair = [band for band in errors.by_size if band.median < FAIR]
    if fair:
        best = fair[-1]
        told = f"half of those about {best.label} rows are off by less than {best.median:.1%}"
        yield Advice(figure, f"Tell readers to trust larger counts only: {told}.")
    else:
        yield Advice(figure, "No size of count comes out well: readers should use the bounds.")


def _about_bias(seen: Evaluation) -> Iterator[Advice]:
    errors = seen.errors
    if errors is not None and abs(errors.bias) >= _SLANTED:
        way = "high" if errors.bias > 0 else "low"
        yield Advice(
            f"all estimates together are {abs(errors.bias):.0%} too {way}",
            "Values are not spread evenly inside the groups, so estimates lean to one side. "
            "Readers should use the bounds beside them.",
        )


def _about_workload(seen: Evaluation) -> Iterator[Advice]:
    if effect := seen.effects.get("workload"):
        yield Advice(
            f"half of your own queries are off by {effect.before:.0%} or more",
            "Mondrian(workload=...) cuts where these queries need it: tried on this table, half of "
            f"them are off by {effect.after:.0%} or less. See also what that does to others.",
        )


def _nothing(seen: Evaluation) -> Advice:
    errors = seen.errors
    figure = "every check is kept"
    if errors is not None and len(errors.comparison.accuracy.errors):
        figure += f", and half of the answers are off by less than {_median(errors):.1%}"
    if errors is not None and errors.given:
        text = "Your own queries fare well. Nothing is said about others."
    elif seen.usefulness is not None:
        text = seen.usefulness.sentences[0]
    else:
        # lists of random values average every association away
        text = (
            "Counts of random values do not tell whether attributes still go together as they did: "
            "they come out well even where such relations are lost. Ask what readers will ask "
            "(--workload)."
        )
    return Advice(figure, f"{text} Read once more what the promise does not cover.")


def _median(errors: QueryErrors) -> float:
    return errors.comparison.median


def _plural(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
