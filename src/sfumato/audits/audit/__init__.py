"""Audit: attack a release, and put what attackers reach beside what it promises.

``verify`` says whether a promise is kept, and ``breach`` what follows for somebody who knows
nothing else. An attacker knows more: how quasi-identifiers and values go together in the
population, or the values of some people. Every attack (audits/attacks) is made on the release and,
as a control, on one of the same table shuffled. It stands beside three figures: the *bound* that is
promised, the *baseline* of a learner who has never seen the release, and the control, which must
not come out above the bound.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np

from sfumato.algorithms.base import Stages, silent
from sfumato.audits.attacks.composition import Composed
from sfumato.audits.attacks.outside import Outside, without_release
from sfumato.audits.attacks.releases import candidates_of
from sfumato.audits.attacks.results import Accuracy, Scene, Trial
from sfumato.audits.audit.attackers import Attacker, attackers, learnt
from sfumato.audits.audit.control import control_of
from sfumato.audits.audit.findings import FAILING, Audit, Finding
from sfumato.audits.audit.study import Study
from sfumato.audits.breach.everybody import translated
from sfumato.audits.breach.known_values import require_matched, require_values
from sfumato.audits.breach.view import View
from sfumato.audits.same_table import require_same
from sfumato.core.foreign import our_errors
from sfumato.core.microdata import Microdata
from sfumato.engines.parts import TableParts
from sfumato.errors import DataError, ParameterError
from sfumato.forms.load import load
from sfumato.forms.registry import Release
from sfumato.io.hints import did_you_mean
from sfumato.io.paths import usable

__all__ = ["FAILING", "KNOWN", "TIME_LIMIT", "Audit", "Finding", "audit"]

KNOWN = 0.02
TIME_LIMIT = 180.0
_LEAST = 100  # people; of fewer nothing can be stated


@our_errors("auditing")
def audit(
    release: Release | str | Path,
    truth: Microdata,
    *,
    others: Microdata | None = None,
    releases: Sequence[Release | str | Path] = (),
    known: float = KNOWN,
    sensitive: str | None = None,
    attacks: Collection[str] | None = None,
    time_limit: float | None = TIME_LIMIT,
    seed: int | None = None,
    progress: Stages | None = None,
) -> Audit:
    """Attack a release, or a release folder, of which the true table is known.

    Learners study ``others``, people of the same population who are not in the table, or without
    them half of the table, and are judged by the other half. ``releases`` are others of the same
    table, which an attacker lays on this one. ``known`` is the share of people whose
    values an attacker is told. ``attacks`` names some attacks instead of all. After ``time_limit``
    seconds no further attack is begun. ``seed`` repeats an audit.

    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> release = sf.publish(patients, sf.Anatomize(), sf.LDiversity(4))
    >>> found = sf.audit(release, patients, attacks=["deFinetti"])
    >>> found.fails(above=1.5)
    False
    """
    tell, began = progress or silent, time.monotonic()
    _require_share(known)
    seed = secrets.randbelow(2**31) if seed is None else seed
    tell("reading the release", 0.0)
    name, published = _loaded(release)
    require_same(published, TableParts.of(truth), whole=True)
    _require_enough(truth)
    view = View.of(published, sensitive)
    shown = _scene(published, truth, view)
    study = _study(shown, others, seed)
    tell("publishing a shuffled table", 0.0)
    trial = Trial(shown, _control(published, truth, view.name, seed), study.judged)
    bayes = learnt(shown.candidates, study)
    alone = without_release(shown.candidates, bayes)
    baseline = Accuracy.of(alone, shown.truth, study.judged).right
    bound = view.bound()
    promised = bound is not None
    if bound is None:
        bound = shown.attacked(Outside(), judged=study.judged).right
    every = [
        *attackers(shown.candidates, study, bayes, known, seed),
        *(_composed(other, truth, view.name, seed, n) for n, other in enumerate(releases, 2)),
    ]
    findings, not_run = list[Finding](), dict[str, str]()
    for place, one in enumerate(_chosen(every, attacks)):
        if time_limit is not None and time.monotonic() - began > time_limit:
            not_run[one.name] = f"the time limit of {time_limit:g} seconds was over"
            continue
        tell(f"attacking: {one.name}", place / len(every))
        start = time.monotonic()
        outcome = trial.outcome(
            one.make(), baseline=baseline, bound=bound, known=one.known,
            on_control=one.on_control() if one.on_control and trial.mixed else None,
        )  # fmt: skip
        findings.append(Finding(one.name, one.who, outcome, time.monotonic() - start))
    return Audit(
        name, view.name, truth.n_rows, bound, promised, baseline, study.words,
        tuple(findings), not_run, seed,
    )  # fmt: skip


def _scene(published: Release, truth: Microdata, view: View) -> Scene:
    """What the release shows of the people, who have to be those it was made of."""
    shown = candidates_of(published, truth, sensitive=view.name)
    alone = np.diff(shown.claims.starts)[shown.subjects] == 0
    suppressed = published.manifest.suppressed
    require_matched(int(alone.sum()), suppressed)
    own = truth.attributes[view.name]
    counts = np.bincount(truth.codes[view.name], minlength=own.size)
    require_values(view.groups, counts, translated(own, view.attribute), suppressed)
    return Scene.of(shown, truth)


def _study(shown: Scene, others: Microdata | None, seed: int) -> Study:
    if others is None:
        return Study.of_half(shown.candidates, shown.truth, seed)
    return Study.of_others(shown.candidates, shown.truth, others)


def _control(published: Release, truth: Microdata, sensitive: str, seed: int) -> Scene | None:
    control = control_of(published.manifest, truth, seed)
    if control is None:
        return None
    again, people = control
    return Scene.of(candidates_of(again, people, sensitive=sensitive), people)


def _composed(
    other: Release | str | Path, truth: Microdata, sensitive: str, seed: int, number: int
) -> Attacker:
    """An attacker who has another release of the same people."""
    name, published = _loaded(other)
    require_same(published, TableParts.of(truth), whole=True)

    def attack() -> Outside:
        return Outside(Composed.of(candidates_of(published, truth, sensitive=sensitive)))

    def on_control() -> Outside:
        # shuffled once more, so that the two have nothing in common
        control = _control(published, truth, sensitive, seed + number)
        return Outside(None if control is None else Composed.of(control.candidates))

    return Attacker(f"composition {number}", f"has {name}, too", attack, on_control=on_control)


def _loaded(release: Release | str | Path) -> tuple[str, Release]:
    if isinstance(release, str | Path):
        return usable(release).resolve().name, load(release)
    return "release in memory", release


def _chosen(every: list[Attacker], names: Collection[str] | None) -> list[Attacker]:
    if names is None:
        return every
    known = [one.name for one in every]
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known) or f"known: {', '.join(known)}"
            raise ParameterError(f"no attack {name!r}; {hint}", parameter="attacks")
    return [one for one in every if one.name in names]


def _require_enough(truth: Microdata) -> None:
    if truth.n_rows < _LEAST:
        raise DataError(
            f"{truth.n_rows:,} people are too few to say how often somebody guesses right; "
            f"{_LEAST} are needed"
        )


def _require_share(known: float) -> None:
    if not 0 <= known < 1:
        raise ParameterError(f"known is a share of people below 1, not {known}", parameter="known")
