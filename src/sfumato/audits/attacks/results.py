"""How well an attacker did: against the truth, the baseline, the control and the promise.

The *control* is the whole attack on a release of the same table with its sensitive column shuffled:
nothing goes with anything there, so nobody can do better than the promise says, and an attack that
does is broken (it has seen what it must not see).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from sfumato.audits.attacks.frame import Candidates
from sfumato.audits.attacks.matching import Guesses
from sfumato.audits.attacks.outside import Outside
from sfumato.audits.breach.everybody import translated
from sfumato.core.arrays import Codes, Flags, Ints
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
        first = np.argsort(-confidence, kind="stable")[: max(1, int(_SUREST * len(chosen)))]
        return cls(
            n=len(chosen),
            right=float(right.mean()),
            surest=float(right[first].mean()),
            claimed=float((confidence > _CLAIMED).mean()),
            noise=_deviation(right, None if subjects is None else subjects[chosen]),
        )


@dataclass(frozen=True, slots=True)
class Outcome:
    """An attack on a release, and on its control.

    ``bound`` is the promised chance. ``chance`` is what the control has to come out at: the bound,
    or, where some people's values are known, what follows from these alone.
    """

    attacker: Accuracy
    control: Accuracy
    baseline: float
    bound: float
    chance: float

    @property
    def valid(self) -> bool:
        """Whether the control does no better than chance, up to noise: else nothing is proved."""
        return self.control.right <= self.chance + _DEVIATIONS * self.control.noise

    @property
    def gain(self) -> float:
        """How many times better than what is promised, or known without the release."""
        return self.attacker.right / max(self.bound, self.baseline)


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """People as they are shown to attackers, and the same people with shuffled values."""

    shown: Candidates
    truth: Codes
    mixed: Candidates
    mixed_truth: Codes

    @classmethod
    def of(cls, people: Microdata, show: Callable[[Microdata], Candidates], seed: int = 0) -> Trial:
        """``show`` publishes a table and says what can be told from it."""
        mixed = shuffled(people, seed)
        shown, control = show(people), show(mixed)
        return cls(shown, true_values(shown, people), control, true_values(control, mixed))

    def outcome(
        self, attack: Attack, *, baseline: float, bound: float, known: Flags | None = None
    ) -> Outcome:
        """Attack both; the values of ``known`` people are told, and not counted."""
        chance = bound
        if known is not None:
            chance = _attacked(Outside(), self.mixed, self.mixed_truth, known).right
        return Outcome(
            _attacked(attack, self.shown, self.truth, known),
            _attacked(attack, self.mixed, self.mixed_truth, known),
            baseline,
            bound,
            chance,
        )


def shuffled(people: Microdata, seed: int) -> Microdata:
    """The table with its sensitive columns shuffled, so that they go with nothing."""
    random = np.random.default_rng(seed)
    mixed = {name: random.permutation(people.codes[name]) for name in people.schema.sensitive}
    return replace(people, codes={**people.codes, **mixed})


def true_values(candidates: Candidates, people: Microdata) -> Codes:
    """Everybody's value in the codes of the candidates."""
    published = candidates.values.attribute
    assert published is not None
    name = published.name
    return translated(people.attributes[name], published)[people.codes[name]]


def _attacked(
    attack: Attack, candidates: Candidates, truth: Codes, known: Flags | None
) -> Accuracy:
    if known is None:
        return Accuracy.of(attack.guess(candidates), truth, subjects=candidates.subjects)
    told = attack.guess(candidates, np.where(known, truth, -1))
    return Accuracy.of(told, truth, ~known, subjects=candidates.subjects)


def _deviation(right: Flags, subjects: Codes | None) -> float:
    apart = right - right.mean()
    sums = apart if subjects is None else np.bincount(subjects, apart)
    return float(np.sqrt(np.sum(sums**2)) / len(right))
