"""What attackers have to reach who are as good as the best we know of.

Figures of attacks on releases and databases of tables like these, found by somebody else, stand
beside those of our own attackers, who are built the same way. Measured is by how much ours fall
short. ``benchmarks.attackers`` has the attackers who learn; here are those who lay two things on
each other, know some values, see somebody leave and return, or compare two worlds. A number stands
for all that singles people out, so that everybody's published row is known.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import sfumato as sf
from benchmarks.attackers import KNOWN, Setting, numbered, settings
from benchmarks.measure import Line
from sfumato.audits.attacks.composition import Composed
from sfumato.audits.attacks.definetti import DeFinetti
from sfumato.audits.attacks.outside import Outside
from sfumato.audits.attacks.releases import candidates_of
from sfumato.audits.attacks.results import Accuracy, Attack, Scene, shuffled
from sfumato.statdb.audit import told
from sfumato.statdb.responder import Responder
from sfumato.statdb.worlds import compared, crossed, exchanged

PEOPLE, BATCH = 10_000, 1_000
QUESTIONS, CROSSED = 1_800, 10
NOISE = 0.03
CERTAIN = 0.999


class Theirs(NamedTuple):
    """What others reached: two releases, a database and a release, who returned, certain people."""

    twice: float
    beside: float
    returned: float
    certain: float
    closed: float | None


OTHERS = {
    "occupation (KDD), l=4": Theirs(0.74, 0.71, 0.39, 0.92, 0.58),
    "occupation (ACS), l=5": Theirs(0.74, 0.71, 0.39, 0.92, 0.60),
    "salary (EPH), l=10": Theirs(0.49, 0.44, 0.17, 0.92, None),
}


def run(folder: Path | None) -> Iterator[Line]:
    """Every attack on every table; a generated one has nobody else's figures."""
    for setting in settings(folder):
        theirs = OTHERS.get(setting.name, Theirs(0.0, 0.0, 0.0, 0.0, None))
        people = numbered(setting.people.take(np.arange(min(PEOPLE, setting.people.n_rows))))
        yield from _composed(setting, people, theirs)
        yield from _returning(setting, people, theirs)
        yield from _corrupted(setting, people, theirs)
        yield _worlds(setting, people)


def _composed(setting: Setting, people: sf.Microdata, theirs: Theirs) -> Iterator[Line]:
    for name, database, other in (
        ("Anatomy twice", False, theirs.twice),
        ("a database with cohorts of 8, and Anatomy", True, theirs.beside),
    ):
        mixed = shuffled(people, 1)
        found = _laid(setting, people, people, database)
        control = _laid(setting, mixed, shuffled(people, 2), database)
        yield _line(f"{setting.name}, {name}", found, other, control, 1 / setting.l)


def _laid(setting: Setting, here: sf.Microdata, there: sf.Microdata, database: bool) -> Accuracy:
    """A release or a database of some people, and another release of them."""
    second = candidates_of(_anatomy(setting, there, 2), there)
    first = Scene.of(candidates_of(_anatomy(setting, here, 1), here), here)
    if database:
        first = _stored(setting, here, 8)
    (sensitive,) = here.sensitive
    return first.attacked(Outside(Composed.of(second, sensitive)))


def _anatomy(setting: Setting, people: sf.Microdata, seed: int) -> sf.AnatomizedTables:
    return sf.publish(people, sf.Anatomize(near=False), sf.LDiversity(setting.l), seed=seed)


def _stored(setting: Setting, people: sf.Microdata, cohort: int | None) -> Scene:
    made = _responder(setting, people, cohort)
    table = made.table()
    return Scene.of(told(made, table), table)


def _responder(setting: Setting, people: sf.Microdata, cohort: int | None) -> Responder:
    return Responder.create(people, m=setting.l, first="signatures", cohort=cohort, seed=0)


def _returning(setting: Setting, people: sf.Microdata, theirs: Theirs) -> Iterator[Line]:
    """Some people leave, and return with a later change; both lists are laid on each other."""
    kinds: dict[str, dict[str, Any]] = {
        "cohorts of 8": {"first": "signatures", "cohort": 8},
        "neighbours": {},
    }
    for name, options in kinds.items():
        with tempfile.TemporaryDirectory() as place:
            db = sf.StatDB.create(
                Path(place) / "db", people, m=setting.l, seed=0, experiment=True, **options
            )
            table = db.table()
            gone = np.random.default_rng(0).permutation(table.n_rows)[:BATCH]
            before = Scene.of(told(db.responder, table), table)
            db.apply(deleted=table.take(gone), seed=1, experiment=True)
            again = sf.StatDB.open(db.path)
            again.apply(inserted=table.take(gone), seed=2, experiment=True)
            last = sf.StatDB.open(db.path).responder
            after = told(last, last.table())
        both = Outside(Composed.of(after, table.sensitive[0]))
        judged = np.isin(np.arange(table.n_rows), gone)
        found = before.attacked(both, judged=judged)
        once = before.attacked(Outside(), judged=judged)
        other = theirs.returned if options else 0.0
        yield _line(f"{setting.name}, leave and return, {name}", found, other, once, 1 / setting.l)


def _corrupted(setting: Setting, people: sf.Microdata, theirs: Theirs) -> Iterator[Line]:
    """Who shares a value with whom is known, and the values of one person in fifty."""
    for cohort, other in ((8, 0.13), (None, theirs.certain)):
        scene = _stored(setting, people, cohort)
        known = np.arange(len(scene.truth)) % KNOWN == 0
        guesses = Outside().guess(scene.candidates, np.where(known, scene.truth, -1))
        sure = (guesses.confidence > CERTAIN) & ~known
        share, right = sure.sum() / (~known).sum(), (guesses.values == scene.truth)[sure].mean()
        detail = f"{share:.3f} of the others are certain, {other:.3f} theirs; {right:.3f} rightly"
        name = f"{setting.name}, 1 in {KNOWN} known, cohort {cohort}"
        yield Line(name, max(0.0, other - share), NOISE, "", detail)
        if cohort is not None and theirs.closed is not None:
            attack: Attack = DeFinetti()
            found, once = scene.attacked(attack), scene.attacked(Outside())
            name = f"{setting.name}, equality closure alone, cohort {cohort}"
            yield _line(name, found, theirs.closed, once, 1 / setting.l)


def _worlds(setting: Setting, people: sf.Microdata) -> Line:
    made, random = _responder(setting, people, 8), np.random.default_rng(0)
    same = compared(made, exchanged(made, random), QUESTIONS, 1)
    seen = sum(compared(made, crossed(made, random), 200, i).differ > 0 for i in range(CROSSED))
    detail = (
        f"{same.questions:,} questions; {seen} of {CROSSED} worlds across cohorts are told apart"
    )
    return Line(f"{setting.name}, two worlds: answers that differ", same.differ, 0, "", detail)


def _line(name: str, found: Accuracy, other: float, control: Accuracy, bound: float) -> Line:
    detail = (
        f"{found.right:.3f} right, {other:.2f} theirs; bound {bound:.2f}, control or one alone "
        f"{control.right:.3f}; surest 5% {found.surest:.3f}; {found.n:,} people"
    )
    return Line(name, max(0.0, other - found.right), NOISE, "", detail)
