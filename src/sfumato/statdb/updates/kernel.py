"""Compiled loops over the segments of a layout that changes; capacity.py and rebuild.py say why."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.core.arrays import Codes, Counts, Words
from sfumato.core.compiled import kernel
from sfumato.statdb.count.kernel import count_one

if TYPE_CHECKING:
    from sfumato.statdb.layout.bucketization import Bucketization

_FULL = np.uint64(0xFFFFFFFFFFFFFFFF)


@kernel
def cohort_groups(everybody: Words, buckets: Bucketization, chosen: Counts) -> Counts:
    """The groups of every cohort of the chosen buckets, one bucket after the other.

    A cohort has as many groups as the value with the most rows needs.
    """
    n_cohorts = 0
    for b in chosen:
        n_cohorts += buckets.cohorts[b]
    groups, at = np.zeros(n_cohorts, np.int64), 0
    for b in chosen:
        room = buckets.room[b]
        for j in range(buckets.starts[b + 1] - buckets.starts[b]):
            first = buckets.base[b] + j * buckets.stride[b]
            for k in range(buckets.cohorts[b]):
                found = np.int64(count_one(everybody, first + k * room, room))
                groups[at + k] = max(groups[at + k], found)
        at += buckets.cohorts[b]
    return groups


@kernel
def fill_segments(everybody: Words, first: Counts, size: Counts) -> Counts:
    """A free place for everybody in the segment that begins there; it is marked as taken.

    -1 if there is none, which is a bug of the caller.
    """
    places = np.empty(first.size, np.int64)
    for i in range(first.size):
        place, end = first[i], first[i] + size[i]
        while place < end:
            word = everybody[place >> 6]
            if place & 63 == 0 and word == _FULL:
                place += 64
            elif (word >> np.uint64(place & 63)) & np.uint64(1):
                place += 1
            else:
                break
        if place >= end:
            places[i] = -1
            continue
        everybody[place >> 6] |= np.uint64(1) << np.uint64(place & 63)
        places[i] = place
    return places


@kernel
def moved_rows(
    old: Bucketization, everybody: Words, bucket_of: Counts, cohort_of: Counts, new: Bucketization
) -> Codes:
    """The old place of the row at every new place, -1 where none is; rows keep their order.

    ``bucket_of`` has the new number of every bucket and ``cohort_of`` of every cohort, -1 for those
    that are gone.
    """
    at = np.empty(new.base[-1], np.int32)
    for place in range(at.size):
        at[place] = -1
    first_cohort = 0
    for b in range(bucket_of.size):
        other = bucket_of[b]
        for j in range(old.starts[b + 1] - old.starts[b]):
            for k in range(old.cohorts[b]):
                if other < 0 or cohort_of[first_cohort + k] < 0:
                    continue
                place = old.base[b] + j * old.stride[b] + k * old.room[b]
                to = new.base[other] + j * new.stride[other]
                to += cohort_of[first_cohort + k] * new.room[other]
                for i in range(place, place + old.size[b]):
                    if (everybody[i >> 6] >> np.uint64(i & 63)) & np.uint64(1):
                        at[to] = i
                        to += 1
        first_cohort += old.cohorts[b]
    return at
