"""The attackers of an audit: who they are, and what they are told."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np

from sfumato.audits.attacks.boosting import Boosting
from sfumato.audits.attacks.definetti import DeFinetti
from sfumato.audits.attacks.frame import Candidates
from sfumato.audits.attacks.linkage import Nearest
from sfumato.audits.attacks.matching import Knowledge
from sfumato.audits.attacks.naive_bayes import NaiveBayes
from sfumato.audits.attacks.outside import Outside
from sfumato.audits.attacks.results import Attack, Outcome
from sfumato.audits.audit.findings import PROMISED
from sfumato.audits.audit.study import Study
from sfumato.core.arrays import Flags


@dataclass(frozen=True, slots=True, eq=False)
class Attacker:
    """One of them: ``make`` is called when it is its turn. ``known`` people's values are told.

    What an attacker has besides the release may have to be another thing ``on_control``.
    """

    name: str
    who: str
    make: Callable[[], Attack]
    known: Flags | None = None
    on_control: Callable[[], Attack] | None = None


class NotApplicable(Exception):
    """Why an attack cannot be made on what there is."""


@dataclass(frozen=True, slots=True, eq=False)
class Probe:
    """An attacker who does something else than guessing from candidates.

    ``made`` is given a seed and the seconds that are left, and is its own judge. Of a thing that it
    does or not, ``fails`` says the latter.
    """

    name: str
    who: str
    does: str
    made: Callable[[int, float], Outcome]
    fails: str | None = None
    bound_is: str = PROMISED


def attackers(
    shown: Candidates, study: Study, bayes: Knowledge, known: Sequence[float], seed: int
) -> Iterator[Attacker]:
    """All that need nothing but a release, what is studied, and perhaps some people's values."""
    yield Attacker("reader", "takes all ways to hand out a group's values for alike", Outside)
    yield Attacker("deFinetti", "learns from the release alone what goes with what", DeFinetti)
    yield Attacker(
        "logistic deFinetti",
        "learns from the release alone what goes with what, by logistic regression",
        DeFinetti.by_regression,
    )
    yield Attacker(
        "nearest",
        "links people to the published lines that are nearest",
        lambda: Nearest(seed=seed),
    )
    yield Attacker("learner", f"has studied {study.words}", lambda: Outside(bayes))
    yield Attacker(
        "studied deFinetti",
        f"has studied {study.words}, and goes on with the release",
        lambda: DeFinetti(studied=study.known),
    )
    for place, share in enumerate(known):
        random = np.random.default_rng([seed, 1 + place])
        people = random.random(len(shown.subjects)) < share
        name = "corruption" if len(known) == 1 else f"corruption {100 * share:.3g}%"
        told = f"knows the values of {100 * share:.3g}% of all people"
        yield Attacker(name, told, Outside, people)
        yield Attacker(
            f"{name}, deFinetti", f"{told}, and learns from the release", DeFinetti, people
        )
        yield Attacker(
            f"{name}, learner",
            f"{told}, and has studied {study.words}",
            lambda: Outside(bayes),
            people,
        )


def slow_attackers(shown: Candidates, study: Study) -> Iterator[Attacker]:
    """Those who take longer than all others together, and come when time is left."""
    if find_spec("sklearn"):
        yield Attacker(
            "boosting",
            f"has studied {study.words} with gradient boosting",
            lambda: Outside(boosted(shown, study)),
        )


def learnt(shown: Candidates, study: Study) -> Knowledge:
    """What naive Bayes makes of what is studied."""
    return NaiveBayes().learn(shown.quasi, *study.known, shown.n_values)


def boosted(shown: Candidates, study: Study) -> Knowledge:
    """What gradient boosting makes of it."""
    return Boosting().learn(shown.quasi, *study.known, shown.n_values)
