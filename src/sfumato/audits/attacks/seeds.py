"""Seed search: small numbers are tried until one makes the order of the published lines.

A seed replaces secret chance. Lines of a group are shuffled by keyed words of their rows'
numbers in the owner's table (forms/form.py). Whoever has files that show quasi-identifiers exactly,
and knows the order of the table, tries seeds one after the other: a wrong one makes the order of a
few dozen lines as good as never. With the right one all shuffles can be undone. Lines of boxes do
not show whose they are, so that this attack has nothing to compare there.

A short seed is stated in release.json; this attack finds out whether one was used. Seeds of 128
bits and more cannot be tried.

As a control, the like of the release is made with secret chance, and nothing may be found.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from sfumato.audits.attacks.frame import KnownPeople
from sfumato.audits.attacks.positions import lines_of
from sfumato.audits.breach.view import View
from sfumato.core._kernels import shuffle_groups
from sfumato.core.arrays import Counts, Ints
from sfumato.core.randomness import Randomness
from sfumato.forms.form import ROWS
from sfumato.forms.registry import Release

_BITS = 48.0  # of chance that are compared: a wrong seed passes once in 2**48
_LOOK = 256  # seeds between two looks at the clock


class Ordered(NamedTuple):
    """Numbers of the rows of some groups, ascending in each, and whose lines are where.

    ``points`` are the quasi-identifiers of these rows, ``lines`` those of the published lines.
    """

    numbers: Counts
    starts: Counts
    points: Ints
    lines: Ints

    @property
    def bits(self) -> float:
        """How much chance there is in the order, if nobody is alike."""
        return _bits(np.diff(self.starts))


class Searched(NamedTuple):
    """The seed, if one was found, and how many were tried."""

    seed: int | None
    tried: int


def ordered_lines(release: Release, view: View, people: KnownPeople) -> Ordered | None:
    """Groups of which everybody is known to be in them; None where lines do not show who is.

    As few groups as are enough. Somebody who has a double in another group is in one of both.
    """
    seen = lines_of(release, view, people)
    if seen is None or seen.groups is None:
        return None
    _, points = np.unique(people.quasi_codes(), axis=0, return_inverse=True)
    chosen = _closed(points.ravel(), seen.groups)
    rows = np.flatnonzero(np.isin(seen.groups, chosen))
    rows = rows[np.argsort(seen.groups[rows], kind="stable")]
    sizes = np.bincount(seen.groups[rows], minlength=int(seen.groups.max()) + 1)[chosen]
    by_line = rows[np.lexsort((seen.order[rows], seen.groups[rows]))]
    starts = np.append(0, np.cumsum(sizes))
    found = Ordered(rows, starts, points.ravel()[rows], points.ravel()[by_line])
    return found if found.bits >= _BITS / 2 else None


def searched(
    order: Ordered,
    seeds: Iterable[int],
    seconds: float,
    clock: Callable[[], float] = time.monotonic,
) -> Searched:
    """Try seeds until one makes the order of the lines, or time is over."""
    began, tried = clock(), 0
    places = np.arange(len(order.numbers), dtype=np.int32)
    for seed in seeds:
        if tried % _LOOK == 0 and clock() - began > seconds:
            break
        tried += 1
        shuffled = places.copy()
        words = Randomness(seed).key(ROWS).half_words(order.numbers)
        shuffle_groups(shuffled, order.starts, words)
        if (order.points[shuffled] == order.lines).all():
            return Searched(seed, tried)
    return Searched(None, tried)


def _closed(points: Ints, groups: Ints) -> Ints:
    """Ascending numbers of groups without anybody who has a double elsewhere, until enough."""
    n_groups = int(groups.max(initial=-1)) + 1
    homes = np.unique(points * np.int64(n_groups + 1) + groups + 1)
    doubled = np.bincount(homes // (n_groups + 1), minlength=int(points.max()) + 1) > 1
    open_groups = np.unique(groups[doubled[points]])
    left = np.setdiff1d(np.unique(groups[groups >= 0]), open_groups)
    sizes = np.bincount(groups[groups >= 0], minlength=n_groups)[left]
    enough = np.cumsum([_bits(np.array([size])) for size in sizes.tolist()]) < _BITS
    return left[: int(enough.sum()) + 1]


def _bits(sizes: Ints) -> float:
    return float(sum(np.log2(np.arange(1, size + 1)).sum() for size in sizes.tolist()))
