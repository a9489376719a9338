"""Neighbours who come and go: nobody's signature changes.

Who leaves leaves a counterfeit: the place stays in its group, with its value and without a row. Who
comes is in a new group. Newcomers who hide among each other are divided like a first version, into
groups of neighbours; who comes at once has the m places of a list for himself (counterfeits.py).

A group without rows satisfies no condition, adds nothing to any answer, and is dropped: nobody can
tell. All places are then numbered anew. Newcomers do not join the groups of those who are there:
their signatures would have to grow, and a value that two versions of a group differ by would be a
newcomer's.

**All who wait are divided together, not region by region.** Newcomers could wait in regions of the
first version, until those of a region can hide among each other. That is hardly better than to wait
for as many in the whole table, and to cut these: 20,000 newcomers to 100,000 salaries, 100 at a
time, m = 10, groups of 50; how many wait on average, and the length of newcomers' intervals over
the truth:

    together, from 50 rows on          0   9.4
    together, from 800 rows on       350   5.7        15 regions      400   5.4
    together, from 8,000 rows on   3,570   4.0       147 regions    4,100   3.8
                                                   1,292 regions   14,750   2.2

A region in which a value has more than 1/m would never let anybody in, which tells who has it; and
small batches wait for a value more often, so that having waited tells more. So all come in as soon
as they are as many as a group has at least, and no value is too frequent. Fewer would make a group
in which who has learned from others can sort the members; and their number tells nothing. Shorter
intervals are for owners to have, who insert many rows at once (20,000: 3.5).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from sfumato.core.arrays import Codes, Counts, Flags, Ints
from sfumato.core.attribute import Attribute
from sfumato.core.randomness import Randomness
from sfumato.statdb.layout.neighbourhoods import Neighbourhoods, assembled, grouped
from sfumato.statdb.responder import Responder
from sfumato.statdb.updates.counterfeits import drawn_lists


class Settled(NamedTuple):
    """Groups of newcomers: their sizes, and by place the codes and whether a row is there."""

    sizes: Counts
    codes: Mapping[str, Ints]
    is_row: Flags


def settled_together(
    responder: Responder,
    attributes: Mapping[str, Attribute],
    codes: Mapping[str, Ints],
    randomness: Randomness,
) -> Settled:
    """Groups of neighbours among newcomers, of whom no value has more than 1/m."""
    assert responder.size is not None, "a database of neighbours has a size"
    table = responder.coded(attributes, codes)
    rows, base = grouped(table, responder.m, responder.size, randomness)
    placed = {name: column[rows] for name, column in codes.items()}
    return Settled(np.diff(base), placed, np.ones(len(rows), np.bool_))


def settled_alone(
    stored: Neighbourhoods,
    codes: Mapping[str, Ints],
    values: Codes,
    m: int,
    n_values: int,
    randomness: Randomness,
) -> Settled:
    """Every newcomer in a group of his own, whose other values are counterfeits'."""
    *quasi, sensitive = codes
    # of places, not of rows: which value a leaver had must not show in the lists of others
    frequencies = np.bincount(stored.values, minlength=n_values)
    lists = np.array(drawn_lists(frequencies, values, m, randomness), np.int32).reshape(-1, m)
    is_row = lists == values[:, None]
    placed: dict[str, Ints] = {}
    for name in quasi:
        placed[name] = np.where(is_row, codes[name][:, None], 0).ravel().astype(codes[name].dtype)
    placed[sensitive] = lists.ravel().astype(codes[sensitive].dtype)
    return Settled(np.full(len(values), m), placed, is_row.ravel())


def resettled(
    stored: Neighbourhoods, gone: Counts, came: Settled, sizes: Sequence[int]
) -> Neighbourhoods:
    """What is stored after rows have left these places, and others have come.

    ``sizes`` are those of the domains.
    """
    groups = stored.groups
    is_row = stored.flags(stored.everybody)[: groups.base[-1]]
    is_row[gone] = False
    stays = np.logical_or.reduceat(is_row, groups.base[:-1])
    kept = np.repeat(stays, groups.sizes)
    *quasi, sensitive = stored.codes
    codes = {name: np.where(is_row, stored.codes[name][: len(is_row)], 0) for name in quasi}
    codes[sensitive] = stored.values
    both = {
        name: np.append(column[kept], came.codes[name]).astype(stored.codes[name].dtype)
        for name, column in codes.items()
    }
    lengths = np.append(groups.sizes[stays], came.sizes)
    base = np.append(0, np.cumsum(lengths)).astype(np.int64)
    return assembled(base, both, np.append(is_row[kept], came.is_row), sizes)
