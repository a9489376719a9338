"""Let attackers loose on what the public can tell of people, and judge them by the truth."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import TypeVar

from sfumato.algorithms.base import Stages, silent
from sfumato.audits.attacks.outside import Outside, without_release
from sfumato.audits.attacks.results import Accuracy, Outcome, Scene, Trial
from sfumato.audits.audit.attackers import (
    Attacker,
    NotApplicable,
    Probe,
    attackers,
    learnt,
    slow_attackers,
)
from sfumato.audits.audit.findings import PROMISED, READ, Audit, Finding
from sfumato.audits.audit.study import Study
from sfumato.audits.defaults import KNOWN, TIME_LIMIT
from sfumato.core.microdata import Microdata
from sfumato.errors import DataError, ParameterError
from sfumato.io.hints import did_you_mean

_One = TypeVar("_One", bound=Attacker | Probe)
_LEAST = 100  # people; of fewer nothing can be stated


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """What is attacked.

    ``control`` makes the like of it of a table that is shuffled by a seed, if that can be done.
    ``bound`` is the promised chance of a right guess, None if no such thing is promised. There may
    be ``more`` attackers than those that need nothing but what is shown, and ``probes`` that do
    not guess from it.
    """

    name: str
    sensitive: str
    shown: Scene
    control: Callable[[int], Scene | None]
    bound: float | None
    more: Sequence[Attacker] = ()
    probes: Sequence[Probe] = ()


@dataclass(slots=True)
class Wish:
    """How it is attacked; ``audit`` says what the fields mean."""

    known: float | Sequence[float] = KNOWN
    attacks: Collection[str] | None = None
    control: bool = True
    time_limit: float | None = TIME_LIMIT
    seed: int | None = None
    progress: Stages | None = None
    began: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        for share in self.shares:
            if not 0 < share < 1:
                raise ParameterError(
                    f"known is a share of people, from 0 to below 1, not {share}",
                    parameter="known",
                )

    @property
    def shares(self) -> tuple[float, ...]:
        """Of how many people attackers know the values, each once; nobody's is left out."""
        known = [self.known] if isinstance(self.known, int | float) else self.known
        return tuple(dict.fromkeys(share for share in known if share))

    @property
    def tell(self) -> Stages:
        """Who hears of progress."""
        return self.progress or silent

    @property
    def is_over(self) -> bool:
        """Whether no further attack is to begin."""
        limit = self.time_limit
        return limit is not None and time.monotonic() - self.began > limit

    @property
    def left(self) -> float:
        """For how many seconds an attack may go on."""
        limit = self.time_limit
        return inf if limit is None else max(1.0, limit - (time.monotonic() - self.began))

    def chosen(self, every: Sequence[_One]) -> Sequence[_One]:
        """The attackers that are asked for."""
        if self.attacks is None:
            return every
        known = [one.name for one in every]
        for name in self.attacks:
            if name not in known:
                hint = did_you_mean(name, known) or f"known: {', '.join(known)}"
                raise ParameterError(f"no attack {name!r}; {hint}", parameter="attacks")
        return [one for one in every if one.name in self.attacks]


def judged(case: Case, others: Microdata | None, wish: Wish) -> Audit:
    """Every attack that is asked for."""
    shown = case.shown
    _require_enough(len(shown.truth))
    seed = _seed(wish)
    study = _study(shown, others, seed)
    bayes = learnt(shown.candidates, study)
    plain = attackers(shown.candidates, study, bayes, wish.shares, seed)
    slow = slow_attackers(shown.candidates, study)
    known: list[Attacker | Probe] = [*plain, *case.more, *case.probes, *slow]
    every = wish.chosen(known)
    mixed = None
    if wish.control and any(isinstance(one, Attacker) for one in every):
        wish.tell("shuffling a table for control", 0.0)
        mixed = case.control(seed)
    trial = Trial(shown, mixed, study.judged)
    alone = without_release(shown.candidates, bayes)
    baseline = Accuracy.of(alone, shown.truth, study.judged).right
    bound = case.bound
    if bound is None:
        bound = shown.attacked(Outside(), judged=study.judged).right

    def outcome(one: Attacker | Probe) -> Outcome:
        if isinstance(one, Probe):
            return one.made(seed, wish.left)
        return _outcome(trial, one, baseline, bound, promised=case.bound is not None)

    findings, not_run = _found(every, outcome, wish, PROMISED if case.bound is not None else READ)
    return Audit(
        case.name, case.sensitive, len(shown.truth), bound, case.bound is not None, baseline,
        study.words, findings, not_run, seed,
    )  # fmt: skip


def probed(name: str, people: int, probes: Sequence[Probe], why: str, wish: Wish) -> Audit:
    """What is left where no value can be guessed, and ``why`` it cannot."""
    _require_enough(people)
    seed = _seed(wish)
    findings, not_run = _found(wish.chosen(probes), lambda one: one.made(seed, wish.left), wish)
    return Audit(
        name, None, people, 0.0, True, 0.0, "nobody", findings,
        {"guessing values": why, **not_run}, seed,
    )  # fmt: skip


def _found(
    every: Sequence[_One],
    outcome: Callable[[_One], Outcome],
    wish: Wish,
    bound_is: str = PROMISED,
) -> tuple[tuple[Finding, ...], dict[str, str]]:
    """What came of attacks, and why others were not made."""
    findings, not_run = list[Finding](), dict[str, str]()
    for place, one in enumerate(every):
        if wish.is_over:
            not_run[one.name] = f"the time limit of {wish.time_limit:g} seconds was over"
            continue
        wish.tell(f"attacking: {one.name}", place / len(every))
        start = time.monotonic()
        try:
            came = outcome(one)
        except NotApplicable as reason:
            not_run[one.name] = str(reason)
            continue
        spent = time.monotonic() - start
        if isinstance(one, Probe):
            findings.append(
                Finding(one.name, one.who, came, spent, one.does, one.bound_is, one.fails)
            )
        else:
            findings.append(Finding(one.name, one.who, came, spent, bound_is=bound_is))
    return tuple(findings), not_run


def _seed(wish: Wish) -> int:
    return secrets.randbelow(2**31) if wish.seed is None else wish.seed


def _outcome(
    trial: Trial, one: Attacker, baseline: float, bound: float, *, promised: bool
) -> Outcome:
    other = one.on_control() if one.on_control and trial.mixed else None
    return trial.outcome(
        one.make(), baseline=baseline, bound=bound, known=one.known, on_control=other,
        promised=promised,
    )  # fmt: skip


def _study(shown: Scene, others: Microdata | None, seed: int) -> Study:
    if others is None:
        return Study.of_half(shown.candidates, shown.truth, seed)
    return Study.of_others(shown.candidates, shown.truth, others)


def _require_enough(people: int) -> None:
    if people < _LEAST:
        raise DataError(
            f"{people:,} people are too few to say how often somebody guesses right; "
            f"{_LEAST} are needed"
        )
