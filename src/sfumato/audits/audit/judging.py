"""Let attackers loose on what the public can tell of people, and judge them by the truth."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from sfumato.algorithms.base import Stages, silent
from sfumato.audits.attacks.outside import Outside, without_release
from sfumato.audits.attacks.results import Accuracy, Outcome, Scene, Trial
from sfumato.audits.audit.attackers import Attacker, attackers, learnt
from sfumato.audits.audit.findings import Audit, Finding
from sfumato.audits.audit.study import Study
from sfumato.audits.defaults import KNOWN, TIME_LIMIT
from sfumato.core.microdata import Microdata
from sfumato.errors import DataError, ParameterError
from sfumato.io.hints import did_you_mean

_LEAST = 100  # people; of fewer nothing can be stated


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """What is attacked.

    ``control`` makes the like of it of a table that is shuffled by a seed, if that can be done.
    ``bound`` is the promised chance of a right guess, None if no such thing is promised. There may
    be ``more`` attackers than those that need nothing but what is shown.
    """

    name: str
    sensitive: str
    shown: Scene
    control: Callable[[int], Scene | None]
    bound: float | None
    more: Sequence[Attacker] = ()


@dataclass(slots=True)
class Wish:
    """How it is attacked; ``audit`` says what the fields mean."""

    known: float = KNOWN
    attacks: Collection[str] | None = None
    control: bool = True
    time_limit: float | None = TIME_LIMIT
    seed: int | None = None
    progress: Stages | None = None
    began: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        if not 0 <= self.known < 1:
            raise ParameterError(
                f"known is a share of people below 1, not {self.known}", parameter="known"
            )

    @property
    def tell(self) -> Stages:
        """Who hears of progress."""
        return self.progress or silent

    @property
    def is_over(self) -> bool:
        """Whether no further attack is to begin."""
        limit = self.time_limit
        return limit is not None and time.monotonic() - self.began > limit

    def chosen(self, every: list[Attacker]) -> list[Attacker]:
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
    seed = secrets.randbelow(2**31) if wish.seed is None else wish.seed
    study = _study(shown, others, seed)
    bayes = learnt(shown.candidates, study)
    every = wish.chosen([*attackers(shown.candidates, study, bayes, wish.known, seed), *case.more])
    mixed = None
    if wish.control:
        wish.tell("shuffling a table for control", 0.0)
        mixed = case.control(seed)
    trial = Trial(shown, mixed, study.judged)
    alone = without_release(shown.candidates, bayes)
    baseline = Accuracy.of(alone, shown.truth, study.judged).right
    bound = case.bound
    if bound is None:
        bound = shown.attacked(Outside(), judged=study.judged).right
    findings, not_run = list[Finding](), dict[str, str]()
    for place, one in enumerate(every):
        if wish.is_over:
            not_run[one.name] = f"the time limit of {wish.time_limit:g} seconds was over"
            continue
        wish.tell(f"attacking: {one.name}", place / len(every))
        start = time.monotonic()
        outcome = _outcome(trial, one, baseline, bound)
        findings.append(Finding(one.name, one.who, outcome, time.monotonic() - start))
    return Audit(
        case.name, case.sensitive, len(shown.truth), bound, case.bound is not None, baseline,
        study.words, tuple(findings), not_run, seed,
    )  # fmt: skip


def _outcome(trial: Trial, one: Attacker, baseline: float, bound: float) -> Outcome:
    other = one.on_control() if one.on_control and trial.mixed else None
    return trial.outcome(
        one.make(), baseline=baseline, bound=bound, known=one.known, on_control=other
    )


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
