"""Compiled loops that count in groups of neighbours; neighbours.py says what they do.

Groups in reach are found in the index over groups (boxes.py); only the words with their places are
looked at, all of them condition by condition, so that one load does not wait for another.
"""

from __future__ import annotations

import numpy as np

from sfumato.core.arrays import Codes, Counts, Whole, Words
from sfumato.core.compiled import inner, kernel
from sfumato.statdb.count.kernel import ones
from sfumato.statdb.count.match_kernel import EVERYBODY, add_between, keep, keep_between, match

_FULL = np.uint64(0xFFFFFFFFFFFFFFFF)
_ONE = np.uint64(1)


@kernel
def near_count(
    bitmaps: Words,
    more: Words,
    value_bitmaps: Words,
    value_more: Words,
    group_bitmaps: Words,
    base: Counts,
    steps: Counts,
    rows_from: int,
    values_from: int,
) -> tuple[float, int, int]:
    """Expected, fewest and most rows.

    ``steps`` are those over groups, rows and values, one after the other.
    """
    groups = groups_in_reach(group_bitmaps, steps[:rows_from], more[:0])
    words, first = words_of(groups, base)
    hit = gathered(bitmaps, steps[rows_from:values_from], more, words)
    wanted = gathered(value_bitmaps, steps[values_from:], value_more, words)
    expected, lo, hi = 0.0, np.int64(0), np.int64(0)
    for i in range(groups.size):
        begin, end = base[groups[i]], base[groups[i] + 1]
        q = between(hit, first[i], begin, end)
        if q > 0:
            n, w = end - begin, between(wanted, first[i], begin, end)
            expected += q * w / n
            lo += max(np.int64(0), q + w - n)
            hi += min(q, w)
    return expected, int(lo), int(hi)


@kernel
def near_tally(
    bitmaps: Words,
    more: Words,
    value_bitmaps: Words,
    value_more: Words,
    group_bitmaps: Words,
    base: Counts,
    steps: Counts,
    rows_from: int,
    values_from: int,
) -> tuple[Codes, Counts, Counts]:
    """Groups with rows that satisfy the conditions and with wanted values; how many of each."""
    groups = groups_in_reach(group_bitmaps, steps[:rows_from], more[:0])
    words, first = words_of(groups, base)
    hit = gathered(bitmaps, steps[rows_from:values_from], more, words)
    wanted = gathered(value_bitmaps, steps[values_from:], value_more, words)
    rows, values = np.empty(groups.size, np.int64), np.empty(groups.size, np.int64)
    n_found = 0
    for i in range(groups.size):
        begin, end = base[groups[i]], base[groups[i] + 1]
        q, w = between(hit, first[i], begin, end), between(wanted, first[i], begin, end)
        if q > 0 and w > 0:
            groups[n_found], rows[n_found], values[n_found] = groups[i], q, w
            n_found += 1
    return groups[:n_found], rows[:n_found], values[:n_found]


@kernel
def wanted_places(
    groups: Codes,
    values: Counts,
    base: Counts,
    value_bitmaps: Words,
    value_steps: Counts,
    value_more: Words,
) -> Counts:
    """The places of groups that have a wanted value; ``values`` says how many each has."""
    words, first = words_of(groups, base)
    wanted = gathered(value_bitmaps, value_steps, value_more, words)
    places, at = np.empty(values.sum(), np.int64), 0
    for i in range(groups.size):
        begin, end = base[groups[i]], base[groups[i] + 1]
        for w in range(begin >> 6, ((end - 1) >> 6) + 1):
            word = within(wanted[first[i] + w - (begin >> 6)], w, begin, end)
            while word != 0:
                places[at] = (w << 6) + lowest(word)
                at += 1
                word &= word - _ONE
    return places


@kernel
def codes_by_part(codes: Codes, lengths: Counts) -> tuple[Codes, Counts, Counts]:
    """The different codes of every part, ascending, how often it has each, and their parts.

    Parts are short, and their codes are sorted in place.
    """
    counts, parts = np.empty(codes.size, np.int64), np.empty(codes.size, np.int64)
    begin, n = 0, 0
    for part in range(lengths.size):
        for at in range(begin + 1, begin + lengths[part]):
            code, free = codes[at], at
            while free > begin and codes[free - 1] > code:
                codes[free] = codes[free - 1]
                free -= 1
            codes[free] = code
        first = n
        for at in range(begin, begin + lengths[part]):
            if n > first and codes[n - 1] == codes[at]:
                counts[n - 1] += 1
            else:
                codes[n], counts[n], parts[n] = codes[at], 1, part
                n += 1
        begin += lengths[part]
    return codes[:n], counts[:n], parts[:n]


