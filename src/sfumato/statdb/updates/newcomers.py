"""Slots for rows that come: among each other, or each alone among counterfeits.

Nobody takes the place of somebody who left. Such a newcomer would have the leaver's value, and
among the values of a list the more frequent one is then the likelier for both: the list was made
for the leaver, and a newcomer's chance to fit in is that of the value. Measured at m = 10, with
frequencies from 0.1 down to 0.014: right in 0.16 of the cases (tests/statistical). So counterfeits
stay until their cohort has lost as many rows of every other value, or all of its rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from sfumato.core.arrays import Codes, Counts, Words
from sfumato.core.microdata import Microdata
from sfumato.core.randomness import Randomness
from sfumato.statdb.layout.bucketization import Bucketization
from sfumato.statdb.layout.regions import plan_regions
from sfumato.statdb.layout.signatures import Signature, plan
from sfumato.statdb.updates.kernel import cohort_groups


class Newcomers(NamedTuple):
    """Where newcomers come: their signatures, and which cohort of the bucket of that signature.

    ``number`` counts through ``signatures``. A cohort may be one that is not there yet; it is then
    the next one after those that are. Under each signature the largest cohort has ``sizes`` groups
    afterwards.
    """

    signatures: list[Signature]
    sizes: list[int]
    number: Codes
    cohort: Codes


def lacking(values: Codes, m: int, least: int) -> int:
    """How many more rows have to come at least before these can hide among each other.

    They can when they are as many as a group has at ``least``, and no value has more than 1/m of
    them (only rows of other values help then); nobody lacks anything.
    """
    most = int(np.bincount(values, minlength=1).max())
    return max(0, m * most - len(values), least - len(values) if len(values) else 0)


def placed_together(
    buckets: Bucketization,
    everybody: Words,
    values: Codes,
    m: int,
    cohort: int | None,
    randomness: Randomness,
) -> Newcomers:
    """Newcomers in groups of their own, made as a first version: every group is full.

    In a full group, every way to hand out its values to its rows is as likely as any other,
    whatever the frequencies are, as long as they are the same for all newcomers. Full groups may
    join a cohort that has room, for the same reason.
    """
    planned = plan(np.bincount(values), m, "signatures", randomness)
    signatures = [planned[b] for b in range(len(planned))]
    sizes: list[int] = []
    lines: list[Counts] = []
    for number, (signature, n) in enumerate(zip(signatures, planned.groups.tolist(), strict=True)):
        groups = groups_under(signature, buckets, everybody)
        joined = list(_cohorts_for(n, groups, cohort))
        sizes.append(max(more + (int(groups[k]) if k < len(groups) else 0) for k, more in joined))
        lines += [_slots(number, k, signature, more) for k, more in joined]
    slots = np.concatenate(lines)
    slots = slots[randomness.permutation(len(slots))]
    slots = slots[np.argsort(slots[:, 2], kind="stable")]
    given = np.empty((len(values), 2), np.int32)
    given[np.argsort(values, kind="stable")] = slots[:, :2]
    return Newcomers(signatures, sizes, given[:, 0], given[:, 1])


def placed_in_regions(
    buckets: Bucketization,
    everybody: Words,
    table: Microdata,
    m: int,
    region: int,
    cohort: int,
    randomness: Randomness,
) -> Newcomers:
    """Newcomers in regions of their own, made as those of a first version.

    They join nobody's cohort: those who are there live elsewhere, and would make intervals longer.
    """
    planned = plan_regions(table, m, region, cohort, randomness)
    groups = [groups_under(signature, buckets, everybody) for signature in planned.signatures]
    following = np.array([_following(own) for own in groups], np.int32)
    sizes = [
        max(most, int(own.max(initial=0)))
        for most, own in zip(planned.sizes.tolist(), groups, strict=True)
    ]
    cohorts = following[planned.number] + planned.cohort
    return Newcomers(planned.signatures, sizes, planned.number, cohorts)


def placed_alone(
    buckets: Bucketization,
    everybody: Words,
    lists: Sequence[Signature],
    cohort: int | None,
) -> Newcomers:
    """Every newcomer in a group of its own with this list, and in a cohort of its own if any."""
    members: dict[Signature, list[int]] = defaultdict(list)
    for row, signature in enumerate(lists):
        members[signature].append(row)
    number, cohorts = np.empty(len(lists), np.int32), np.zeros(len(lists), np.int32)
    sizes = []
    for place, (signature, rows) in enumerate(members.items()):
        groups = groups_under(signature, buckets, everybody)
        number[rows] = place
        if cohort is None:
            sizes.append(len(rows) + int(groups.sum()))
        else:
            cohorts[rows] = _following(groups) + np.arange(len(rows))
            sizes.append(1)
    return Newcomers(list(members), sizes, number, cohorts)


def groups_under(signature: Signature, buckets: Bucketization, everybody: Words) -> Counts:
    """How many groups every cohort of a signature has; nothing if there is no such bucket."""
    b = buckets.find(signature)
    if b < 0:
        return np.zeros(0, np.int64)
    return cohort_groups(everybody, buckets, np.array([b], np.int64))


def _following(groups: Counts) -> int:
    """The cohort after the last that has rows."""
    return int(np.flatnonzero(groups).max(initial=-1)) + 1


def _slots(number: int, k: int, signature: Signature, groups: int) -> Counts:
    """Signature, cohort and value of the rows of so many groups."""
    values = np.repeat(np.array(signature, np.int64), groups)
    return np.stack([np.full_like(values, number), np.full_like(values, k), values], axis=1)


def _cohorts_for(n_groups: int, groups: Counts, cohort: int | None) -> Iterator[tuple[int, int]]:
    """Cohorts for new groups, those with room first, and how many go to each."""
    if cohort is None:
        yield 0, n_groups
        return
    for k in np.flatnonzero(groups < cohort).tolist():
        n = min(n_groups, cohort - int(groups[k]))
        if n > 0:
            yield k, n
        n_groups -= n
    for k, begin in enumerate(range(0, n_groups, cohort), len(groups)):
        yield k, min(cohort, n_groups - begin)
