"""What synthetic rows say of people whom the model has seen, beside others whom it has not.

Such rows are nobody's, so nothing can be right about them. But somebody who was in the table may be
nearer to them than somebody who was not. The table is halved at random, the model is fitted to one
half and rows are drawn from it; then people of both halves are looked for:

    linked  the row nearest to a person is nearer to nobody else of the same half
    near    the nearest row shows a sensitive number within so many of all ranks of the person's

A model that has learnt about people in general does equally well with both halves.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from sfumato.algorithms.masking import Mask
from sfumato.audits.masking.distances import Side, nearest, people_among, side_of, sides_of
from sfumato.core.arrays import Ints
from sfumato.core.microdata import Microdata
from sfumato.core.schema import Role
from sfumato.forms.masked.release import MaskedTable
from sfumato.verbs.masking import mask

_SEED = 1  # rows that are drawn here are shown to nobody


class Found(NamedTuple):
    """What was found of one half."""

    people: int
    linked: float
    near: Mapping[str, float]


def halves(table: Microdata, method: Mask, width: float) -> tuple[Found, Found]:
    """Of those whom the model has seen, and of the others."""
    order = np.random.default_rng(_SEED).permutation(table.n_rows)
    half = table.n_rows // 2
    seen, unseen = table.take(order[:half]), table.take(order[half : 2 * half])
    drawn = mask(seen, method, seed=_SEED)
    return _found(drawn, seen, width), _found(drawn, unseen, width)


def _found(drawn: MaskedTable, table: Microdata, width: float) -> Found:
    people = np.arange(people_among(table.n_rows))
    sides = sides_of(drawn, table)
    rows = np.concatenate([near.argmax(axis=1) for _, near in nearest(sides, people)])
    back, right, place = [side.back() for side in sides], 0.0, 0
    for some, near in nearest(back, rows):
        own = people[place : place + len(some)]
        right += float((near[np.arange(len(some)), own] / near.sum(axis=1)).sum())
        place += len(some)
    near_by = {
        column.name: _near(side_of(drawn, table, column), people, rows, width)
        for column in drawn.manifest.of_role(Role.SENSITIVE)
        if side_of(drawn, table, column).is_number
    }
    return Found(len(people), right / len(people), near_by)


def _near(side: Side, people: Ints, rows: Ints, width: float) -> float:
    line = np.sort(side.true)
    ranks = [np.searchsorted(line, side.true[people], end) for end in ("left", "right")]
    shown = [np.searchsorted(line, side.shown[rows], end) for end in ("left", "right")]
    middle, reach = (ranks[0] + ranks[1]) / 2, width * len(line)
    return float(((middle >= shown[0] - reach) & (middle <= shown[1] + reach)).mean())
