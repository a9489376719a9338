"""Seats for rows that come: among each other, or each alone among counterfeits.

Nobody takes the place of somebody who left. Such a newcomer would have the leaver's value, and
among the values of a list the more frequent one is then the likelier for both: the list was made
for the leaver, and a newcomer's chance to fit in is that of the value. Measured at m = 10, with
frequencies from 0.1 down to 0.014: right in 0.16 of the cases (tests/statistical). So counterfeits
stay until their cohort has lost as many rows of every other value, or all of its rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from sfumato.core.arrays import Codes
from sfumato.core.randomness import Randomness
from sfumato.statdb.first_version import Signature, Signatures, plan
from sfumato.statdb.seats import Seats, groups_by_cohort


def lacking(values: Codes, m: int) -> int:
    """How many rows of other values have to come at least before rows can hide among each other.

    They can when no value has more than 1/m of them; nobody lacks anything.
    """
    most = int(np.bincount(values, minlength=1).max())
    return max(0, m * most - len(values))


def seated_together(
    seats: Seats, values: Codes, m: int, cohort: int | None, randomness: Randomness
) -> Seats:
    """Newcomers in groups of their own, made as a first version: every group is full.

    In a full group, every way to hand out its values to its rows is as likely as any other,
    whatever the frequencies are, as long as they are the same for all newcomers. Full groups may
    join a cohort that has room, for the same reason.
    """
    planned = plan(np.bincount(values), m, "signatures", randomness)
    signatures, places = _new_places(seats, planned, cohort)
    places = places[randomness.permutation(len(places))]
    places = places[np.argsort(places[:, 2], kind="stable")]
    given = np.empty((len(values), 2), np.int32)
    given[np.argsort(values, kind="stable")] = places[:, :2]
    return _joined(seats, signatures, given, values)


def seated_alone(
    seats: Seats, values: Codes, lists: Sequence[Signature], cohort: int | None
) -> Seats:
    """Every newcomer in a group of its own with this list, and in a cohort of its own if any."""
    signatures, number_of = _numbered(seats)
    following: dict[int, int] = {}
    for number, k in zip(seats.signature.tolist(), seats.cohort.tolist(), strict=True):
        following[number] = max(following.get(number, 0), k + 1)
    given = np.empty((len(values), 2), np.int32)
    for row, signature in enumerate(lists):
        number = _number(signature, signatures, number_of)
        given[row] = number, 0 if cohort is None else following.get(number, 0)
        following[number] = following.get(number, 0) + 1
    return _joined(seats, signatures, given, values)


def _joined(seats: Seats, signatures: list[Signature], given: Codes, values: Codes) -> Seats:
    """Those who have a seat first, then those who are given one."""
    return Seats(
        signatures,
        np.append(seats.signature, given[:, 0]),
        np.append(seats.cohort, given[:, 1]),
        np.append(seats.value, values),
    )


def _new_places(
    seats: Seats, planned: Signatures, cohort: int | None
) -> tuple[list[Signature], Codes]:
    """Places of new groups: in cohorts of the same signature that have room, then in new ones."""
    signatures, number_of = _numbered(seats)
    groups = groups_by_cohort(seats)
    lines: list[tuple[int, int, int]] = []
    for b in range(len(planned)):
        number = _number(planned[b], signatures, number_of)
        for k, n in _cohorts_for(int(planned.groups[b]), number, groups, cohort):
            lines += [(number, k, value) for value in planned[b] for _ in range(n)]
    return signatures, np.array(lines, np.int32).reshape(-1, 3)


def _numbered(seats: Seats) -> tuple[list[Signature], dict[Signature, int]]:
    signatures = list(seats.signatures)
    return signatures, {signature: number for number, signature in enumerate(signatures)}


def _number(
    signature: Signature, signatures: list[Signature], number_of: dict[Signature, int]
) -> int:
    """The number of a signature, a new one if there is none yet."""
    number = number_of.setdefault(signature, len(signatures))
    if number == len(signatures):
        signatures.append(signature)
    return number


def _cohorts_for(
    n_groups: int, number: int, groups: Mapping[tuple[int, int], int], cohort: int | None
) -> Iterator[tuple[int, int]]:
    """Cohorts of a signature for new groups, and how many go to each."""
    if cohort is None:
        yield 0, n_groups
        return
    k = 0
    while n_groups > 0:
        n = min(n_groups, cohort - groups.get((number, k), 0))
        if n > 0:
            yield k, n
            n_groups -= n
        k += 1
