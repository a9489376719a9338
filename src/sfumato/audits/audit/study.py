"""Whom a learner has studied before it attacks, and whom it is judged by.

Other people of the same population are best. Without them the learner is given half of the true
table and guesses the other half: somebody who knows as much about the population as its owner.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sfumato.audits.attacks.frame import Candidates
from sfumato.audits.attacks.outside import Studied, studied
from sfumato.core.arrays import Codes, Flags, Ints
from sfumato.core.microdata import Microdata
from sfumato.errors import DataError, SfumatoWarning

_SAME = 0.9  # of all who have a twin: then they are taken for people of the table
_ENOUGH, _DEVIATIONS = 20, 4


@dataclass(frozen=True, slots=True, eq=False)
class Study:
    """What is studied; ``judged`` are the people whose guesses count, None for all of them."""

    known: Studied
    judged: Flags | None
    words: str

    @classmethod
    def of_others(cls, shown: Candidates, truth: Codes, others: Microdata) -> Study:
        """Other people; those who seem to be in the true table, too, are left out."""
        assert shown.values.attribute is not None
        found = studied(shown, others, shown.values.attribute.name)
        people = Studied(shown.points[shown.person_points], truth)
        alike = shared(found, people, shown)
        if alike.any():
            warnings.warn(
                f"{int(alike.sum()):,} of {len(alike):,} others seem to be people of the true "
                "table, so they are left out: whoever knows them has no need to guess",
                SfumatoWarning,
                stacklevel=4,
            )
            found = Studied(found.points[~alike], found.values[~alike])
        if not len(found.values):
            raise DataError(
                "nobody is left to study: the others share no values with the published table, or "
                "are all in it"
            )
        return cls(found, None, f"{len(found.values):,} other people")

    @classmethod
    def of_rest(
        cls, shown: Candidates, truth: Codes, rest: Flags, others: Microdata | None
    ) -> Study:
        """Other people, or without them the ``rest`` of the table."""
        if others is not None:
            return cls.of_others(shown, truth, others)
        points = shown.points[shown.person_points[rest]]
        return cls(Studied(points, truth[rest]), ~rest, "all others of the table")

    @classmethod
    def of_half(cls, shown: Candidates, truth: Codes, seed: int) -> Study:
        """Half of the table itself."""
        judged = np.random.default_rng(seed).permutation(len(truth)) < -(-len(truth) // 2)
        others = ~judged & (truth >= 0)  # values of people who are left out may occur nowhere
        points = shown.points[shown.person_points[others]]
        return cls(Studied(points, truth[others]), judged, "half of the table")


def shared(others: Studied, people: Studied, shown: Candidates) -> Flags:
    """Which of the others are people of the table, as many as seem to be.

    In a low number of dimensions strangers look alike, and often have the same value. How often, is
    seen in the table itself: one half of its people are strangers to those who are alone with their
    quasi-identifiers in the other half. Where the others agree with these more often than strangers
    do, beyond chance, the rest of their agreement is that of people with themselves. So many are
    left out of those who have a twin, values included, and all who have if that is nearly the same.
    """
    sizes = [one.size for one in shown.quasi]
    here, there = _numbered(people.points, others.points, sizes)
    random = np.random.default_rng(0)
    half = random.random(len(here)) < 1 / 2
    met = strangers = _Met(0, 0)
    alone = 0
    for inside in (half, ~half):
        only = _alone(here[inside])
        known = here[inside][only], people.values[inside][only]
        alone += int(only.sum())
        met = met.and_more(_met(there, others.values, *known))
        strangers = strangers.and_more(_met(here[~inside], people.values[~inside], *known))
    width = shown.n_values + 1
    twins = _twins(there * width + others.values, here * width + people.values)
    same = met.times * _beyond(met, strangers) * len(here) / max(alone, 1)
    if same < _SAME * twins.sum():
        twins[random.permutation(np.flatnonzero(twins))[round(same) :]] = False
    return twins


class _Met(NamedTuple):
    """How often somebody has the quasi-identifiers of a known person, and the value as well."""

    times: int
    agreeing: int

    def and_more(self, other: _Met) -> _Met:
        return _Met(self.times + other.times, self.agreeing + other.agreeing)


def _met(numbers: Ints, values: Ints, known: Ints, their_values: Ints) -> _Met:
    order = np.argsort(known)
    place = np.minimum(np.searchsorted(known[order], numbers), max(len(known) - 1, 0))
    if not len(known):
        return _Met(0, 0)
    found = known[order][place] == numbers
    agreeing = found & (their_values[order][place] == values)
    return _Met(int(found.sum()), int(agreeing.sum()))


def _beyond(met: _Met, strangers: _Met) -> float:
    """The share of those met who are nobody else, if it is more than chance; 0 if not."""
    if met.times < _ENOUGH:
        return 0.0
    usual = (strangers.agreeing + 1) / (strangers.times + 2)
    noise = np.sqrt(usual * (1 - usual) * (1 / met.times + 1 / (strangers.times + 2)))
    more = met.agreeing / met.times - usual
    return float(more / (1 - usual)) if more > _DEVIATIONS * noise else 0.0


def _numbered(first: Codes, second: Codes, sizes: list[int]) -> tuple[Ints, Ints]:
    """Equal lines of both have equal numbers."""
    both = np.concatenate([first, second])
    numbers = np.zeros(len(both), np.int64)
    for column, size in zip(both.T, sizes, strict=True):
        _, numbers = np.unique(numbers * (size + 1) + column, return_inverse=True)
    return numbers[: len(first)], numbers[len(first) :]


def _alone(numbers: Ints) -> Flags:
    _, places, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    alone: Flags = counts[places] == 1
    return alone


def _twins(numbers: Ints, others: Ints) -> Flags:
    """Which have a twin among the others, one each."""
    order = np.argsort(numbers, kind="stable")
    values, starts, counts = np.unique(numbers[order], return_index=True, return_counts=True)
    theirs, amounts = np.unique(others, return_counts=True)
    place = np.minimum(np.searchsorted(theirs, values), len(theirs) - 1)
    most = np.where(theirs[place] == values, amounts[place], 0)
    rank = np.arange(len(numbers)) - np.repeat(starts, counts)
    found = np.zeros(len(numbers), np.bool_)
    found[order] = rank < np.repeat(most, counts)
    return found
