"""Compiled loops that count the groups of A-Decompose's version; aggregates.py says what for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.core.arrays import Counts, Whole, Words
from sfumato.core.compiled import inner, kernel
from sfumato.statdb.count.kernel import (
    BYTE,
    add_few_levels,
    add_levels,
    count_one,
    next_wanted,
    stretch_end,
    wanted_values,
)
from sfumato.statdb.count.match_kernel import BLOCK, WORD, match

if TYPE_CHECKING:
    from sfumato.statdb.layout.bucketization import Bucketization

_MOST_LANES = 255  # values in a signature that a byte can count


@kernel
def a_tally(
    bitmaps: Words, steps: Counts, more: Words, wanted: Counts, buckets: Bucketization
) -> Counts:
    """How many groups have q rows that satisfy the conditions, at ``starts[b] + q - 1``.

    Nothing is counted in buckets without a wanted value.
    """
    alpha = wanted_values(wanted, buckets)
    tally = np.zeros(buckets.values.size, np.int64)
    hit = np.empty(bitmaps.shape[1], np.uint64)
    beta = np.empty(64, np.int64)
    levels = np.empty((BYTE, BLOCK), np.uint64)
    begin = next_wanted(alpha, 0)
    while begin < alpha.size:
        end = stretch_end(alpha, begin, buckets)
        match(bitmaps, steps, more, buckets.base[begin] >> 6, (buckets.base[end] + 63) >> 6, hit)
        for b in range(begin, end):
            if alpha[b] == 0:
                continue
            n_values = buckets.starts[b + 1] - buckets.starts[b]
            if n_values > beta.size:
                beta = np.empty(2 * n_values, np.int64)
            own = tally[buckets.starts[b] : buckets.starts[b + 1]]
            in_words = (buckets.base[b] | buckets.stride[b]) % WORD == 0
            if in_words and buckets.room[b] <= BYTE and n_values <= _MOST_LANES:
                tally_lanes(hit, b, buckets, levels, own)
            else:
                tally_segments(hit, b, buckets, beta, own)
        begin = next_wanted(alpha, end)
    return tally


@inner
def tally_segments(
    hit: Words, b: Whole, buckets: Bucketization, beta: Counts, tally: Counts
) -> None:
    """With betas descending, beta_q - beta_(q+1) groups have q rows."""
    base, stride, room = buckets.base[b], buckets.stride[b], buckets.room[b]
    for k in range(buckets.cohorts[b]):
        n_found = 0
        for j in range(tally.size):
            found = count_one(hit, base + j * stride + k * room, room)
            if found > 0:
                at = n_found
                while at > 0 and beta[at - 1] < found:
                    beta[at] = beta[at - 1]
                    at -= 1
                beta[at] = found
                n_found += 1
        for i in range(n_found):
            tally[i] += beta[i] - (beta[i + 1] if i + 1 < n_found else 0)


@inner
def tally_lanes(hit: Words, b: Whole, buckets: Bucketization, levels: Words, tally: Counts) -> None:
    """Where segments are at most a byte: the levels of count_lanes are the q of every group."""
    room = buckets.room[b]
    words, base = buckets.stride[b] >> 6, buckets.base[b] >> 6
    for first in range(0, words, BLOCK):
        n = min(BLOCK, words - first)
        for turn in range(BYTE // room):
            for t in range(room):
                levels[t, :n] = np.uint64(0)
            for j in range(tally.size):
                begin = base + j * words + first
                if room == BYTE:
                    add_levels(hit[begin : begin + n], levels)
                else:
                    add_few_levels(hit[begin : begin + n], levels, turn, room)
            for t in range(room):
                bytes_ = levels[t, :n].view(np.uint8)
                for i in range(bytes_.size):
                    if bytes_[i] > 0:
                        tally[bytes_[i] - 1] += 1
