"""Answers in the anatomy framework: A-Count, and A-Decompose to show the version behind them.

Xiao, Tao: "Dynamic anonymization", SIGMOD 2008, section 6.

A-Count (Figure 3), for every bucket, here every cohort, with some value that satisfies the
sensitive predicate (found by the inverted index):

    2.    alpha = the number of values of the signature that satisfy the sensitive predicate
    4-5.  beta_v = the number of rows of value v that satisfy all QI predicates
    6-7.  [sum of the alpha smallest beta, sum of the alpha largest beta]

(Lemma 7 prints the two ends in the opposite order.) A-Decompose (Figure 2) fills group after group
with rows that satisfy the QI predicates, as long as there are any of the value that is needed; no
decomposition has a shorter interval. Both are linear in the rows of the buckets; A-Count reads
bits: two bitmaps per condition on an attribute of few values.

The estimate is what to expect if nothing is known of who has which value of a signature: alpha out
of |K| of the rows found. It needs no more than the rows of a bucket, which all versions show.
"""

from __future__ import annotations

import numpy as np

from sfumato.core.arrays import Codes, Counts, Flags
from sfumato.core.partition import LEFT_OUT
from sfumato.statdb.layout.bucketization import Bucketization


def a_count_plain(
    buckets: Bucketization, satisfies: Flags, wanted: Flags
) -> tuple[float, int, int]:
    """Expected, fewest and most rows, as Figure 3 has it: what the kernels are compared with.

    ``satisfies`` says of every place whether it has a row that satisfies the QI predicates,
    ``wanted`` of every sensitive code whether it is asked for.
    """
    expected, lo, hi = 0.0, 0, 0
    for b in range(buckets.n_buckets):
        alpha = int(wanted[list(buckets.signature(b))].sum())
        for k in range(int(buckets.cohorts[b])):
            beta = np.sort(satisfies[buckets.segments(b, k)].sum(axis=1))
            expected += beta.sum() * alpha / len(beta)
            lo += int(beta[:alpha].sum())
            hi += int(beta[len(beta) - alpha :].sum())
    return expected, lo, hi


def a_decompose(buckets: Bucketization, satisfies: Flags, occupied: Flags) -> Codes:
    """The group of every place, LEFT_OUT outside of segments.

    ``satisfies`` says of every place whether its row satisfies the QI predicates, ``occupied``
    whether there is one. Places without come last, so there are no more groups than needed; a
    group with some of them has counterfeits.
    """
    groups = np.full(buckets.n_places, LEFT_OUT, np.int32)
    n_groups = 0
    for b in range(buckets.n_buckets):
        for k in range(buckets.cohorts[b]):
            places = decompose_cohort(buckets.segments(b, k), satisfies, occupied)
            groups[places] = n_groups + np.arange(places.shape[1])
            n_groups += places.shape[1]
    return groups


def decompose_cohort(places: Counts, satisfies: Flags, occupied: Flags) -> Counts:
    """Lines 2 to 11 of Figure 2: rows in S_1 first, then those in S_2; a column is a group."""
    last = ~satisfies[places] * 1 + ~occupied[places]
    order = np.argsort(last, axis=1, kind="stable")
    return np.take_along_axis(places, order, axis=1)
