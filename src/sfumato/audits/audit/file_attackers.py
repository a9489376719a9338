"""Attackers who look at how the files of a release are written, not at what they say."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from sfumato.audits.attacks.frame import KnownPeople, known_people
from sfumato.audits.attacks.minimality import Minimality
from sfumato.audits.attacks.outside import Outside
from sfumato.audits.attacks.positions import Numbers, Positions, lines_of, positions_of
from sfumato.audits.attacks.releases import candidates_of
from sfumato.audits.attacks.results import Attack, Scene
from sfumato.audits.audit.attackers import Attacker
from sfumato.audits.audit.control import control_of, guided, promised, remade
from sfumato.audits.breach.view import View
from sfumato.core.arrays import Counts
from sfumato.core.microdata import Microdata
from sfumato.core.schema import Role, Schema
from sfumato.errors import SfumatoError
from sfumato.forms.registry import Release, form_of
from sfumato.models.base import parts
from sfumato.models.requirements import requirements

_MOST = 20_000  # people, to whom the time of an attack is of use
_Read = Callable[[Release, View, KnownPeople], Attack | None]


@dataclass(slots=True, eq=False)
class Control:
    """Makes the control of a release, and keeps it for those who look at its files."""

    published: Release
    truth: Microdata
    sensitive: str
    knowing: Sequence[str] | None = None
    made: tuple[Release, Microdata] | None = None

    def __call__(self, seed: int) -> Scene | None:
        """What is shown of the people of the control; None if it cannot be made."""
        self.made = control_of(self.published.manifest, self.truth, seed)
        if self.made is None:
            return None
        again, people = self.made
        shown = candidates_of(again, people, sensitive=self.sensitive, knowing=self.knowing)
        return Scene.of(shown, people)


def file_attackers(view: View, control: Control) -> Iterator[Attacker]:
    """Those who can be made of the form of a release."""
    who = {
        "lines": "takes the value at the place of a person's line in its group",
        "order": "knows the order of the owner's table, and takes it for that of the files",
        "numbers": "knows that order, and takes the numbers of groups to be in it",
        "minimality": "knows the algorithm, and that boxes could not be cut",
    }
    release, truth = control.published, control.truth
    inside: tuple[str, _Read] = ("lines", _lined)
    if form_of(view.release).boxes:
        inside = ("numbers", _numbered)
    reads = [("order", _ordered), inside]
    if is_minimal(release) and truth.n_rows <= _MOST:
        reads.append(("minimality", _minimal))
    for name, read in list(reads):
        if name != "minimality":
            who[f"{name} backwards"] = f"{who[name]}, from its end"
            reads.append((f"{name} backwards", partial(_backwards, read)))
    for name, read in reads:
        make = partial(_made, read, release, view, known_people(truth))
        yield Attacker(name, who[name], make, on_control=_wrong(control, view, read))


def _ordered(release: Release, view: View, people: KnownPeople) -> Attack | None:
    return positions_of(release, view, np.arange(people.n_rows))


def _numbered(_release: Release, _view: View, people: KnownPeople) -> Attack | None:
    return Numbers(np.arange(people.n_rows))


def _lined(release: Release, view: View, people: KnownPeople) -> Attack | None:
    return lines_of(release, view, people)


def _backwards(read: _Read, release: Release, view: View, people: KnownPeople) -> Attack | None:
    """A file may as well descend."""
    attack = read(release, view, people)
    if isinstance(attack, Positions | Numbers):
        return replace(attack, order=attack.order.max(initial=0) - attack.order)
    return attack


def is_minimal(release: Release) -> bool:
    """Whether groups follow from the table, and by themselves could not be smaller."""
    manifest = release.manifest
    algorithm = remade(manifest.algorithm)
    if algorithm is None or not getattr(algorithm, "equal_together", False):
        return False
    if not form_of(release).boxes or len(manifest.of_role(Role.SENSITIVE)) != 1:
        return False
    try:
        return all(getattr(one, "group_alone", False) for one in parts(promised(manifest.promise)))
    except SfumatoError:
        return False  # a model of the owner's own


def _minimal(release: Release, view: View, people: KnownPeople) -> Attack | None:
    algorithm = remade(release.manifest.algorithm)
    assert algorithm is not None
    algorithm = guided(algorithm, release.manifest)
    schema = Schema(quasi=people.schema.quasi, sensitive=view.name)
    needs = requirements(promised(release.manifest.promise), schema)
    shown = candidates_of(release, people, sensitive=view.name)
    return Minimality.of(algorithm, needs, people, shown)


def _made(read: _Read, release: Release, view: View, people: KnownPeople) -> Attack:
    return read(release, view, people) or Outside()


def _wrong(control: Control, view: View, read: _Read) -> Callable[[], Attack]:
    """The same attack on the control, which believes in a wrong order."""

    def on_control() -> Attack:
        assert control.made is not None
        again, people = control.made
        attack = read(again, View.of(again, view.name), known_people(people))
        wrong: Counts = np.random.default_rng(people.n_rows).permutation(people.n_rows)
        if isinstance(attack, Positions | Numbers):
            return replace(attack, order=wrong)
        return attack or Outside()

    return on_control
