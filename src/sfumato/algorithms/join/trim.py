"""Drop external rows that a group does not need, where that shrinks its box.

The example of the paper's section 4 (the group of L, M, Y and Z): a group may have more rows than
k, and those that only external rows hold up a face of its box for can go. Which rows to drop so
that the box becomes smallest is a search over all boxes; here faces are taken in greedily. The
rows of a face (all that share the smallest or the largest value of an ordered attribute, or one
value of a set) can go when none of them is of the microdata and k rows are left. Of all such faces
the one goes first that shrinks the box most for each row it costs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.core._kernels import rows_by_group
from sfumato.core.arrays import Codes, Counts, Flags, Floats, Whole
from sfumato.core.compiled import announce, inner, kernel
from sfumato.core.microdata import Microdata
from sfumato.core.partition import LEFT_OUT


class Space(NamedTuple):
    """Per attribute: where its coordinates start, how many codes it has, whether it is a set."""

    coordinates: Floats
    offsets: Counts
    sizes: Counts
    is_set: Flags


class People(NamedTuple):
    """Lines of people, group after group: their codes, how many each line stands for, and whether
    they are of the microdata.
    """

    codes: Codes
    weights: Counts
    inside: Flags


class Workspace(NamedTuple):
    """Working space: rows by code, and the faces (lower, upper) that a row of the microdata holds
    up, which no dropping will ever change.
    """

    counts: Counts
    held: Flags


def trimmed(table: Microdata, groups: Codes, inside: Flags, weights: Counts, k: int) -> Codes:
    """The groups with fewer people, never fewer than k; ``inside`` marks rows that must stay, and
    ``weights`` tells how many people each stands for.
    """
    announce(_trim_all)
    kept = np.flatnonzero(groups >= 0)
    order, starts = rows_by_group(groups[kept], int(groups.max()) + 1)
    rows = kept[order]
    sizes = table.quasi_sizes()
    space = Space(
        coordinates=np.concatenate([attribute.coordinates for attribute in table.quasi]),
        offsets=np.cumsum(sizes) - sizes,
        sizes=sizes,
        is_set=np.array([not attribute.ordered for attribute in table.quasi]),
    )
    people = People(table.take(rows).quasi_codes(), weights[rows], inside[rows])
    stays = np.ones(len(rows), np.bool_)
    workspace = Workspace(np.zeros(int(sizes.max()), np.int64), np.zeros((len(sizes), 2), np.bool_))
    _trim_all(people, starts, space, k, stays, workspace)
    less = groups.copy()
    less[rows[~stays]] = LEFT_OUT
    return less


@kernel
def _trim_all(
    people: People,
    starts: Counts,
    space: Space,
    k: int,
    stays: Flags,
    workspace: Workspace,
) -> None:
    for g in range(starts.size - 1):
        first, last = starts[g], starts[g + 1]
        left = people.weights[first:last].sum()
        workspace.held[:] = False
        while left > k:
            axis, code = _best_face(people, first, last, space, left - k, stays, workspace)
            if axis < 0:
                break
            for i in range(first, last):
                if stays[i] and people.codes[i, axis] == code:
                    stays[i] = False
                    left -= people.weights[i]


@inner
def _best_face(
    people: People,
    first: Whole,
    last: Whole,
    space: Space,
    spare: Whole,
    stays: Flags,
    workspace: Workspace,
) -> tuple[Whole, Whole]:
    """The attribute and code of the face that shrinks the box most per row; -1 if none can go."""
    best_axis: Whole = np.int64(-1)
    best_code: Whole = np.int64(-1)
    best = 0.0
    for j in range(people.codes.shape[1]):
        if space.is_set[j]:
            code, gain = _best_value(people, first, last, j, space, spare, stays, workspace.counts)
            if gain > best:
                best, best_axis, best_code = gain, np.int64(j), code
            continue
        for upper in range(2):
            if workspace.held[j, upper]:
                continue
            code, gain = _face(people, first, last, j, upper, space, spare, stays)
            if gain < 0.0:
                workspace.held[j, upper] = True
            elif gain > best:
                best, best_axis, best_code = gain, np.int64(j), code
    return best_axis, best_code


@inner
def _face(
    people: People,
    first: Whole,
    last: Whole,
    j: int,
    upper: int,
    space: Space,
    spare: Whole,
    stays: Flags,
) -> tuple[Whole, float]:
    """The outermost code along an ordered attribute, and how much the box shrinks per row of it.

    A row of the microdata there, or no other code, makes that -1: the face will stay.
    """
    sign = -1 if upper == 1 else 1  # the largest code is the smallest of the negative ones
    outer = np.int64(2**40)
    following = np.int64(2**40)
    rows = np.int64(0)
    fixed = False
    for i in range(first, last):
        if not stays[i]:
            continue
        code = np.int64(sign * people.codes[i, j])
        if code < outer:
            following = outer
            outer = code
            rows, fixed = people.weights[i], people.inside[i]
        elif code == outer:
            rows += people.weights[i]
            fixed |= people.inside[i]
        elif code < following:
            following = code
    if fixed or following == 2**40:
        return np.int64(-1), -1.0
    if rows > spare:
        return np.int64(-1), 0.0
    at = space.coordinates[space.offsets[j] :]
    width = abs(at[sign * following] - at[sign * outer])
    return sign * outer, width / rows


@inner
def _best_value(
    people: People,
    first: Whole,
    last: Whole,
    j: int,
    space: Space,
    spare: Whole,
    stays: Flags,
    counts: Counts,
) -> tuple[Whole, float]:
    """The value of a set that the fewest rows have, none of the microdata's among them."""
    for i in range(first, last):
        counts[people.codes[i, j]] = 0
    for i in range(first, last):
        if stays[i]:
            # a value of the microdata's rows cannot go
            counts[people.codes[i, j]] += 2**40 if people.inside[i] else people.weights[i]
    best: Whole = np.int64(-1)
    fewest = np.int64(spare) + 1
    for i in range(first, last):
        if stays[i] and counts[people.codes[i, j]] < fewest:
            fewest = counts[people.codes[i, j]]
            best = np.int64(people.codes[i, j])
    if best < 0:
        return best, 0.0
    return best, 1.0 / max(1, space.sizes[j] - 1) / fewest
