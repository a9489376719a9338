"""The bucketization: every row in the bucket of its signature, and inside it in a cohort.

Xiao, Tao: "Dynamic anonymization", SIGMOD 2008, section 5. A bucket with signature K and g groups
has exactly g rows of each value of K (Lemma 5), and any way to combine them is a decomposition.
Here a bucket is divided further, into fixed random *cohorts* of c groups, the last one may have
fewer, and rows are regrouped only inside their cohort. For the algorithms a cohort is a small
bucket. c = 1 is a database with one fixed version, c = None, the whole bucket, is the paper's;
what lies between trades the length of intervals for less to learn from their ends.

Rows stand at *places*, numbered by the bits of a bitmap. The rows of one value in one cohort are a
*segment*: ``room`` places, a power of two up to 64, or whole words. Segments stand in this order:

    bucket  value of the signature  cohort

so segment (value j, cohort k) of bucket b begins at ``base[b] + j * stride[b] + k * room[b]``. With
8 groups to a cohort a segment is a byte, and eight cohorts are counted with one word. No segment
crosses a word: buckets with larger rooms come first. Places without a row (the end of a segment
that is not full, later also counterfeit rows) are in no bitmap, so they satisfy no condition.

So that rows can come later without moving the others, large buckets have some places to spare, for
more cohorts, or for larger ones where a bucket is one cohort; and there are some after the last
bucket, for new ones and for those that have to move (capacity.py). Bases ascend; between the
buckets there may be places that nobody needs any more.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from sfumato.core._kernels import rows_by_group, shuffle_groups
from sfumato.core.arrays import Codes, Counts, Ints
from sfumato.core.partition import Partition
from sfumato.core.randomness import Randomness
from sfumato.errors import ParameterError
from sfumato.statdb.layout.kernel import place_rows
from sfumato.statdb.layout.signatures import Signature, Signatures, as_arrays, signatures_of

WORD = 64
_WORTHWHILE = 8 * WORD  # places, from which on filling up the last word costs little
_SPARE = 32  # one place in so many is left for rows that come later


class Bucketization(NamedTuple):
    """Signatures, cohorts and places: plain arrays, mostly with one entry per bucket.

    ``starts`` and ``values`` hold the signatures as in ``Signatures``; ``size`` is the number of
    groups in a cohort, ``cohorts`` the number of cohorts. ``value_starts`` and ``value_buckets``
    are the inverted index: the buckets whose signatures contain each value.
    """

    starts: Counts
    values: Codes
    groups: Counts
    size: Counts
    cohorts: Counts
    room: Counts
    stride: Counts
    base: Counts
    value_starts: Counts
    value_buckets: Codes

    @property
    def n_buckets(self) -> int:
        """How many buckets there are."""
        return len(self.groups)

    @property
    def n_places(self) -> int:
        """How many places there are: whole words."""
        return int(self.base[-1])

    @property
    def end(self) -> int:
        """Where the last bucket ends, and places begin that belong to none."""
        return int(self.base[-2] + self.stride[-1] * (self.starts[-1] - self.starts[-2]))

    def signature(self, bucket: int) -> Signature:
        """The codes that every group of a bucket has once each."""
        return tuple(self.values[self.starts[bucket] : self.starts[bucket + 1]].tolist())

    def find(self, signature: Signature) -> int:
        """The bucket of a signature, -1 if there is none."""
        lists = [self.value_buckets[slice(*self.value_starts[v : v + 2])] for v in signature]
        found = min(lists, key=len)
        for own in lists:
            found = np.intersect1d(found, own, assume_unique=True)
        found = found[np.diff(self.starts)[found] == len(signature)]
        return int(found[0]) if len(found) else -1

    def segments(self, bucket: int, cohort: int) -> Counts:
        """The places of a cohort: a line per value of the signature, a column per group.

        There may be more columns than groups: places without a row.
        """
        lines = np.arange(self.starts[bucket + 1] - self.starts[bucket])[:, None]
        first = self.base[bucket] + lines * self.stride[bucket] + cohort * self.room[bucket]
        places: Counts = first + np.arange(self.size[bucket])
        return places

    def __repr__(self) -> str:
        """Sizes only: where rows stand is secret."""
        return f"Bucketization({self.n_buckets:,} buckets)"


def require_cohort(cohort: int | None) -> None:
    """Raise unless it is a number of groups, or None."""
    if cohort is not None and (type(cohort) is not int or cohort < 1):
        raise ParameterError(
            f"cohort counts groups: a whole number from 1, or None for all, not {cohort!r}",
            parameter="cohort",
        )


def lay_out(signatures: Signatures, cohort: int | None, n_values: int) -> Bucketization:
    """Cohorts and places for so many groups of each signature."""
    size = signatures.groups if cohort is None else np.minimum(signatures.groups, cohort)
    cohorts = -(-signatures.groups // size)
    return arranged(signatures, size, cohorts, cohort, n_values)[0]


def arranged(
    signatures: Signatures, size: Counts, cohorts: Counts, cohort: int | None, n_values: int
) -> tuple[Bucketization, Counts]:
    """Places for so many cohorts of a size, under each signature; the order of buckets in it."""
    room, stride = shapes(size, cohorts, cohort)
    whole = stride % WORD == 0
    # whole words first, then by room: so no segment ever crosses a word
    order = np.lexsort((-room, ~whole))
    starts, values = _taken(signatures, order)
    bits = (stride * np.diff(signatures.starts))[order]
    base = np.append(0, np.cumsum(bits)).astype(np.int64)
    base[-1] = in_words(base[-1] + base[-1] // _SPARE)
    found = Bucketization(
        starts=starts,
        values=values,
        groups=signatures.groups[order],
        size=size[order].astype(np.int64),
        cohorts=cohorts[order],
        room=room[order],
        stride=stride[order],
        base=base,
        **inverted(starts, values, n_values),
    )
    return found, order


def shapes(size: Counts, cohorts: Counts, cohort: int | None) -> tuple[Counts, Counts]:
    """Room and stride of buckets that have so many cohorts of a size, with some to spare.

    Where there are no cohorts to add, as the bucket is one, it is the room that has to grow.
    """
    room = _rooms(size + size // _SPARE if cohort is None else size)
    needed = cohorts * room
    worthwhile = (room >= WORD) | (needed >= _WORTHWHILE)
    stride: Counts = np.where(worthwhile, in_words(needed + cohorts // _SPARE * room), needed)
    return room, stride


def inverted(starts: Counts, values: Codes, n_values: int) -> dict[str, Any]:
    """The inverted index of signatures, by the names of its fields."""
    buckets = np.repeat(np.arange(len(starts) - 1, dtype=np.int32), np.diff(starts))
    ends = np.cumsum(np.bincount(values, minlength=n_values))
    return {
        "value_starts": np.append(0, ends).astype(np.int64),
        "value_buckets": buckets[np.argsort(values, kind="stable")],
    }


def in_words(places: Counts) -> Counts:
    """So many places, rounded up to whole words."""
    return -(-places // WORD) * WORD


def deal_rows(codes: Ints, buckets: Bucketization, randomness: Randomness) -> Codes:
    """The row at every place, -1 where there is none: the rows of a value in random order."""
    n_values = len(buckets.value_starts) - 1
    rows, starts = rows_by_group(codes.astype(np.int32), n_values)
    shuffle_groups(rows, starts, randomness.half_words(len(rows)))
    return place_rows(buckets, rows, starts)


def bucketize(
    codes: Ints, n_values: int, partition: Partition, m: int, cohort: int | None, chance: Randomness
) -> tuple[Bucketization, Codes]:
    """The buckets of an m-unique partition (Definition 11), and the row at every place.

    Groups stay whole: those of a bucket are dealt to its cohorts at random, each with all its rows.
    So with one group to a cohort, the partition itself is the one version that is ever used.
    """
    found = signatures_of(codes, partition, m)
    buckets = lay_out(as_arrays(Counter(found)), cohort, n_values)
    number = {buckets.signature(b): b for b in range(buckets.n_buckets)}
    bucket_of = np.array([number[signature] for signature in found], np.int64)
    mixed = chance.permutation(partition.n_groups)
    ranks = np.empty(partition.n_groups, np.int64)
    ranks[mixed[np.argsort(bucket_of[mixed], kind="stable")]] = np.arange(partition.n_groups)
    rows = np.lexsort((ranks[partition.groups], codes)).astype(np.int32)
    sizes = np.bincount(codes, minlength=n_values)
    return buckets, place_rows(buckets, rows, np.append(0, np.cumsum(sizes)))


def _rooms(size: Counts) -> Counts:
    powers = np.int64(1) << np.arange(7)
    small = powers[np.searchsorted(powers, np.minimum(size, WORD))]
    rooms: Counts = np.where(size <= WORD, small, -(-size // WORD) * WORD)
    return rooms


def _taken(signatures: Signatures, order: Counts) -> tuple[Counts, Codes]:
    sizes = np.diff(signatures.starts)[order]
    starts = np.append(0, np.cumsum(sizes)).astype(np.int64)
    places = np.arange(starts[-1]) + np.repeat(signatures.starts[:-1][order] - starts[:-1], sizes)
    return starts, signatures.values[places]
