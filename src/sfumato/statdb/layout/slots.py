"""Slots: the bucket, the line, the cohort and the slot that a place of a layout is.

A row that stays keeps its bucket, which is its signature, and those it shares a cohort with. A
cohort has as many groups as its most frequent value has rows; where another value has fewer,
counterfeits stand, places without a row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.core.arrays import Codes, Counts
from sfumato.statdb.layout.bucketization import Bucketization


class Slots(NamedTuple):
    """By place: the bucket, the number of the value in its signature, the cohort, and the rest."""

    bucket: Counts
    line: Counts
    cohort: Counts
    slot: Counts

    def values(self, buckets: Bucketization) -> Codes:
        """The sensitive codes that belong to these slots."""
        found: Codes = buckets.values[buckets.starts[self.bucket] + self.line]
        return found


def slots_of(buckets: Bucketization, places: Counts) -> Slots:
    """The slots that these places are; each is in a segment."""
    b = np.searchsorted(buckets.base, places, "right") - 1
    line, within = np.divmod(places - buckets.base[b], buckets.stride[b])
    cohort, slot = np.divmod(within, buckets.room[b])
    return Slots(b, line, cohort, slot)


def segments_of(buckets: Bucketization, bucket: Counts, line: Counts, cohort: Counts) -> Counts:
    """Where the segments of these lines and cohorts begin."""
    first: Counts = (
        buckets.base[bucket] + line * buckets.stride[bucket] + cohort * buckets.room[bucket]
    )
    return first


def lines_of(buckets: Bucketization, bucket: Counts, values: Codes) -> Counts:
    """Which line of its bucket each value has."""
    n_values = len(buckets.value_starts)
    owner = np.repeat(np.arange(buckets.n_buckets), np.diff(buckets.starts))
    lines: Counts = np.searchsorted(owner * n_values + buckets.values, bucket * n_values + values)
    return lines - buckets.starts[bucket]


def count_places(buckets: Bucketization) -> Counts:
    """How many places each value has, counterfeits' included: the lists show it."""
    places = np.zeros(len(buckets.value_starts) - 1, np.int64)
    np.add.at(places, buckets.values, np.repeat(buckets.groups, np.diff(buckets.starts)))
    return places


def count_counterfeits(buckets: Bucketization, n_rows: int) -> int:
    """How many values of groups belong to nobody."""
    return int(buckets.groups @ np.diff(buckets.starts)) - n_rows
