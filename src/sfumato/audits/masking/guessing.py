"""What people's nearest rows say of their sensitive values: it need not be known whose they are.

Whoever knows a person's quasi-identifiers takes the commonest value of the nearest rows. The more a
mask blurs, the more rows have to be asked; how many are best is seen on people whose values are
known.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from sfumato.audits.attacks.frame import KnownPeople
from sfumato.audits.attacks.matching import Guesses
from sfumato.audits.masking.distances import distances, people_among, side_of, sides_of
from sfumato.core.arrays import Codes, Floats, Ints
from sfumato.core.microdata import Microdata
from sfumato.forms.masked.release import MaskedTable

NEIGHBOURS = (1, 3, 10, 30, 100)
_DIGITS = 9


class Values(NamedTuple):
    """A column in codes of what rows show: of every row, and of every person, -1 for no such."""

    shown: Codes
    true: Codes


def values_of(release: MaskedTable, table: Microdata, name: str) -> Values:
    """For the owner, who knows what is true."""
    column = next(one for one in release.manifest.columns if one.name == name)
    side = side_of(release, table, column)
    every, shown = np.unique(np.round(side.shown, _DIGITS), return_inverse=True)
    true = np.round(side.true, _DIGITS)
    place = np.minimum(np.searchsorted(every, true), len(every) - 1)
    codes = np.where(every[place] == true, place, -1)
    return Values(shown.astype(np.int32), codes.astype(np.int32))


def guessed(release: MaskedTable, people: KnownPeople, shown: Codes, some: Ints) -> list[Guesses]:
    """The commonest value of the nearest rows, for each number of rows that may be asked."""
    numbers = [min(n, len(shown)) for n in NEIGHBOURS]
    parts = zip(*_chunks(release, people, shown, some, numbers), strict=True)
    return [
        Guesses(
            np.concatenate([one.values for one in chunks]),
            np.concatenate([one.confidence for one in chunks]),
        )
        for chunks in parts
    ]


def _chunks(
    release: MaskedTable, people: KnownPeople, shown: Codes, some: Ints, numbers: list[int]
) -> Iterator[list[Guesses]]:
    most = max(numbers)
    for _, apart in distances(sides_of(release, people), some):
        near = np.argpartition(apart, most - 1, axis=1)[:, :most]
        order = np.take_along_axis(apart, near, axis=1).argsort(axis=1, kind="stable")
        values = shown[np.take_along_axis(near, order, axis=1)]
        yield [_commonest(values[:, :n]) for n in numbers]


def _commonest(values: Codes) -> Guesses:
    """Of each line the commonest value, of those as common the first, and its share."""
    times: Floats = (values[:, :, None] == values[:, None, :]).mean(axis=2)
    best = times.argmax(axis=1)
    lines = np.arange(len(values))
    return Guesses(values[lines, best], times[lines, best])


def looked_for(rows: int, seed: int) -> Ints:
    """Some people at random."""
    found: Ints = np.random.default_rng(seed).permutation(rows)[: people_among(rows)]
    return found
