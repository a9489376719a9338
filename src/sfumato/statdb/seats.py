"""Seats: where rows are, row by row, and back to the places of a bucketization.

A layout names places; to change who is where, rows are taken as a list of seats (signature,
cohort, value), changed, and laid out again. A row that stays keeps its signature and those it
shares a cohort with. A cohort has as many groups as its most frequent value has rows; where
another value has fewer, counterfeits stand, places without a row. Cohorts without any row are
dropped.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

from sfumato.core.arrays import Codes, Counts, Ints
from sfumato.statdb.bucketization import Bucketization, lay_out
from sfumato.statdb.first_version import Signature, as_arrays


class Seats(NamedTuple):
    """Signature, cohort in its bucket and value, row by row.

    ``signatures`` lists what ``signature`` counts through.
    """

    signatures: list[Signature]
    signature: Codes
    cohort: Codes
    value: Codes

    def take(self, rows: Ints) -> Seats:
        """The seats of some rows."""
        return Seats(self.signatures, *(part[rows] for part in self[1:]))


def seats_of(buckets: Bucketization, places: Counts) -> Seats:
    """The seats that these places are."""
    b = np.searchsorted(buckets.base, places, "right") - 1
    # buckets without a stride would share a base; there are none
    line, within = np.divmod(places - buckets.base[b], buckets.stride[b])
    return Seats(
        [buckets.signature(number) for number in range(buckets.n_buckets)],
        b.astype(np.int32),
        (within // buckets.room[b]).astype(np.int32),
        buckets.values[buckets.starts[b] + line],
    )


def groups_by_cohort(seats: Seats) -> dict[tuple[int, int], int]:
    """How many groups every cohort has that has any row; keys are signature and cohort."""
    return {key: max(held.values()) for key, held in _counts(seats).items()}


def count_places(seats: Seats, n_values: int) -> Counts:
    """How many places each value has, counterfeits' included: whoever knows the lists knows it."""
    places = np.zeros(n_values, np.int64)
    for (number, _), n_groups in groups_by_cohort(seats).items():
        places[list(seats.signatures[number])] += n_groups
    return places


def count_counterfeits(seats: Seats) -> int:
    """How many values of groups belong to nobody."""
    return sum(
        max(held.values()) * len(seats.signatures[number]) - held.total()
        for (number, _), held in _counts(seats).items()
    )


def laid_out(seats: Seats, cohort: int | None, n_values: int) -> tuple[Bucketization, Codes]:
    """Buckets of the cohorts that have rows, and the row at every place."""
    places: dict[tuple[int, int], int] = {}  # cohorts numbered without gaps in their bucket
    n_cohorts: Counter[int] = Counter()
    groups: Counter[int] = Counter()
    for (number, k), n in groups_by_cohort(seats).items():
        places[number, k] = n_cohorts[number]
        n_cohorts[number] += 1
        groups[number] += n
    room = {
        seats.signatures[number]: groups[number] if cohort is None or n == 1 else n * cohort
        for number, n in n_cohorts.items()
    }
    buckets = lay_out(as_arrays(Counter(room)), cohort, n_values)
    bucket_of = {buckets.signature(b): b for b in range(buckets.n_buckets)}
    true_groups = np.zeros(buckets.n_buckets, np.int64)
    for number, n in groups.items():
        true_groups[bucket_of[seats.signatures[number]]] = n
    keys = np.stack(seats[1:3], axis=1)
    found, of_row = np.unique(keys, axis=0, return_inverse=True)
    b_of = np.array([bucket_of[seats.signatures[number]] for number, _ in found.tolist()])
    k_of = np.array([places[number, k] for number, k in found.tolist()])
    rows = _placed(buckets, b_of[of_row.ravel()], k_of[of_row.ravel()], seats.value)
    return buckets._replace(groups=true_groups), rows


def _counts(seats: Seats) -> dict[tuple[int, int], Counter[int]]:
    """Rows of each value in every cohort that has any."""
    n_cohorts, n_values = (int(part.max(initial=0)) + 1 for part in seats[2:])
    keys = (seats.signature.astype(np.int64) * n_cohorts + seats.cohort) * n_values + seats.value
    found, times = np.unique(keys, return_counts=True)
    counts: dict[tuple[int, int], Counter[int]] = {}
    for key, n in zip(found.tolist(), times.tolist(), strict=True):
        home, value = divmod(key, n_values)
        counts.setdefault(divmod(home, n_cohorts), Counter())[value] = n
    return counts


def _placed(buckets: Bucketization, bucket: Counts, cohort: Counts, value: Codes) -> Codes:
    """The row at every place, -1 for none: rows of a segment in their order, so that survivors
    keep theirs.
    """
    owner = np.repeat(np.arange(buckets.n_buckets), np.diff(buckets.starts))
    key = bucket * (buckets.values.max() + 1) + value
    line = np.searchsorted(owner * (buckets.values.max() + 1) + buckets.values, key)
    line -= buckets.starts[bucket]
    first = buckets.base[bucket] + line * buckets.stride[bucket] + cohort * buckets.room[bucket]
    order = np.argsort(first, kind="stable")
    ranked = first[order]
    slot = np.arange(len(order)) - np.searchsorted(ranked, ranked)
    rows = np.full(buckets.n_places, -1, np.int32)
    rows[ranked + slot] = order
    return rows
