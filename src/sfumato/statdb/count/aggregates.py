"""SUM, AVG, MIN and MAX of the sensitive attribute: bounds from the version of the COUNT.

Beyond Xiao, Tao: "Dynamic anonymization", SIGMOD 2008, which leaves them to future work (section
10). As for COUNT, an answer is the interval of all tables that the version for the query's QI
predicates allows, so it contains the truth; nothing is seen that A-Count or G-Count would not see.

**Anatomy.** In a group of signature K, q rows satisfy the QI predicates, and have q different
values of K, nobody knows which. With w values of K wanted, a choice of any

    max(0, q - (|K| - w))  to  min(q, w)

of them is possible, in every group for itself: the *clusters* of answers.choices, which has the
extremes over all choices. A cohort's betas tell how many groups have which q: group i of
A-Decompose has q_i = #{v: beta_v >= i}. All groups of a bucket with the same q make one cluster
whose values, limits and rows count as often: such choices always divide into choices of the single
groups (Hall), so nothing is lost, and a query needs |K| clusters per bucket instead of its groups.

No version is better, for any of the four. Let a wanted value v weigh v - t and any other 0. The q
rows of a group weigh at most the sum of its q largest weights, a concave function of q, at least
that of the q smallest, a convex one. Among all decompositions A-Decompose's q_i majorize the others
(Gale, Ryser), so the first sum is least with it, and the second largest: that is SUM with t = 0,
and AVG, which is at least t if the largest sum is at least 0. The bounds of MIN and MAX hang on the
values that some group may have, the same in all versions, and on the largest q, the largest there
is.

**Generalization.** A group inside the query has all its wanted values for sure, one that lies
partly in it any of them, or none: one cluster each per bucket, from the numbers of G-Count.

A counterfeit in a group is a value of K that nobody has. The q rows still have q different values
of K, and a group that holds one is not counted as inside, so all of this holds.

What to expect is as for COUNT: every value of K from q/|K| of the group's q rows; of a group that
lies partly in the query every second row.

**Quasi-identifiers.** Aggregates of them are refused. Boxes hide their values; anatomy shows them,
but with a condition on the sensitive attribute it would matter which rows a version brings
together, and without one GROUP BY and COUNT already tell all there is, exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.answers.value_bounds import Choices
from sfumato.core.arrays import Counts, Flags, Floats
from sfumato.core.exact import Numbers, as_doubles, order_keys
from sfumato.errors import QueryRefused
from sfumato.statdb.layout.bucketization import Bucketization


def not_answered(name: str, function: str) -> QueryRefused:
    """The refusal of an aggregate of a quasi-identifier; see above."""
    return QueryRefused(
        f"{function.upper()} is answered of the sensitive attribute only, and {name!r} is a "
        f"quasi-identifier; ask SELECT {name}, COUNT(*) FROM t GROUP BY {name} instead",
        clause=function.upper(),
    )


def no_choices() -> Choices:
    """Where a condition leaves nothing."""
    values, counts = np.zeros(0), np.zeros(0, np.int64)
    return Choices(values, values, values, values, counts, np.zeros(1, np.int64), counts, counts)


def a_choices(tally: Counts, wanted: Counts, numbers: Numbers, buckets: Bucketization) -> Choices:
    """The clusters of A-Decompose's version; ``tally`` has its groups by bucket and q."""
    entries = _Entries.of(wanted, numbers, buckets)
    places = np.flatnonzero(tally)
    bucket = np.searchsorted(buckets.starts, places, "right") - 1
    q, values = places - buckets.starts[bucket] + 1, np.diff(buckets.starts)[bucket]
    w = entries.numbers_of[bucket]
    return entries.clusters(
        bucket, tally[places], np.maximum(0, q - (values - w)), np.minimum(q, w), q / values
    )


def g_choices(
    inside: Counts, partly: Counts, wanted: Counts, numbers: Numbers, buckets: Bucketization
) -> Choices:
    """The clusters of G-Count's version; its groups of types 1 and 2 by bucket."""
    entries = _Entries.of(wanted, numbers, buckets)
    sure, open_ = np.flatnonzero(inside), np.flatnonzero(partly)
    bucket = np.append(sure, open_)
    w, is_sure = entries.numbers_of[bucket], np.arange(len(bucket)) < len(sure)
    times = np.append(inside[sure], partly[open_])
    return entries.clusters(bucket, times, w * is_sure, w, np.where(is_sure, 1.0, 0.5))


@dataclass(frozen=True, slots=True, eq=False)
class _Entries:
    """The wanted values of every bucket, ascending; ``numbers_of`` counts them."""

    values: Numbers
    starts: Counts
    numbers_of: Counts

    @classmethod
    def of(cls, wanted: Counts, numbers: Numbers, buckets: Bucketization) -> _Entries:
        marks = _marked(wanted, len(buckets.value_starts) - 1)[buckets.values]
        bucket = np.repeat(np.arange(buckets.n_buckets), np.diff(buckets.starts))[marks]
        values = numbers[buckets.values[marks]]
        order = np.lexsort((order_keys(values), bucket))
        numbers_of = np.bincount(bucket, minlength=buckets.n_buckets)
        return cls(values[order], np.cumsum(numbers_of) - numbers_of, numbers_of)

    def clusters(
        self, bucket: Counts, times: Counts, least: Counts, most: Counts, share: Floats
    ) -> Choices:
        """One per bucket given, for so many groups; ``least`` and ``most`` are of a single one."""
        sizes = self.numbers_of[bucket]
        starts = np.append(0, np.cumsum(sizes))
        within = np.arange(starts[-1]) - np.repeat(starts[:-1], sizes)
        values = self.values[np.repeat(self.starts[bucket], sizes) + within]
        return Choices(
            low=values,
            high=values,
            expected=as_doubles(values),
            weights=np.repeat(times * share, sizes),
            counts=np.repeat(times, sizes),
            starts=starts,
            least=times * least,
            most=times * most,
        )


def _marked(wanted: Counts, size: int) -> Flags:
    """Runs of codes as one flag per code."""
    marks = np.zeros(size, np.bool_)
    for first, last in wanted.reshape(-1, 2).tolist():
        marks[first : last + 1] = True
    return marks
