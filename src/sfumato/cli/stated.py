"""What release.json promises and states, in words: its own are for programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import sqrt
from typing import Any

from sfumato.audits.risk.wording import listed
from sfumato.forms.manifest import Manifest
from sfumato.forms.masked.distortion import (
    INTERVALS,
    MICROAGGREGATION,
    NOISE,
    SWAPPING,
    Distortion,
    distortion_of,
    is_distortion,
)
from sfumato.forms.perturbed.release import MODEL as PERTURBATION

_DAY = 86_400_000  # milliseconds, in which dates and times are masked


def stated_lines(manifest: Manifest) -> Iterator[str]:
    """A line for each promise; of masks it is said how they were made, which is no promise."""
    kinds = dict(manifest.types)
    for one in manifest.promise:
        model = str(one["model"])
        if is_distortion(model):
            yield f"stated: {_masked(distortion_of(one), kinds)}"
        elif model == INTERVALS:
            yield f"stated: {_intervals(one)}"
        elif model == PERTURBATION:
            yield f"promised: {_perturbed(one)}"
        else:
            told = ", ".join(f"{name} = {value}" for name, value in one.items() if name != "model")
            yield f"promised: {model} ({told})"


def _masked(one: Distortion, kinds: Mapping[str, str]) -> str:
    """How a column was replaced, and how far."""
    if one.model == MICROAGGREGATION:
        if not one.spread:
            return f"{one.on} shows each group's most frequent value, another for {one.changed:.1%}"
        return f"{one.on} shows each group's mean{_away(one, kinds, ', rows are off by ')}"
    if one.model == NOISE:
        return f"{one.on} has noise added{_away(one, kinds, ', ')}"
    if one.model == SWAPPING:
        equal = f" and are equal on {listed(one.inside)}" if one.inside else ""
        near = f"at most {one.reach:.4g} of all ranks apart"
        return f"{one.on} is exchanged between rows that are {near}{equal}"
    return f"{one.on} is drawn from a model; {one.changed:.1%} had values too rare to be drawn"


def _away(one: Distortion, kinds: Mapping[str, str], before: str) -> str:
    """The standard deviation of what was added or taken away, in the column's own unit."""
    far, kind = sqrt(one.variance), kinds.get(one.on, "")
    if kind.startswith(("date", "timestamp")):
        told = f"{far / _DAY:.3g} days"
    elif kind.startswith(("time", "duration")):
        return ""
    else:
        told = f"{far:.3g}"
    return f"{before}{told} (standard deviation)"


def _intervals(one: Mapping[str, Any]) -> str:
    """By how much likely intervals are stretched, by the number of masked columns asked about."""
    by = [f"{factor:g}" for factor in one["stretch"]]
    about = (" one masked column", " two", " more")
    told = listed([f"{factor} times for{what}" for factor, what in zip(by, about, strict=False)])
    return f"likely intervals are longer than chance alone makes them: {told}"


def _perturbed(one: Mapping[str, Any]) -> str:
    """The chance to keep a value, and what seeing it tells whoever knows nothing else (Lemma 9)."""
    return (
        f"a value of {one['on']} is kept with a chance of {one['p']:.3g}, or drawn from all "
        f"{one['domain_size']:,}; where all are as frequent, the one shown is right with a chance "
        f"of 1/{one['m']:.4g}"
    )
