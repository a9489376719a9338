"""What else can be found out from a release: whose line is whose, who is in it and who is not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from sfumato.audits.attacks.frame import Candidates, known_people
from sfumato.audits.attacks.linkage import picked
from sfumato.audits.attacks.places import Places
from sfumato.audits.attacks.positions import lines_of
from sfumato.audits.attacks.results import Accuracy, Outcome, true_values
from sfumato.audits.attacks.seeds import order_of, searched
from sfumato.audits.audit.attackers import NotApplicable, Probe
from sfumato.audits.audit.control import control_of
from sfumato.audits.audit.findings import CHANCE, GUESSES
from sfumato.audits.audit.qids import qids_of
from sfumato.audits.audit.row_probes import PICKS, least_group, mask_probes, noise_probes
from sfumato.audits.breach.matching import cells_of
from sfumato.audits.breach.persons import Persons
from sfumato.audits.breach.view import View
from sfumato.audits.join_risk import JoinRisk, join_risk
from sfumato.core.microdata import Microdata
from sfumato.forms.registry import Release, form_of
from sfumato.io.tables import Source

_SEEDS = 2**16
_SECONDS = 20.0  # for a search
_DEVIATIONS = 4  # of luck
_PRESENT = "tells {} in the table to be in it"
_ABSENT = "tells {} who are not in the table to be absent"


def probes(
    release: Release,
    truth: Microdata,
    listed: Source | None,
    sensitive: str | None,
    others: Microdata | None,
) -> Iterator[Probe]:
    """Those that can be made of the form of a release."""
    form = form_of(release)
    if form.external:
        yield from _join_probes(release, truth, listed)
    elif form.boxes:
        yield _linkage(release, truth, None)
        yield from (_linkage(release, truth, names) for names in qids_of(release.manifest))
        yield _seed_search(release, truth, sensitive)
    elif form.masks:
        yield from mask_probes(release, truth, sensitive)
    elif not form.grouped:
        yield from noise_probes(release, truth, sensitive, others)
        yield _seed_search(release, truth, sensitive)
    else:
        yield from _places(release, truth, sensitive)
        yield _seed_search(release, truth, sensitive)


def _linkage(release: Release, truth: Microdata, names: Sequence[str] | None) -> Probe:
    def made(seed: int, _left: float) -> Outcome:
        if (bound := least_group(release, names)) is None:
            raise NotApplicable("no size of groups is promised" + _OF_TWO * bool(several))
        people = Persons.true(release, truth).knowing(names)  # type: ignore[arg-type]
        cells = cells_of(release, people.names)  # type: ignore[arg-type]
        attacker = Accuracy.of_chances(picked(cells, people))
        control = Accuracy.of_chances(picked(cells, people, _strangers(people, seed)))
        return Outcome(attacker, control, 1 / truth.n_rows, bound, bound)

    several = qids_of(release.manifest)
    by = "their quasi-identifiers" if names is None else ", ".join(names)
    name = "linkage" if names is None else f"linkage ({by})"
    return Probe(name, f"links people to lines by {by}", PICKS, made)


_OF_TWO = " to somebody who knows columns of several QIDs"


def _strangers(people: Persons, seed: int) -> Persons:
    """Nobody: every value comes from somebody else."""
    random = np.random.default_rng(seed)
    return replace(people, codes={n: random.permutation(c) for n, c in people.codes.items()})


def _seed_search(release: Release, truth: Microdata, sensitive: str | None) -> Probe:
    def tried(published: Release, people: Microdata, seconds: float) -> Accuracy:
        order = order_of(published, known_people(people), sensitive)
        if order is None:
            raise NotApplicable("too many people or groups are alike to see an order")
        found = searched(order, range(_SEEDS), seconds)
        return Accuracy.of_certain(int(found.seed is not None), 1)

    def made(seed: int, left: float) -> Outcome:
        seconds = min(_SECONDS, left / 4)
        attacker, control = tried(release, truth, seconds), None
        again = control_of(release.manifest, truth, seed)
        if again is not None:
            try:
                control = tried(*again, seconds / 4)
            except NotApplicable:
                control = None
        return Outcome(attacker, control, 0.0, 0.0, 0.0)

    who = f"tries the seeds below {_SEEDS:,} against the order of what is published"
    return Probe(
        "seed search", who, "finds the seed, which undoes all chance", made,
        fails="finds no seed that made it",
    )  # fmt: skip


def _places(release: Release, truth: Microdata, sensitive: str | None) -> Iterator[Probe]:
    def attacked(seed: int) -> tuple[Accuracy, Accuracy, float | None, float]:
        """Of the lines as they stand, and as they might stand; the bound and the baseline."""
        view, people = View.of(release, sensitive), known_people(truth)
        if (seen := lines_of(release, view, people)) is None or seen.groups is None:
            raise NotApplicable("lines do not show whose they are")
        shown = Candidates.of_groups(people, seen.groups, view.groups)
        own, random = true_values(shown, truth), np.random.default_rng(seed)
        judged = random.permutation(truth.n_rows) < -(-truth.n_rows // 2)
        known = np.where(judged, -1, own)
        mixed = replace(seen, order=random.permutation(truth.n_rows))
        found, control = (
            Accuracy.of(Places.of(one).guess(shown, known), own, judged) for one in (seen, mixed)
        )
        commonest = float(np.bincount(own[own >= 0]).max() / len(own))
        return found, control, view.bound(), commonest

    def all_of(seed: int, _left: float) -> Outcome:
        found, control, bound, baseline = attacked(seed)
        chance = control.right if bound is None else bound
        return Outcome(found, control, baseline, chance, chance, promised=bound is not None)

    def surest(seed: int, _left: float) -> Outcome:
        """An order may betray few, whom a mean hides; but of few some are right by luck."""
        found, control, bound, baseline = attacked(seed)
        chance = max(control.right if bound is None else bound, baseline)
        luck = min(1.0, chance + _DEVIATIONS * np.sqrt(chance * (1 - chance) / found.twentieth))
        return Outcome(found.of_surest(), control.of_surest(), baseline, luck, luck)

    who = "has learnt from half of the people which places in a group go with which values"
    yield Probe("places", who, GUESSES, all_of)
    does = "guesses {} right of the twentieth it is surest of"
    yield Probe("places, surest", who, does, surest, bound_is=CHANCE)


def _join_probes(release: Release, truth: Microdata, listed: Source | None) -> Iterator[Probe]:
    found = list[JoinRisk]()

    def risk() -> JoinRisk:
        if not found:
            found.append(join_risk(release, truth, listed))
        return found[0]

    def linkage(_seed: int, _left: float) -> Outcome:
        chances = risk().reidentification
        return Outcome(Accuracy.of_chances(chances), None, 0.0, risk().bound, risk().bound)

    def presence(_seed: int, _left: float) -> Outcome:
        named, mistaken = _listed(risk()).exposed, risk().mistaken
        assert named is not None
        assert mistaken is not None
        attacker = Accuracy.of_certain(len(named), truth.n_rows)
        control = Accuracy.of_certain(mistaken, max(1, len(named)))
        return Outcome(attacker, control, 0.0, 0.0, 0.0, promised=False)

    def absence(_seed: int, _left: float) -> Outcome:
        absent, people = _listed(risk()).absent, risk().listed
        assert absent is not None
        assert people is not None
        attacker = Accuracy.of_certain(absent, max(absent, people - truth.n_rows, 1))
        return Outcome(attacker, None, 0.0, 0.0, 0.0, promised=False)

    yield Probe("linkage", "links people to lines by their quasi-identifiers", PICKS, linkage)
    who = "has a list that names everybody, and looks at"
    yield Probe("presence", f"{who} the edges of boxes", _PRESENT, presence)
    yield Probe("absence", f"{who} who is in no box", _ABSENT, absence)


def _listed(risk: JoinRisk) -> JoinRisk:
    if risk.exposed is None:
        raise NotApplicable("it needs a list of people: --list FILE")
    return risk