@inner
def groups_in_reach(bitmaps: Words, steps: Counts, nothing_more: Words) -> Codes:
    """The groups that conditions can touch."""
    hit = np.empty(bitmaps.shape[1], np.uint64)
    match(bitmaps, steps, nothing_more, 0, hit.size, hit)
    n = np.int64(0)
    for w in range(hit.size):
        n += ones(hit[w])
    groups, at = np.empty(n, np.int32), 0
    for w in range(hit.size):
        word = hit[w]
        while word != 0:
            groups[at] = (w << 6) + lowest(word)
            at += 1
            word &= word - _ONE
    return groups


@inner
def words_of(groups: Codes, base: Counts) -> tuple[Words, Counts]:
    """The words with the places of groups, ascending and each once, and where a group's begin."""
    n, last = np.int64(0), np.int64(-1)
    first = np.empty(groups.size, np.int64)
    for i in range(groups.size):
        begin, end = base[groups[i]] >> 6, (base[groups[i] + 1] - 1) >> 6
        shared = begin == last
        first[i] = n - shared
        n += end - begin + 1 - shared
        last = end
    words = np.empty(n, np.uint64)
    for i in range(groups.size):
        begin, end = base[groups[i]] >> 6, (base[groups[i] + 1] - 1) >> 6
        for w in range(begin, end + 1):
            words[first[i] + w - begin] = np.uint64(w)
    return words, first


@inner
def gathered(bitmaps: Words, steps: Counts, more: Words, words: Words) -> Words:
    """What match_in finds, of these words only."""
    out, some = np.empty(words.size, np.uint64), np.empty(words.size, np.uint64)
    high, low = np.empty(words.size, np.uint64), np.empty(words.size, np.uint64)
    if steps.size > 0:
        out[:] = _FULL  # whatever a condition keeps has a row
    else:
        pick(bitmaps[EVERYBODY], words, out)
    for m in range(more.shape[0]):
        pick(more[m], words, some)
        keep(out, some)
    at = 0
    while at < steps.size:
        n_runs, n_digits = steps[at], steps[at + 1]
        at += 2
        if n_runs == 1 and n_digits == 1:
            one, other = bitmaps[steps[at]], bitmaps[steps[at + 2]]
            for i in range(words.size):
                out[i] &= one[words[i]] & ~other[words[i]]
            at += 4
            continue
        if n_runs != 1:
            some[:] = np.uint64(0)
        for _ in range(n_runs):
            gather_below(bitmaps, steps, at, n_digits, words, high)
            gather_below(bitmaps, steps, at + 2 * n_digits, n_digits, words, low)
            at += 4 * n_digits
            if n_runs == 1:
                keep_between(out, high, low)
            else:
                add_between(some, high, low)
        if n_runs != 1:
            keep(out, some)
    return out


@inner
def gather_below(
    bitmaps: Words, steps: Counts, at: Whole, n_digits: Whole, words: Words, out: Words
) -> None:
    """One end of a run."""
    pick(bitmaps[steps[at]], words, out)
    for k in range(1, n_digits):
        one, two = bitmaps[steps[at + 2 * k]], bitmaps[steps[at + 2 * k + 1]]
        for i in range(words.size):
            out[i] = one[words[i]] | (two[words[i]] & out[i])


@inner
def pick(bitmap: Words, words: Words, out: Words) -> None:
    """Some words of a bitmap."""
    for i in range(words.size):
        out[i] = bitmap[words[i]]


@inner
def between(words: Words, at: Whole, begin: Whole, end: Whole) -> Whole:
    """How many bits are set from one place up to another; ``words[at]`` has the first."""
    last = at + ((end - 1) >> 6) - (begin >> 6)
    head, tail = _FULL << np.uint64(begin & 63), _FULL >> np.uint64(63 - ((end - 1) & 63))
    if at == last:
        return ones(words[at] & head & tail)
    found = ones(words[at] & head) + ones(words[last] & tail)
    for w in range(at + 1, last):
        found += ones(words[w])
    return found


@inner
def within(word: np.uint64, w: Whole, begin: Whole, end: Whole) -> np.uint64:
    """The bits of word w that lie from one place up to another."""
    if w == begin >> 6:
        word &= _FULL << np.uint64(begin & 63)
    if w == (end - 1) >> 6:
        word &= _FULL >> np.uint64(63 - ((end - 1) & 63))
    return word


@inner
def lowest(word: np.uint64) -> Whole:
    """The place of the lowest bit that is set."""
    return ones(~word & (word - _ONE))
