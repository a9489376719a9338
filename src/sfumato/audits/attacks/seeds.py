"""Seed search: small numbers are tried until one makes the order of what is published.

A seed replaces secret chance, and everything that chance was to hide stands in an order that it
makes. Whoever has the files, and knows the order of the owner's table, tries seeds one after the
other: a wrong one makes the order of a few dozen lines or groups as good as never. Three orders:

- *lines*: where lines of a group show whose they are, they stand in the order of keyed words of
  their rows' numbers (forms/form.py);
- *boxes*: groups of boxes stand in the order of keyed words of the boxes themselves, for which
  nothing but the files is needed (forms/generalized/blocks.py);
- *rows*: a perturbed table is shuffled as a whole, and shows whose rows are whose.

With the right seed all shuffles can be undone, and so can the noise. A masked table is shuffled
after its noise was drawn, and cannot be compared before that is known; nor do the groups of a join
tell in which order they were found.

A short seed is stated in release.json; this attack finds out whether one was used. Seeds of 128
bits and more cannot be tried.

As a control, the like of the release is made with secret chance, and nothing may be found.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from sfumato.audits.attacks.frame import KnownPeople
from sfumato.audits.attacks.noise import alike
from sfumato.audits.attacks.positions import lines_of
from sfumato.audits.breach.everybody import translated
from sfumato.audits.breach.view import View
from sfumato.core._kernels import shuffle_groups
from sfumato.core.arrays import Codes, Counts, Ints
from sfumato.core.attribute import Attribute
from sfumato.core.boxes import Boxes, Cells, Nodes, Ranges, Side, ValueSets
from sfumato.core.randomness import Randomness
from sfumato.core.schema import Role
from sfumato.forms.form import GROUPS, ROWS
from sfumato.forms.generalized.release import group_words
from sfumato.forms.reading import read_boxes
from sfumato.forms.registry import Release, form_of

_BITS = 48.0  # of chance that are compared: a wrong seed passes once in 2**48
_LOOK = 256  # seeds between two looks at the clock
_BOXES = 24  # whose order no wrong seed makes
_FIRST = 4  # rows that are looked for before all are put in order


class Order(Protocol):
    """An order that chance has made."""

    @property
    def bits(self) -> float:
        """How much chance there is in it."""
        ...

    def fits(self, randomness: Randomness) -> bool:
        """Whether this is the chance that has made it."""
        ...


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

    def fits(self, randomness: Randomness) -> bool:
        """Whether rows of these numbers are shuffled to where the lines are."""
        shuffled = np.arange(len(self.numbers), dtype=np.int32)
        shuffle_groups(shuffled, self.starts, randomness.key(ROWS).half_words(self.numbers))
        return bool((self.points[shuffled] == self.lines).all())


class OrderedBoxes(NamedTuple):
    """Some boxes as they follow each other, in the codes of the owner's table."""

    boxes: Boxes
    groups: pa.Table
    means: tuple[str, ...]

    @property
    def bits(self) -> float:
        """All boxes are different."""
        return _bits(np.array([self.groups.num_rows]))

    def fits(self, randomness: Randomness) -> bool:
        """Whether their words ascend."""
        words = group_words(self.boxes, self.groups, self.means, randomness.key(GROUPS))
        return bool((words[:-1] <= words[1:]).all())


class OrderedRows(NamedTuple):
    """The quasi-identifiers of all rows of the owner's table, and of all published ones."""

    points: Ints
    lines: Ints

    @property
    def bits(self) -> float:
        """At least that of people who differ."""
        return _bits(np.array([len(np.unique(self.points))]))

    def fits(self, randomness: Randomness) -> bool:
        """Whether rows are shuffled as a whole to where the lines are."""
        words = randomness.words(len(self.points))
        for row in range(_FIRST):
            if self.lines[np.count_nonzero(words < words[row])] != self.points[row]:
                return False
        return bool((self.points[np.argsort(words, kind="stable")] == self.lines).all())


class Searched(NamedTuple):
    """The seed, if one was found, and how many were tried."""

    seed: int | None
    tried: int


def order_of(release: Release, people: KnownPeople, sensitive: str | None) -> Order | None:
    """What seeds can be held against; None where too little of an order is to be seen."""
    form = form_of(release)
    found: Order | None
    if not form.grouped:
        found = OrderedRows(*alike(release.tables[0], people))
    elif form.boxes:
        found = ordered_boxes(release, people)
    else:
        found = ordered_lines(release, View.of(release, sensitive), people)
    return found if found is not None and found.bits >= _BITS / 2 else None


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
    return Ordered(rows, starts, points.ravel()[rows], points.ravel()[by_line])


def ordered_boxes(release: Any, people: KnownPeople) -> OrderedBoxes:
    """The first boxes of a generalized release."""
    columns = release.manifest.of_role(Role.QUASI)
    groups = release.groups.slice(0, _BOXES)
    own = Boxes(
        tuple(
            _in_codes_of(people.attributes[side.attribute.name], side)
            for side in read_boxes(columns, groups)
        )
    )
    means = tuple(one.name for one in columns if f"{one.name}_mean" in one.columns)
    return OrderedBoxes(own, groups, means)


def searched(
    order: Order,
    seeds: Iterable[int],
    seconds: float,
    clock: Callable[[], float] = time.monotonic,
) -> Searched:
    """Try seeds until one makes the order that is published, or time is over."""
    began, tried = clock(), 0
    for seed in seeds:
        if tried % _LOOK == 0 and clock() - began > seconds:
            break
        tried += 1
        if order.fits(Randomness(seed)):
            return Searched(seed, tried)
    return Searched(None, tried)


def _in_codes_of(attribute: Attribute, side: Side) -> Side:
    """The same side, its values in the codes of the owner's table; nodes have their own."""
    if isinstance(side, Nodes):
        return side
    codes = translated(side.attribute, attribute)

    def own(shown: Codes) -> Codes:
        return np.where(shown < 0, -1, codes[shown]).astype(np.int32)

    if isinstance(side, Ranges):
        return replace(side, low=own(side.low), high=own(side.high))
    assert isinstance(side, Cells | ValueSets)
    return replace(side, codes=own(side.codes))


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
