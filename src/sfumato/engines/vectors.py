"""Different vectors of codes and how often each occurs, over rows that never are in memory at once.

Vectors are counted part by part, then bucket by bucket of equal ones. A table of them has the first
row that shows each, its codes side by side, and how often it occurs.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sfumato.core._kernels import number_rows
from sfumato.core.arrays import Codes, Counts
from sfumato.core.keyed import KEY_BYTES, Key
from sfumato.engines.base import Engine
from sfumato.engines.coded import ROW, matrix_of, row_numbers
from sfumato.engines.room import Room

CODES, TIMES = "codes", "times"
# nobody gains by knowing the buckets, which are of one size whatever the codes
_BUCKETS = Key(bytes(KEY_BYTES))


def counted(rows: Counts, codes: Codes, sizes: Counts) -> pa.Table:
    """The vectors of some rows, whose numbers are given; ``sizes`` bounds the codes by column."""
    _, first, times = number_rows(codes, sizes)
    return _vectors(rows[first], codes[first], times)


def added_up(vectors: Engine, sizes: Counts, n_rows: int, room: Room, whose: str) -> pa.Table:
    """All vectors of parts that were counted, in the order in which rows show them.

    If they do not fit, how many there are is found out all the same.
    """
    n = 1 + 2 * n_rows // room.rows
    held, n_held = [], 0
    for bucket in vectors.exchange(_bucket_of, n, _add_up, sizes, n).parts():
        n_held += bucket.num_rows
        if n_held <= room.rows:
            held.append(bucket)
    room.require(
        n_held,
        f"{whose} has {n_held:,} different combinations of values, and all of them have to be in "
        "memory together",
    )
    return _by_row(pa.concat_tables(held).combine_chunks())


def vector_codes(vectors: pa.Table) -> Codes:
    """The codes of vectors, one line each."""
    return matrix_of(vectors.column(CODES)).astype(np.int32, copy=False)


def times_of(vectors: pa.Table) -> Counts:
    """How often each vector occurs."""
    times: Counts = vectors.column(TIMES).to_numpy()
    return times


def _bucket_of(vectors: pa.Table, sizes: Counts, n: int) -> Codes:  # noqa: ARG001
    words = _BUCKETS.line_words(vector_codes(vectors))
    return (words % np.uint64(n)).astype(np.int32)


def _add_up(vectors: pa.Table, number: int, sizes: Counts, n: int) -> pa.Table:  # noqa: ARG001
    """Equal vectors of a bucket as one."""
    ordered = _by_row(vectors)
    codes = vector_codes(ordered)
    numbers, first, _ = number_rows(codes, sizes)
    times = np.bincount(numbers, times_of(ordered), len(first))
    return _vectors(row_numbers(ordered)[first], codes[first], times.astype(np.int64))


def _by_row(vectors: pa.Table) -> pa.Table:
    rows = row_numbers(vectors)
    if (np.diff(rows) >= 0).all():
        return vectors
    return vectors.take(pa.array(np.argsort(rows, kind="stable")))


def _vectors(rows: Counts, codes: Codes, times: Counts) -> pa.Table:
    lists = pa.FixedSizeListArray.from_arrays(pa.array(codes.ravel()), codes.shape[1])
    return pa.table([rows, lists, times], [ROW, CODES, TIMES])
