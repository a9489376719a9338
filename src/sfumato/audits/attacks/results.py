"""How well an attacker did: against the truth, the baseline, the control and the promise.

The *control* is the whole attack on a release of the same table with its sensitive column shuffled:
nothing goes with anything there, so nobody can do better than the promise says, and an attack that
does is broken (it has seen what it must not see).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from typing import Protocol

import numpy as np

from sfumato.audits.attacks.frame import Candidates
from sfumato.audits.attacks.matching import Guesses
from sfumato.audits.attacks.outside import Outside
from sfumato.audits.breach.everybody import translated
from sfumato.core.arrays import Codes, Flags, Floats, Ints
from sfumato.core.microdata import Microdata

_SUREST = 0.05  # of all people
_CLAIMED = 0.5
_DEVIATIONS = 4


class Attack(Protocol):
    """The seam: whatever guesses from candidates alone, and perhaps from some known values."""

    def guess(self, candidates: Candidates, known: Ints | None = None) -> Guesses:
        """The likeliest value of everybody, and how likely it is held."""
        ...


@dataclass(frozen=True, slots=True)
class Accuracy:
    """The share of n guesses that are right, and of the surest twentieth of them.

    ``claimed`` is the share of people whose guess is held to be likelier than all other values
    together, ``noise`` the standard deviation of ``right``.
    """

    n: int
    right: float
    surest: float
    claimed: float
    noise: float

    @classmethod
    def of(
        cls,
        guesses: Guesses,
        truth: Ints,
        among: Flags | None = None,
        *,
        subjects: Codes | None = None,
    ) -> Accuracy:
        """Compare guesses with the truth, ``among`` some people only.

        People of one of the ``subjects`` are right or wrong together, which makes more noise.
        """
        chosen = np.arange(len(truth)) if among is None else np.flatnonzero(among)
        right = (guesses.values == truth)[chosen]
        confidence = guesses.confidence[chosen]
        return cls(
            n=len(chosen),
            right=float(right.mean()),
            surest=_surest(right, confidence),
            claimed=float((confidence > _CLAIMED).mean()),
            noise=_deviation(right, None if subjects is None else subjects[chosen]),
        )

    @property
    def twentieth(self) -> int:
        """How many people are surest."""
        return max(1, int(_SUREST * self.n))

    def of_surest(self) -> Accuracy:
        """The same of the surest alone."""
        n, right = self.twentieth, self.surest
        claimed = min(1.0, self.claimed / _SUREST)
        return Accuracy(n, right, right, claimed, float(np.sqrt(right * (1 - right) / n)))

    @classmethod
    def of_chances(cls, chances: Floats) -> Accuracy:
        """Of people who are found with these chances."""
        n = len(chances)
        most = np.sort(chances)[-max(1, int(_SUREST * n)) :]
        return cls(
            n=n,
            right=float(chances.mean()),
            surest=float(most.mean()),
            claimed=float((chances > _CLAIMED).mean()),
            noise=float(chances.std() / np.sqrt(n)),
        )

    @classmethod
    def of_certain(cls, certain: int, n: int) -> Accuracy:
        """Of n people, of whom some are told for certain, and nothing of the others."""
        share = certain / n if n else 0.0
        return cls(n, share, min(1.0, share / _SUREST), share, 0.0)


@dataclass(frozen=True, slots=True)
class Outcome:
    """An attack on a release, and on its control, if there is one.

    ``bound`` is the promised chance. ``chance`` is what the control has to come out at: the bound,
    or, where some people's values are known, what follows from these alone. Where nothing is
    ``promised``, nothing can be beaten, and the figures are there to be known.
    """

    attacker: Accuracy
    control: Accuracy | None
    baseline: float
    bound: float
    chance: float
    promised: bool = True

    @property
    def valid(self) -> bool:
        """Whether the control does no better than chance, up to noise: else nothing is proved."""
        if self.control is None:
            return True
        return self.control.right <= self.chance + _DEVIATIONS * self.control.noise

    @property
    def gain(self) -> float:
        """How many times better than what is promised, or known without the release."""
        most = max(self.bound, self.baseline)
        if most > 0:
            return self.attacker.right / most
        return inf if self.promised and self.attacker.right > 0 else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """What the public can tell of people, and apart from it their true values."""

    candidates: Candidates
    truth: Codes

    @classmethod
    def of(cls, candidates: Candidates, people: Microdata) -> Scene:
        """The truth in the codes of the candidates."""
        return cls(candidates, true_values(candidates, people))

    @property
    def possible(self) -> Flags:
        """Whether somebody's true value is one that the public can tell is possible."""
        told, cells = self.candidates, self.candidates.cells()
        subjects = np.empty(told.n_claims, np.int64)
        subjects[told.claims.items] = told.claims.owners
        width = told.n_values + 1
        of_cell = np.repeat(subjects, np.diff(cells.starts))
        shown = of_cell * width + told.values.values[cells.slots]
        possible: Flags = np.isin(told.subjects * np.int64(width) + self.truth, shown)
        return possible & (self.truth >= 0)

    def attacked(
        self, attack: Attack, known: Flags | None = None, judged: Flags | None = None
    ) -> Accuracy:
        """How well an attack does; the values of ``known`` people are told, and not counted."""
        told, among = None, judged
        if known is not None:
            told = np.where(known, self.truth, -1)
            among = ~known if judged is None else judged & ~known
        guesses = attack.guess(self.candidates, told)
        return Accuracy.of(guesses, self.truth, among, subjects=self.candidates.subjects)


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """People as they are shown to attackers, and if there is a control, the same of its people.

    ``judged`` are the people whose guesses count, None for all of them.
    """

    shown: Scene
    mixed: Scene | None
    judged: Flags | None = None

    @classmethod
    def of(cls, people: Microdata, show: Callable[[Microdata], Candidates], seed: int = 0) -> Trial:
        """``show`` publishes a table and says what can be told from it."""
        mixed = shuffled(people, seed)
        return cls(Scene.of(show(people), people), Scene.of(show(mixed), mixed))

    def outcome(
        self,
        attack: Attack,
        *,
        baseline: float,
        bound: float,
        known: Flags | None = None,
        on_control: Attack | None = None,
        promised: bool = True,
    ) -> Outcome:
        """Attack both; the values of ``known`` people are told, and not counted.

        An attack that knows more than the release goes ``on_control`` with the like of it. Where
        no chance is ``promised``, the control is measured by a plain reader of its own groups.
        """
        chance, control = bound, None
        if self.mixed is not None:
            control = self.mixed.attacked(on_control or attack, known, self.judged)
            if known is not None or not promised:
                chance = self.mixed.attacked(Outside(), known, self.judged).right
        attacker = self.shown.attacked(attack, known, self.judged)
        return Outcome(attacker, control, baseline, bound, chance)


