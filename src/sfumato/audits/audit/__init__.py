"""Audit: attack a release, and put what attackers reach beside what it promises.

``verify`` says whether a promise is kept, and ``breach`` what follows for somebody who knows
nothing else. An attacker knows more: how quasi-identifiers and values go together in the
population, or the values of some people. Every attack (audits/attacks) is made on the release and,
as a control, on one of the same table shuffled. It stands beside three figures: the *bound* that is
promised, the *baseline* of a learner who has never seen the release, and the control, which must
not come out above the bound.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np

from sfumato.algorithms.base import Stages
from sfumato.audits.attacks.composition import Composed
from sfumato.audits.attacks.outside import Outside
from sfumato.audits.attacks.releases import candidates_of
from sfumato.audits.attacks.results import Scene
from sfumato.audits.audit.attackers import Attacker
from sfumato.audits.audit.file_attackers import Control, file_attackers
from sfumato.audits.audit.file_probe import file_probe
from sfumato.audits.audit.findings import Audit, Finding
from sfumato.audits.audit.judging import Case, Wish, judged, probed
from sfumato.audits.audit.probes import probes
from sfumato.audits.audit.qids import with_qids
from sfumato.audits.breach.everybody import translated
from sfumato.audits.breach.known_values import (
    require_matched,
    require_possible,
    require_values,
)
from sfumato.audits.breach.view import View
from sfumato.audits.defaults import KNOWN, TIME_LIMIT
from sfumato.audits.same_table import require_same
from sfumato.core.attribute import Attribute
from sfumato.core.foreign import our_errors
from sfumato.core.microdata import Microdata
from sfumato.core.schema import Role
from sfumato.engines.parts import TableParts
from sfumato.errors import ParameterError
from sfumato.forms.load import load
from sfumato.forms.registry import Release, form_of
from sfumato.io.paths import usable
from sfumato.io.tables import Source

__all__ = ["Audit", "Finding", "audit"]


@our_errors("auditing")
def audit(
    release: Release | str | Path,
    truth: Microdata,
    *,
    others: Microdata | None = None,
    releases: Sequence[Release | str | Path] = (),
    listed: Source | None = None,
    known: float | Sequence[float] = KNOWN,
    sensitive: str | None = None,
    attacks: Collection[str] | None = None,
    control: bool = True,
    time_limit: float | None = TIME_LIMIT,
    seed: int | None = None,
    progress: Stages | None = None,
) -> Audit:
    """Attack a release, or a release folder, of which the true table is known.

    Learners study ``others``, people of the same population who are not in the table, or without
    them half of the table, and are judged by the other half. ``releases`` are others of the same
    table, which an attacker lays on this one. ``listed`` is a list of people that an attacker of a
    join release has: it shows who is certainly in the table, and who is not. ``known`` is the share
    of people whose values an attacker is told, or several such shares, each an attacker's.
    ``attacks`` names some attacks instead of all; without ``control`` nothing shows that they see
    only what they may. After ``time_limit`` seconds no further attack is begun. ``seed`` repeats an
    audit.

    Where no value can be guessed (no column is sensitive, or values stand apart) people can still
    be linked to lines, or told to be in the table, and only that is tried.

    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> release = sf.publish(patients, sf.Anatomize(), sf.LDiversity(4))
    >>> found = sf.audit(release, patients, attacks=["deFinetti"])
    >>> found.fails(above=1.5)
    False
    """
    wish = Wish(known, attacks, control, time_limit, seed, progress)
    wish.tell("reading the release", 0.0)
    name, published = _loaded(release)
    require_same(published, TableParts.of(truth), whole=True)
    _require_join(published, listed)
    beside = [*probes(published, truth, listed, sensitive, others)]
    if isinstance(release, str | Path):
        beside.append(file_probe(usable(release)))
    if (why := _unguessable(published, sensitive)) is not None:
        return probed(name, truth.n_rows, beside, why, wish)
    view = View.of(published, sensitive)
    more = [composed(one, truth, view.attribute, n) for n, one in enumerate(releases, 2)]
    again = Control(published, truth, view.name)
    case = Case(
        name,
        view.name,
        _scene(published, truth, view),
        again,
        view.bound(),
        [*file_attackers(view, again), *more],
        beside,
    )
    return with_qids(judged(case, others, wish), published, truth, view, others, wish)


def _unguessable(published: Release, sensitive: str | None) -> str | None:
    """Why no value can be guessed."""
    form = form_of(published)
    if form.external or not form.grouped:
        return form.unguessable
    if sensitive is None and not published.manifest.of_role(Role.SENSITIVE):
        return "no column is sensitive, so there is no value to name"
    return None


def _require_join(published: Release, listed: Source | None) -> None:
    if listed is not None and not form_of(published).external:
        raise ParameterError(
            "a list shows who is in a join release; in others everybody is, so leave it out",
            parameter="listed",
        )


def _scene(published: Release, truth: Microdata, view: View) -> Scene:
    """What the release shows of the people, who have to be those it was made of."""
    shown = candidates_of(published, truth, sensitive=view.name)
    alone = np.diff(shown.claims.starts)[shown.subjects] == 0
    suppressed = published.manifest.suppressed
    require_matched(int(alone.sum()), suppressed)
    own = truth.attributes[view.name]
    counts = np.bincount(truth.codes[view.name], minlength=own.size)
    require_values(view.groups, counts, translated(own, view.attribute), suppressed)
    scene = Scene.of(shown, truth)
    impossible = ~alone & ~scene.possible
    require_possible(int(impossible.sum()), suppressed, view.name)
    return scene


def composed(
    other: Release | str | Path, truth: Microdata, sensitive: Attribute, number: int
) -> Attacker:
    """An attacker who has another release of the same people; values are in ``sensitive``."""
    name, published = _loaded(other)
    require_same(published, TableParts.of(truth), whole=True)
    if (why := _unguessable(published, sensitive.name)) is not None:
        raise ParameterError(f"{name} tells nothing to compose with: {why}", parameter="releases")

    def attack() -> Outside:
        told = candidates_of(published, truth, sensitive=sensitive.name)
        return Outside(Composed.of(told, sensitive))

    def on_control() -> Outside:
        # shuffled with chance of its own, so that the two have nothing in common
        control = Control(published, truth, sensitive.name)(-number)
        return Outside(None if control is None else Composed.of(control.candidates, sensitive))

    return Attacker(f"composition {number}", f"has {name}, too", attack, on_control=on_control)


def _loaded(release: Release | str | Path) -> tuple[str, Release]:
    if isinstance(release, str | Path):
        return usable(release).resolve().name, load(release)
    return "release in memory", release
