"""The masked form, as the registry lists it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from sfumato.core.attribute import Kind
from sfumato.core.histograms import Histograms
from sfumato.core.schema import Role
from sfumato.forms.evidence import Check, Evidence
from sfumato.forms.figures import group_figures
from sfumato.forms.form import Form
from sfumato.forms.manifest import Manifest
from sfumato.forms.masked.answers import Masked as Answers
from sfumato.forms.masked.distortion import (
    INTERVALS,
    MICROAGGREGATION,
    NOISE,
    SWAPPING,
    SYNTHETIC,
    distortions,
    flaws_of,
    flaws_of_intervals,
    is_distortion,
)
from sfumato.forms.masked.evidence import Masked as Rows
from sfumato.forms.masked.release import MaskedTable
from sfumato.models.anonymity import KAnonymity
from sfumato.models.registry import model_from_dict

# the method that makes each kind of mask
_MAKERS = {
    MICROAGGREGATION: "microaggregate",
    NOISE: "noise",
    SWAPPING: "swap",
    SYNTHETIC: "synthesize",
}
_EXACT_SENSITIVE = (
    "Sensitive values stand beside masked ones as they are: whoever finds a person's row, or a "
    "group all of whose rows have one value, knows it."
)
_NO_PROMISE = (
    "Masking promises nothing about a person: how often a row is found by its values can only be "
    "measured, by the owner (sf.masking_risk)."
)

_NOT_COUNTED = (
    "rows of this release show other values than people have, so that counting those which are "
    "alike says nothing about people; sf.masking_risk measures how often they are found"
)


def _bears(model: str, on: object) -> bool:
    return is_distortion(model) or (model in (KAnonymity.name, INTERVALS) and on is None)


def _figures(release: MaskedTable, evidence: Evidence) -> dict[str, Any]:
    return masked_figures(release.manifest.promise, evidence, hides=release.hides)


def masked_figures(
    promise: tuple[dict[str, Any], ...], evidence: Evidence, *, hides: bool
) -> dict[str, Any]:
    """Figures of groups, where there are any."""
    return group_figures(promise, evidence.sizes) if hides else {}


def _statements(release: MaskedTable) -> Iterator[str]:
    """One method, which does what is stated of every column."""
    manifest = release.manifest
    models = {str(one.get("model")) for one in manifest.promise}
    made = models & set(_MAKERS)
    name = manifest.algorithm.get("name")
    if {_MAKERS[model] for model in made} != {name}:
        yield "the algorithm does not mask columns as it is stated"
    if (KAnonymity.name in models) != (made == {MICROAGGREGATION}):
        yield "k-anonymity is promised by microaggregation, and by no other mask"
    ks = [one.get("k") for one in manifest.promise if one.get("model") == KAnonymity.name]
    if ks and ks != [manifest.algorithm.get("k")]:
        yield "another k is promised than the method has"
    if [one.get("model") for one in manifest.promise].count(INTERVALS) != 1:
        yield "it does not say once how far likely intervals are stretched"
    exact = [one.name for one in manifest.of_role(Role.QUASI) if one.form != "masked"]
    if ks and exact:
        yield f"column {exact[0]!r} is not masked, and k-anonymity is promised"
    if not any(flaw for one in manifest.promise if is_distortion(str(one.get("model")))
               for flaw in flaws_of(one)):  # fmt: skip
        yield from _other_columns(manifest)
        yield from _other_swaps(manifest)
        yield from _lopsided(manifest)


def _other_columns(manifest: Manifest) -> Iterator[str]:
    """Columns that the method is said to mask, and others that are masked."""
    named = manifest.algorithm.get("columns")
    if named and set(map(str, named)) != set(distortions(manifest)):
        yield "the algorithm names other columns than those that are masked"


def _lopsided(manifest: Manifest) -> Iterator[str]:
    """Covariances of columns that are none, or that differ by which column states them."""
    found = {name: one.spread for name, one in distortions(manifest).items() if one.spread}
    exact = [
        one.name for one in manifest.columns if one.form == "value" and one.kind == Kind.NUMERICAL
    ]
    swapped = any(one.model == SWAPPING for one in distortions(manifest).values())
    usual = {*found, *(exact if swapped else ())}
    for name, spread in found.items():
        if set(spread) != usual or any(
            found[other][name] != value for other, value in spread.items() if other in found
        ):
            yield f"the spread of {name!r} does not go with that of the others"


def _other_swaps(manifest: Manifest) -> Iterator[str]:
    """Swapping that is stated otherwise of columns than of the algorithm."""
    exact = {one.name for one in manifest.columns if one.form == "value"}
    for name, one in distortions(manifest).items():
        if one.model == SWAPPING:
            told = manifest.algorithm.get("reach"), manifest.algorithm.get("inside")
            if (one.reach, [*one.inside]) != (told[0], [*(told[1] or ())]):
                yield f"{name!r} is said to be swapped otherwise than the algorithm does"
            if not set(one.inside) <= exact:
                yield f"{name!r} was swapped inside columns that are not published exactly"


def _judged(release: MaskedTable, stated: Mapping[str, Any]) -> Check:
    """k-anonymity is counted; how values were masked can only be read."""
    if stated.get("model") == KAnonymity.name:
        model = model_from_dict(dict(stated))
        evidence = Rows(release)
        seen = Histograms.of_sizes(evidence.sizes)
        failing = np.flatnonzero(~model.passes(seen))
        told = model.statement(seen)
        return Check(told, not len(failing), evidence.name(int(failing[0])) if len(failing) else "")
    whole = stated.get("model") == INTERVALS
    statement = INTERVALS if whole else f"{stated.get('model')} of {stated.get('on')}"
    for flaw in (flaws_of_intervals if whole else flaws_of)(stated):
        return Check(statement, False, flaw)
    return Check(statement, True, "what is stated of it is the publisher's word")


def _limits(manifest: Manifest) -> Iterable[str]:
    if not any(one.get("model") == KAnonymity.name for one in manifest.promise):
        yield _NO_PROMISE
    if any(one.form != "masked" for one in manifest.of_role(Role.SENSITIVE)):
        yield _EXACT_SENSITIVE


def _stands_for_nobody(release: MaskedTable) -> str | None:
    return None if release.hides else _NOT_COUNTED


MASKED = Form(
    release=MaskedTable,
    answerer=Answers.of_release,
    evidence=Rows,
    figures=_figures,
    grouped=False,
    masks=True,
    bears=_bears,
    judged=_judged,
    quasi_as=("value", "masked"),
    sensitive_as=("value", "masked"),
    statements=_statements,
    limits=_limits,
    stands_for_nobody=_stands_for_nobody,
    unguessable="a masked table shows values that are not people's own, so there are no groups to "
    "guess from; sf.masking_risk measures how often people are found in it",
)