def shuffled(people: Microdata, seed: int) -> Microdata:
    """The table with its sensitive columns shuffled, so that they go with nothing."""
    random = np.random.default_rng([abs(seed), seed < 0])
    mixed = {name: random.permutation(people.codes[name]) for name in people.schema.sensitive}
    return replace(people, codes={**people.codes, **mixed})


def true_values(candidates: Candidates, people: Microdata) -> Codes:
    """Everybody's value in the codes of the candidates."""
    published = candidates.values.attribute
    assert published is not None
    name = published.name
    return translated(people.attributes[name], published)[people.codes[name]]


def _surest(right: Flags, confidence: Floats) -> float:
    """The share of the surest guesses that are right; of those equally sure, the mean counts.

    The order of people must make no difference: it may go with their values.
    """
    n = max(1, int(_SUREST * len(right)))
    sure = np.round(confidence, 9)
    least = np.partition(sure, len(sure) - n)[len(sure) - n]
    above = sure > least
    rest = n - int(above.sum())
    return float(right[above].sum() + rest * right[sure == least].mean()) / n


def _deviation(right: Flags, subjects: Codes | None) -> float:
    apart = right - right.mean()
    sums = apart if subjects is None else np.bincount(subjects, apart)
    return float(np.sqrt(np.sum(sums**2)) / len(right))
