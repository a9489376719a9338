"""Compiled loops of A-Count; anatomy.py says what they do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.core.arrays import Counts, Whole, Words
from sfumato.core.compiled import inner, kernel
from sfumato.statdb.count.match_kernel import BLOCK, WORD, match

if TYPE_CHECKING:
    from sfumato.statdb.layout.bucketization import Bucketization

BYTE = 8
GAP = 32 * WORD
_MOST_LANES = 255  # values in a signature that a byte can count

_1 = np.uint64(0x5555555555555555)
_2 = np.uint64(0x3333333333333333)
_4 = np.uint64(0x0F0F0F0F0F0F0F0F)
_ONES = np.uint64(0x0101010101010101)
_TOPS = np.uint64(0x8080808080808080)
_FULL = np.uint64(0xFFFFFFFFFFFFFFFF)


@kernel
def a_count(
    bitmaps: Words, steps: Counts, more: Words, wanted: Counts, buckets: Bucketization
) -> tuple[float, int, int]:
    """Expected, fewest and most rows; ``wanted`` are first and last codes of sensitive values."""
    alpha = wanted_values(wanted, buckets)
    hit = np.empty(bitmaps.shape[1], np.uint64)
    beta = np.empty(64, np.int64)
    levels = np.empty((BYTE, BLOCK), np.uint64)
    expected, lo, hi = 0.0, np.int64(0), np.int64(0)
    begin = next_wanted(alpha, 0)
    while begin < alpha.size:
        end = stretch_end(alpha, begin, buckets)
        match(bitmaps, steps, more, buckets.base[begin] >> 6, (buckets.base[end] + 63) >> 6, hit)
        for b in range(begin, end):
            if alpha[b] == 0 or not any_hit(hit, b, buckets):
                continue
            n_values = buckets.starts[b + 1] - buckets.starts[b]
            if n_values > beta.size:
                beta = np.empty(2 * n_values, np.int64)
            in_words = (buckets.base[b] | buckets.stride[b]) % WORD == 0
            if in_words and buckets.room[b] <= BYTE and n_values <= _MOST_LANES:
                total, few, many = count_lanes(hit, b, alpha[b], buckets, levels)
            else:
                total, few, many = count_segments(hit, b, alpha[b], buckets, beta)
            expected += total * alpha[b] / n_values
            lo += few
            hi += many
        begin = next_wanted(alpha, end)
    return expected, int(lo), int(hi)


@kernel
def segment_counts(bitmaps: Words, steps: Counts, more: Words, buckets: Bucketization) -> Counts:
    """How many rows of every segment satisfy the conditions: bucket, value, cohort."""
    hit = np.empty(bitmaps.shape[1], np.uint64)
    match(bitmaps, steps, more, 0, hit.size, hit)
    n_segments = 0
    for b in range(buckets.groups.size):
        n_segments += (buckets.starts[b + 1] - buckets.starts[b]) * buckets.cohorts[b]
    found, at = np.empty(n_segments, np.int64), 0
    for b in range(buckets.groups.size):
        for j in range(buckets.starts[b + 1] - buckets.starts[b]):
            for k in range(buckets.cohorts[b]):
                first = buckets.base[b] + j * buckets.stride[b] + k * buckets.room[b]
                found[at] = count_one(hit, first, buckets.room[b])
                at += 1
    return found


@inner
def wanted_values(wanted: Counts, buckets: Bucketization) -> Counts:
    """Alpha of every bucket, by the inverted index: how many values of its signature are wanted."""
    alpha = np.zeros(buckets.groups.size, np.int64)
    for r in range(0, wanted.size, 2):
        for i in range(buckets.value_starts[wanted[r]], buckets.value_starts[wanted[r + 1] + 1]):
            alpha[buckets.value_buckets[i]] += 1
    return alpha


@inner
def next_wanted(alpha: Counts, b: Whole) -> Whole:
    """The next bucket that is asked about."""
    while b < alpha.size and alpha[b] == 0:
        b += 1
    return b


@inner
def stretch_end(alpha: Counts, begin: Whole, buckets: Bucketization) -> Whole:
    """Where to pause: few words of no interest are matched faster than they are left out."""
    end = begin + 1
    following = next_wanted(alpha, end)
    while following < alpha.size and buckets.base[following] - buckets.base[end] < GAP:
        end = following + 1
        following = next_wanted(alpha, end)
    return end


@inner
def any_hit(hit: Words, b: Whole, buckets: Bucketization) -> bool:
    """Whether a bucket may have rows that satisfy the conditions: in regions, few have any."""
    n_values = buckets.starts[b + 1] - buckets.starts[b]
    end = buckets.base[b] + buckets.stride[b] * n_values
    w, last = buckets.base[b] >> 6, (end + 63) >> 6
    while w < last and hit[w] == 0:
        w += 1
    return bool(w < last)


@inner
def ones(word: np.uint64) -> np.int64:
    """How many bits are set."""
    word -= (word >> np.uint64(1)) & _1
    word = (word & _2) + ((word >> np.uint64(2)) & _2)
    word = (word + (word >> np.uint64(4))) & _4
    return np.int64((word * _ONES) >> np.uint64(56))


@inner
def mask_of(first: Whole, room: Whole) -> np.uint64:
    """The bits of a segment in its word; all of them where it takes whole words."""
    if room >= WORD:
        return _FULL
    return ((np.uint64(1) << np.uint64(room)) - np.uint64(1)) << np.uint64(first & 63)


@inner
def count_one(hit: Words, first: Whole, room: Whole) -> Whole:
    """Beta: the rows of the segment at this place that satisfy the conditions."""
    if room < WORD:
        return ones(hit[first >> 6] & mask_of(first, room))
    found = np.int64(0)
    for w in range(first >> 6, (first + room) >> 6):
        found += ones(hit[w])
    return found


@inner
def count_segments(
    hit: Words, b: Whole, alpha: Whole, buckets: Bucketization, beta: Counts
) -> tuple[Whole, Whole, Whole]:
    """All rows found, the alpha smallest and the alpha largest betas, over a bucket's cohorts."""
    n_values = buckets.starts[b + 1] - buckets.starts[b]
    base, stride, room = buckets.base[b], buckets.stride[b], buckets.room[b]
    total, few, many = np.int64(0), np.int64(0), np.int64(0)
    for k in range(buckets.cohorts[b]):
        n_found = 0  # betas above 0, descending
        for j in range(n_values):
            found = count_one(hit, base + j * stride + k * room, room)
            if found > 0:
                total += found
                at = n_found
                while at > 0 and beta[at - 1] < found:
                    beta[at] = beta[at - 1]
                    at -= 1
                beta[at] = found
                n_found += 1
        for i in range(min(alpha, n_found)):
            many += beta[i]
        for i in range(n_values - alpha, n_found):
            few += beta[i]
    return total, few, many


