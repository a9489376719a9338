"""What can be found out from releases without groups: through noise, and behind masks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sfumato.audits.attacks.frame import Candidates, known_people
from sfumato.audits.attacks.noise import read_through, shown_values
from sfumato.audits.attacks.outside import without_release
from sfumato.audits.attacks.results import Accuracy, Outcome, true_values
from sfumato.audits.audit.attackers import NotApplicable, Probe, learnt
from sfumato.audits.audit.findings import CHANCE, GUESSES
from sfumato.audits.audit.study import Study
from sfumato.audits.breach.view import chosen_column, is_promised_to
from sfumato.audits.masking.distances import apart_from, sides_of
from sfumato.audits.masking.guessing import guessed, looked_for, values_of
from sfumato.audits.masking.risk import alike_chances, linked_chances
from sfumato.core.arrays import Codes, Ints
from sfumato.core.histograms import Histograms
from sfumato.core.microdata import Microdata
from sfumato.core.schema import Role
from sfumato.forms.registry import Release

PICKS = "finds the line of {}"
_LINES = 10  # of which one is at a person's place


def noise_probes(
    release: Any, truth: Microdata, sensitive: str | None, others: Microdata | None
) -> Iterator[Probe]:
    """Who reads through noise, by frequencies, and by what is known of such people."""
    name = chosen_column([one.name for one in release.manifest.of_role(Role.SENSITIVE)], sensitive)
    bound = 1 / release.retention(name).m

    def linkage(seed: int, _left: float) -> Outcome:
        own = true_values(_everybody(release, truth, name), truth)
        guesses = read_through(release, known_people(truth), name)
        # who has what is shuffled, not how frequent it is, which noise lets everybody find out
        mixed, most = np.random.default_rng(seed).permutation(own), _commonest(own)
        found, control = Accuracy.of(guesses, own), Accuracy.of(guesses, mixed)
        return Outcome(found, control, most, bound, max(bound, most))

    def learner(seed: int, _left: float) -> Outcome:
        shown = _everybody(release, truth, name)
        own = true_values(shown, truth)
        study = (
            Study.of_half(shown, own, seed)
            if others is None
            else Study.of_others(shown, own, others)
        )
        bayes, judged = learnt(shown, study), study.judged
        guesses = read_through(release, known_people(truth), name, bayes)
        mixed, most = np.random.default_rng(seed).permutation(own), _commonest(own)
        found, control = (Accuracy.of(guesses, one, judged) for one in (own, mixed))
        baseline = Accuracy.of(without_release(shown, bayes), own, judged).right
        return Outcome(found, control, baseline, bound, max(bound, most))

    yield Probe("linkage", "finds people's lines, and reads through the noise", GUESSES, linkage)
    who = "half of the table" if others is None else "other people"
    yield Probe("learner", f"has studied {who}, and reads through the noise", GUESSES, learner)
    yield from order_probes(release, truth)


def order_probes(release: Any, truth: Microdata) -> Iterator[Probe]:
    """Who takes the order of rows for that of the owner's table, or for its opposite."""
    for name, backwards in (("order", False), ("order backwards", True)):

        def made(seed: int, _left: float, backwards: bool = backwards) -> Outcome:
            rows, random = release.table.num_rows, np.random.default_rng([seed, 2])
            if rows != truth.n_rows:
                raise NotApplicable("there are not as many rows as people")
            people = looked_for(rows, seed)
            places = rows - 1 - people if backwards else people
            others = random.integers(0, rows, (len(people), _LINES - 1))
            sides = sides_of(release, known_people(truth))

            def picked(own: Ints) -> Accuracy:
                apart = apart_from(sides, people, np.column_stack([own, others]))
                nearest = apart <= apart.min(axis=1, keepdims=True)
                found = Accuracy.of_chances(nearest[:, 0] / nearest.sum(axis=1))
                # nobody can say who of them it is
                return replace(found, surest=found.right, claimed=0.0)

            control = picked(random.integers(0, rows, len(people)))
            return Outcome(picked(places), control, 0.0, 1 / _LINES, 1 / _LINES)

        who = "knows the order of the owner's table, and takes it for that of the rows"
        does = f"finds the row at their place to be the nearest of {_LINES} for {{}}"
        yield Probe(name, who + ", from its end" * backwards, does, made, bound_is=CHANCE)


def _everybody(release: Any, truth: Microdata, name: str) -> Candidates:
    """Noise makes no groups: everybody may have any of the values that are shown."""
    attribute, codes = shown_values(release, name)
    whole = np.zeros(len(codes), np.int32)
    values = Histograms.of_groups(attribute, codes, whole, 1)
    return Candidates.of_groups(truth, np.zeros(truth.n_rows, np.int32), values)


def _commonest(values: Codes) -> float:
    return float(np.bincount(values[values >= 0]).max() / len(values))


def mask_probes(release: Any, truth: Microdata, sensitive: str | None) -> Iterator[Probe]:
    """Who looks for people's own rows, and who takes the values of the nearest ones."""
    columns = [one.name for one in release.manifest.of_role(Role.SENSITIVE)]

    def linkage(seed: int, _left: float) -> Outcome:
        bound, people = least_group(release), looked_for(truth.n_rows, seed)
        if release.origin is not None:
            chances = linked_chances(release, truth, people)
        elif bound is not None:
            chances = alike_chances(release, known_people(truth), people)
        else:
            raise NotApplicable("whose a row is stands in no file; sf.masking_risk measures it")
        found, blindly = Accuracy.of_chances(chances), 1 / truth.n_rows
        if bound is None:
            return Outcome(found, None, blindly, 1.0, 1.0, promised=False)
        return Outcome(found, None, blindly, bound, bound)

    def nearest(seed: int, _left: float) -> Outcome:
        if not columns:
            raise NotApplicable("no column is sensitive, and no file says whose a row is")
        name = chosen_column(columns, sensitive)
        values, people = values_of(release, truth, name), looked_for(truth.n_rows, seed)
        every = guessed(release, known_people(truth), values.shown, people)
        own = values.true[people]
        mixed = np.random.default_rng([seed, 1]).permutation(own)
        studied = np.arange(len(people)) % 2 == 0
        best = max(every, key=lambda one: Accuracy.of(one, own, studied).right)
        found, control = (Accuracy.of(best, one, ~studied) for one in (own, mixed))
        most = _commonest(values.true)
        return Outcome(found, control, most, 1.0, most, promised=False)

    if not release.drawn:
        yield Probe("linkage", "takes the row that is nearest", PICKS, linkage)
    who = "takes the commonest value of the nearest rows"
    yield Probe("nearest rows", who, "names the value of {}", nearest)
    if not release.drawn:
        yield from order_probes(release, truth)


def least_group(release: Release, within: Sequence[str] | None = None) -> float | None:
    """One by the least size of a group that is promised to who knows all columns, or these."""
    sizes = [
        int(stated[letter])
        for stated in release.manifest.promise
        for letter in ("k", "l")
        if is_promised_to(release.manifest, stated, within)
        and isinstance(stated.get(letter), int | float)
        and stated[letter] >= 1
    ]
    return 1 / max(sizes) if sizes else None
