"""Regions: rows that are regrouped, regrouped among neighbours.

Signatures of the whole table (signatures.py) mix people of all kinds in every cohort. Here Mondrian
first cuts the table into regions of at least 64 m rows, in which no value has more than 1/m; every
region has signatures of its own, found like those of a table, and its groups are dealt to cohorts
of their own. So a cohort is regrouped among neighbours, and everything else is as it was: a bucket
has the cohorts of all regions in which its signature occurs, a group has every value of it once,
and m-invariance, which asks of every version that rows keep their signatures, does not ask where.

What it is worth (200,000 salaries, m = 10; the mean length of intervals of the paper's questions,
the error of estimates, and how often attackers are right, of whom 0.10 is promised):

                            length  error    learner  1 in 50 known  the same and deFinetti
    whole table, cohort 8      984   .209       .416           .233                    .508
    regions, cohort 64         351   .073       .357           .393                    .582
    regions, cohort 8          455   .073       .273           .211                    .366
    the same, 200 m rows       485   .080       .294           .226                    .395
    regions, cohort 2          657   .073       .198           .120                    .204
    neighbours                 656   .059       .103           .082                    .099

People of a region are alike, so that who has learned from others tells classes of equal values
apart less well. Yet answers tell who shares a value with whom, as in any cohort, and attackers stay
far beyond their limits (0.12), which neighbours that are never regrouped keep. So these are the
default; and whoever wants shorter intervals, and names a cohort, has it inside regions.

Newcomers are divided into regions among themselves, not led into those that are there: the reasons
are those of neighbours (updates/neighbours.py). A region all of whose rows have left is like any
cohort without rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sfumato.algorithms.mondrian import Mondrian
from sfumato.core._kernels import rows_by_group, shuffle_groups
from sfumato.core.arrays import Codes, Counts, Ints
from sfumato.core.microdata import Microdata
from sfumato.core.randomness import Randomness
from sfumato.models.anonymity import KAnonymity
from sfumato.models.diversity import LDiversity
from sfumato.models.requirements import Requirement
from sfumato.statdb.layout.bucketization import Bucketization, arranged
from sfumato.statdb.layout.places import sensitive_of
from sfumato.statdb.layout.signatures import Signature, Signatures, plan
from sfumato.statdb.layout.slots import lines_of, segments_of


class Planned(NamedTuple):
    """Signatures, their numbers of groups, cohorts, and groups of the largest cohort; by row the
    signature's number, and the cohort.
    """

    signatures: list[Signature]
    groups: Counts
    cohorts: Counts
    sizes: Counts
    number: Codes
    cohort: Codes


@dataclass(slots=True)
class _Signature:
    """What a signature has while regions are planned; ``size`` is that of its largest cohort."""

    number: int
    values: Signature
    groups: int = 0
    cohorts: int = 0
    size: int = 0

    def taken(self, n: int, cohort: int) -> Codes:
        """Signature, cohort and value of the rows of n more groups, in cohorts of their own."""
        slots = np.empty((n * len(self.values), 3), np.int32)
        slots[:, 0] = self.number
        slots[:, 1] = np.tile(self.cohorts + np.arange(n) // cohort, len(self.values))
        slots[:, 2] = np.repeat(np.array(self.values, np.int32), n)
        self.groups += n
        self.cohorts += -(-n // cohort)
        self.size = max(self.size, min(n, cohort))
        return slots


def plan_regions(
    table: Microdata, m: int, region: int, cohort: int, randomness: Randomness
) -> Planned:
    """Cohorts in regions of at least so many rows; under each signature they count from 0 on."""
    sensitive = sensitive_of(table)
    codes = table.codes[sensitive.name].astype(np.int32)
    rows, starts = _by_region(table, m, region, randomness)
    found: dict[Signature, _Signature] = {}
    slots = np.empty((table.n_rows, 2), np.int32)
    for own in np.split(rows, starts[1:-1]):
        counts = np.bincount(codes[own], minlength=sensitive.size)
        planned = plan(counts, m, "signatures", randomness)
        slot = np.concatenate(
            [
                found.setdefault(planned[b], _Signature(len(found), planned[b])).taken(n, cohort)
                for b, n in enumerate(planned.groups.tolist())
            ]
        )
        # rows of a region are in random order, so any slots of a value will do
        by_value = own[np.argsort(codes[own], kind="stable")]
        slots[by_value] = slot[np.argsort(slot[:, 2], kind="stable"), :2]
    every = found.values()
    groups, cohorts, sizes = (
        np.array(each, np.int64)
        for each in zip(*((one.groups, one.cohorts, one.size) for one in every), strict=True)
    )
    return Planned(list(found), groups, cohorts, sizes, slots[:, 0].copy(), slots[:, 1].copy())


def lay_out_regions(
    codes: Ints, n_values: int, planned: Planned, cohort: int
) -> tuple[Bucketization, Codes]:
    """The buckets of planned cohorts, and the row at every place, -1 where there is none."""
    buckets, order = arranged(
        _signatures(planned), planned.sizes, planned.cohorts, cohort, n_values
    )
    bucket = np.argsort(order)[planned.number]
    lines = lines_of(buckets, bucket, codes.astype(np.int32))
    first = segments_of(buckets, bucket, lines, planned.cohort.astype(np.int64))
    rows = np.full(buckets.n_places, -1, np.int32)
    by_segment = np.argsort(first, kind="stable").astype(np.int32)
    begins = np.flatnonzero(np.diff(first[by_segment], prepend=-1))
    within = np.arange(len(first)) - np.repeat(begins, np.diff(np.append(begins, len(first))))
    rows[first[by_segment] + within] = by_segment
    return buckets, rows


def _by_region(
    table: Microdata, m: int, region: int, randomness: Randomness
) -> tuple[Codes, Counts]:
    """Rows by region, in random order inside each, and where each region begins."""
    needs = (
        Requirement(LDiversity(m), sensitive_of(table).name),
        Requirement(KAnonymity(min(region, table.n_rows)), None),
    )
    found = Mondrian(cuts="median").partition(table, needs, randomness)
    rows, starts = rows_by_group(found.groups, found.n_groups)
    shuffle_groups(rows, starts, randomness.half_words(len(rows)))
    return rows, starts


def _signatures(planned: Planned) -> Signatures:
    starts = np.cumsum([0, *map(len, planned.signatures)])
    values = np.concatenate(planned.signatures).astype(np.int32)
    return Signatures(starts, values, planned.groups)
