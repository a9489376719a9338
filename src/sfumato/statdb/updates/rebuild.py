"""A layout made anew: cohorts without a row are dropped, and there are places to spare again.

Rows keep their signatures, those they share a cohort with, and their order in a segment, so every
interval is what it was.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.core.arrays import Codes, Counts, Words
from sfumato.statdb.layout.bucketization import Bucketization, arranged, shapes
from sfumato.statdb.layout.signatures import Signature, Signatures
from sfumato.statdb.updates.capacity import Needs, needs_of
from sfumato.statdb.updates.kernel import cohort_groups, moved_rows
from sfumato.statdb.updates.newcomers import Newcomers


class Relaid(NamedTuple):
    """A layout, the old place of the row at every place, and the slots of newcomers in it."""

    buckets: Bucketization
    rows: Codes
    bucket: Counts
    cohort: Counts


class _Cohorts(NamedTuple):
    """Cohorts, those that newcomers found included, bucket after bucket: their new numbers.

    A number of -1 is that of one without a row. Bucket b has ``n[b]`` with rows, the largest of
    ``size[b]`` groups.
    """

    starts: Counts
    number: Counts
    n: Counts
    size: Counts


def is_sparse(buckets: Bucketization, everybody: Words, cohort: int | None) -> bool:
    """Whether less than half of the places would do, laid out anew."""
    groups = _groups(buckets, everybody)
    starts = np.cumsum(buckets.cohorts) - buckets.cohorts
    size = np.maximum.reduceat(groups, starts)
    _, stride = shapes(size, np.add.reduceat((groups > 0).astype(np.int64), starts), cohort)
    return 2 * int(stride @ np.diff(buckets.starts)) < buckets.n_places


def relaid(
    buckets: Bucketization, everybody: Words, newcomers: Newcomers, cohort: int | None
) -> Relaid:
    """Lay out the rows that are there, with room for those that come."""
    needs = needs_of(buckets, newcomers)
    cohorts = _numbered(buckets, everybody, newcomers, needs)
    stay, late = np.flatnonzero(cohorts.n), np.flatnonzero(needs.own < 0)
    new, order = arranged(
        _signatures(buckets, stay, [newcomers.signatures[i] for i in late]),
        np.append(cohorts.size[stay], needs.size[late]),
        np.append(cohorts.n[stay], needs.cohorts[late]),
        cohort,
        len(buckets.value_starts) - 1,
    )
    found = np.argsort(order)
    bucket_of = np.full(buckets.n_buckets, -1, np.int64)
    bucket_of[stay] = found[: len(stay)]
    before = cohorts.number[_places(cohorts.starts, buckets.cohorts)]
    rows = moved_rows(buckets, everybody, bucket_of, before, new)
    bucket = bucket_of[needs.own] if len(needs.own) else needs.own
    bucket[late] = found[len(stay) :]
    return Relaid(new, rows, bucket[newcomers.number], _cohorts_of(newcomers, needs, cohorts))


def _numbered(
    buckets: Bucketization, everybody: Words, newcomers: Newcomers, needs: Needs
) -> _Cohorts:
    """Number the cohorts that have rows, or will have some, without gaps."""
    known, n = needs.own >= 0, buckets.cohorts.copy()
    np.maximum.at(n, needs.own[known], needs.cohorts[known])
    starts = np.append(0, np.cumsum(n))
    groups = np.zeros(starts[-1], np.int64)
    groups[_places(starts, buckets.cohorts)] = _groups(buckets, everybody)
    size = np.maximum.reduceat(groups, starts[:-1])
    np.maximum.at(size, needs.own[known], np.array(newcomers.sizes, np.int64)[known])
    own = needs.own[newcomers.number]
    groups[(starts[own] + newcomers.cohort)[own >= 0]] += 1
    ranks = np.append(0, np.cumsum(groups > 0))
    first = ranks[starts]
    number = np.where(groups > 0, ranks[:-1] - np.repeat(first[:-1], n), -1)
    return _Cohorts(starts, number, np.diff(first), size)


def _cohorts_of(newcomers: Newcomers, needs: Needs, cohorts: _Cohorts) -> Counts:
    """The new numbers of newcomers' cohorts; under a new signature they are as they were."""
    found = newcomers.cohort.astype(np.int64)
    own = needs.own[newcomers.number]
    known = own >= 0
    found[known] = cohorts.number[cohorts.starts[own[known]] + found[known]]
    return found


def _signatures(buckets: Bucketization, stay: Counts, more: list[Signature]) -> Signatures:
    """Those of buckets that stay, then others; groups are counted when all have come."""
    lengths = np.diff(buckets.starts)
    kept = buckets.values[np.repeat(np.isin(np.arange(len(lengths)), stay), lengths)]
    sizes = [*lengths[stay].tolist(), *map(len, more)]
    return Signatures(
        np.append(0, np.cumsum(sizes)).astype(np.int64),
        np.concatenate([kept, *more]).astype(np.int32),
        np.zeros(len(sizes), np.int64),
    )


def _groups(buckets: Bucketization, everybody: Words) -> Counts:
    return cohort_groups(everybody, buckets, np.arange(buckets.n_buckets))


def _places(starts: Counts, n: Counts) -> Counts:
    """Where the first n of every bucket stand."""
    ends = np.cumsum(n)
    places: Counts = np.arange(ends[-1]) + np.repeat(starts[:-1] - (ends - n), n)
    return places
