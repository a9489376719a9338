"""The outside learner: somebody who has studied other people of the same population.

Whoever has another sample (a census, last year's survey, the next hospital) knows how likely each
value is for somebody with certain quasi-identifiers. That alone is the *baseline*, and no release
is to blame for it. With the release, the learner knows which values a group has to hand out, and
hands them out as likely as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sfumato.audits.attacks.frame import Candidates
from sfumato.audits.attacks.matching import (
    AT_ONCE,
    Guesses,
    Knowledge,
    likeliest,
    pins,
    posterior,
    scored,
)
from sfumato.audits.breach.everybody import translated
from sfumato.core.arrays import Codes, Floats, Ints
from sfumato.core.microdata import Microdata
from sfumato.errors import SchemaError


@dataclass(frozen=True, slots=True)
class Outside:
    """An attacker with what a learner knows, or, without, one who takes all ways for alike."""

    knowledge: Knowledge | None = None

    def guess(self, candidates: Candidates, known: Ints | None = None) -> Guesses:
        """The likeliest value of everybody; ``known`` are values of some persons, -1 for others."""
        scores = pins(candidates, known)
        if self.knowledge is not None:
            scores += scored(candidates, self.knowledge)
        return likeliest(candidates, posterior(candidates, scores))


class Studied(NamedTuple):
    """Other people's quasi-identifiers and values, in the codes of the candidates."""

    points: Codes
    values: Codes


def studied(candidates: Candidates, others: Microdata, sensitive: str) -> Studied:
    """Other people as the attacker can use them: those with values that occur here."""
    attribute = candidates.values.attribute
    assert attribute is not None
    for name in (*(one.name for one in candidates.quasi), sensitive):
        if name not in others.codes:
            raise SchemaError(
                f"the others have no column {name!r} to study; they need the quasi-identifiers "
                "and the sensitive column of the table",
                column=name,
            )
    columns = [
        translated(others.attributes[one.name], one)[others.codes[one.name]]
        for one in candidates.quasi
    ]
    values = translated(others.attributes[sensitive], attribute)[others.codes[sensitive]]
    points = np.stack(columns, axis=1)
    usable = (values >= 0) & (points >= 0).all(axis=1)
    return Studied(points[usable], values[usable])


def without_release(candidates: Candidates, knowledge: Knowledge) -> Guesses:
    """What the same learner guesses of the same people if nothing is published."""
    n = len(candidates.points)
    values, chances = np.empty(n, np.int32), np.empty(n)
    for low in range(0, n, AT_ONCE):
        here = normalized(knowledge.log_chances(candidates.points[low : low + AT_ONCE]))
        values[low : low + AT_ONCE] = here.argmax(axis=1)
        chances[low : low + AT_ONCE] = here.max(axis=1)
    return Guesses(values[candidates.person_points], chances[candidates.person_points])


def normalized(logarithms: Floats) -> Floats:
    """Chances that add up to 1 in every line."""
    chances: Floats = np.exp(logarithms - logarithms.max(axis=1, keepdims=True))
    chances /= chances.sum(axis=1, keepdims=True)
    return chances