@inner
def count_lanes(
    hit: Words, b: Whole, alpha: Whole, buckets: Bucketization, levels: Words
) -> tuple[Whole, Whole, Whole]:
    """The same where segments are at most a byte: a cohort per byte of a word, all at once.

    With N(t) values of a cohort for which beta >= t, the alpha largest betas add up to the sum of
    min(alpha, N(t)) over t = 1, 2, ..., and the alpha smallest to that of
    max(0, N(t) - |K| + alpha). So no beta is sorted; the N(t) are counted in the bytes of
    ``levels``. Of segments of less than a byte, every byte holds several: they are taken in turns.
    """
    n_values, room = buckets.starts[b + 1] - buckets.starts[b], buckets.room[b]
    words, base = buckets.stride[b] >> 6, buckets.base[b] >> 6
    total, few, many = np.int64(0), np.int64(0), np.int64(0)
    for first in range(0, words, BLOCK):
        n = min(BLOCK, words - first)
        for turn in range(BYTE // room):
            for t in range(room):
                levels[t, :n] = np.uint64(0)
            for j in range(n_values):
                begin = base + j * words + first
                if room == BYTE:
                    add_levels(hit[begin : begin + n], levels)
                else:
                    add_few_levels(hit[begin : begin + n], levels, turn, room)
            for t in range(room):
                found, most, least = add_lanes(levels[t, :n], alpha, n_values)
                total += found
                many += most
                few += least
    return total, few, many


@inner
def add_levels(hit: Words, levels: Words) -> None:
    """For every byte that is hit more than t times, add one to its counter at level t."""
    for i in range(hit.size):
        word = hit[i]
        word -= (word >> np.uint64(1)) & _1
        word = (word & _2) + ((word >> np.uint64(2)) & _2)
        word = (word + (word >> np.uint64(4))) & _4
        for t in range(BYTE):
            # a byte of 0 to 8 plus 127 - t reaches its top bit from t + 1 on
            levels[t, i] += ((word + _ONES * np.uint64(127 - t)) & _TOPS) >> np.uint64(7)


@inner
def add_few_levels(hit: Words, levels: Words, turn: Whole, room: Whole) -> None:
    """The same where a cohort has but ``room`` bits of each byte."""
    shift = np.uint64(turn * room)
    field = _ONES * np.uint64((1 << room) - 1)
    for i in range(hit.size):
        word = (hit[i] >> shift) & field
        word -= (word >> np.uint64(1)) & _1
        word = (word & _2) + ((word >> np.uint64(2)) & _2)
        for t in range(room):
            levels[t, i] += ((word + _ONES * np.uint64(127 - t)) & _TOPS) >> np.uint64(7)


@inner
def add_lanes(level: Words, alpha: Whole, n_values: Whole) -> tuple[Whole, Whole, Whole]:
    """Sum up the counters: all hits, the most and the least that can have a wanted value."""
    total, many, few = np.int64(0), np.int64(0), np.int64(0)
    bytes_ = level.view(np.uint8)
    for i in range(bytes_.size):
        count = np.int64(bytes_[i])
        total += count
        many += min(count, alpha)
        few += max(np.int64(0), count - (n_values - alpha))
    return total, many, few
