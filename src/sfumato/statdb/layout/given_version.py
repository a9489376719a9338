"""A first version that is given: any m-unique partition decides its bucketization (Definition 11).

Groups stay whole: those of a bucket are dealt to its cohorts at random, each with all its rows. So
with one group to a cohort, the partition itself is the one version that is ever used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from sfumato.core._kernels import rows_by_group
from sfumato.core.arrays import Codes, Counts, Ints
from sfumato.core.partition import Partition
from sfumato.core.randomness import Randomness
from sfumato.errors import ParameterError
from sfumato.statdb.layout.bucketization import Bucketization, lay_out
from sfumato.statdb.layout.kernel import place_rows
from sfumato.statdb.layout.signatures import Signature, as_arrays


def bucketize(
    codes: Ints, n_values: int, partition: Partition, m: int, cohort: int | None, chance: Randomness
) -> tuple[Bucketization, Codes]:
    """The buckets of an m-unique partition, and the row at every place."""
    found = _signatures(codes, partition, m)
    buckets = lay_out(as_arrays(Counter(found)), cohort, n_values)
    number = {buckets.signature(b): b for b in range(buckets.n_buckets)}
    bucket_of = np.array([number[signature] for signature in found], np.int64)
    mixed = chance.permutation(partition.n_groups)
    ranks = np.empty(partition.n_groups, np.int64)
    ranks[mixed[np.argsort(bucket_of[mixed], kind="stable")]] = np.arange(partition.n_groups)
    return buckets, _placed(codes, ranks[partition.groups], buckets)


def _placed(codes: Ints, ranks: Counts, buckets: Bucketization) -> Codes:
    rows = np.lexsort((ranks, codes)).astype(np.int32)
    sizes = np.bincount(codes, minlength=len(buckets.value_starts) - 1)
    return place_rows(buckets, rows, np.append(0, np.cumsum(sizes)))


def _signatures(codes: Ints, partition: Partition, m: int) -> Sequence[Signature]:
    """The values of every group, ascending."""
    if partition.n_left_out or partition.n_rows != len(codes):
        raise ParameterError("a first version has every row in a group", parameter="partition")
    rows, starts = rows_by_group(partition.groups, partition.n_groups)
    found = []
    for begin, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        signature = tuple(sorted(codes[rows[begin:end]].tolist()))
        if len(set(signature)) < len(signature) or len(signature) < m:
            raise ParameterError(
                f"the partition is not {m}-unique: every group needs at least {m} rows, "
                "all of different sensitive values",
                parameter="partition",
            )
        found.append(signature)
    return found
