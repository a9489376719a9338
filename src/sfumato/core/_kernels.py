"""Compiled loops over codes and groups; see the modules that call them for what they mean."""

from __future__ import annotations

import numpy as np

from sfumato.core.arrays import Codes, Counts, Flags, HalfWords, Whole, Words
from sfumato.core.compiled import inner, kernel

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)
_ONE = np.uint64(1)
_TOP = np.int32(2**31 - 1)
_HALF, _LOW = np.uint64(32), np.uint64(2**32 - 1)


@kernel
def number_rows(codes: Codes, sizes: Counts) -> tuple[Codes, Codes, Counts]:
    """Give equal rows equal numbers, in order of first appearance.

    Returns the number of every row, the first row that has each number, and how many have it.
    ``sizes`` bounds the codes of each column. A row's key is the row itself, packed, where it fits
    into 64 bits, and a hash of it where not; the table of keys grows with what it holds, so that
    few different rows stay in the processor's cache.
    """
    n, d = codes.shape
    room = 1.0
    for j in range(d):
        room *= sizes[j]
    exact = room < 2.0**63
    slots = np.uint64(1024)
    table = _empty_table(slots)
    keys = np.empty(n, np.uint64)
    number = np.empty(n, np.int32)
    first = np.empty(n, np.int32)
    count = np.zeros(n, np.int64)
    found = 0
    for i in range(n):
        key = np.uint64(0)
        for j in range(d):
            if exact:
                key = key * np.uint64(sizes[j]) + np.uint64(codes[i, j])
            else:
                key = _mixed(key ^ np.uint64(codes[i, j]))
        slot = _mixed(key) & (slots - _ONE)
        while True:
            known = table[slot]
            if known < 0:
                table[slot] = found
                keys[found] = key
                first[found] = i
                known = found
                found += 1
                break
            if keys[known] == key and (exact or _same(codes, first[known], i)):
                break
            slot = (slot + _ONE) & (slots - _ONE)
        number[i] = known
        count[known] += 1
        if np.uint64(2 * found) > slots:
            slots *= np.uint64(4)
            table = _empty_table(slots)
            for entry in range(found):
                slot = _mixed(keys[entry]) & (slots - _ONE)
                while table[slot] >= 0:
                    slot = (slot + _ONE) & (slots - _ONE)
                table[slot] = entry
    return number, first[:found].copy(), count[:found].copy()


@inner
def _empty_table(slots: np.uint64) -> Codes:
    table = np.empty(slots, np.int32)
    for slot in range(table.size):
        table[slot] = -1
    return table


@inner
def _mixed(key: np.uint64) -> np.uint64:
    """Spread a key over 64 bits (multiply and fold, as in Fibonacci hashing)."""
    key *= _MULTIPLIER
    return key ^ (key >> _SHIFT)


@inner
def _same(codes: Codes, one: int, other: int) -> bool:
    for j in range(codes.shape[1]):  # noqa: SIM110
        if codes[one, j] != codes[other, j]:
            return False
    return True


@kernel
def rows_by_group(groups: Codes, n_groups: int) -> tuple[Codes, Counts]:
    """Rows sorted by group, input order kept inside a group, and where each group starts."""
    starts = np.zeros(n_groups + 1, np.int64)
    for g in groups:
        starts[g + 1] += 1
    for g in range(n_groups):
        starts[g + 1] += starts[g]
    place = starts.copy()
    rows = np.empty(groups.size, np.int32)
    for i in range(groups.size):
        g = groups[i]
        rows[place[g]] = i
        place[g] += 1
    return rows, starts


@kernel
def rows_and_words(groups: Codes, starts: Counts, words: HalfWords) -> tuple[Codes, HalfWords]:
    """Rows sorted by group as ``rows_by_group`` does it, and the word of each.

    A row travels together with its word: to look for the words afterwards, all over the memory,
    takes as long as sorting. Nothing is returned if ``starts`` are not those of the groups.
    """
    n_groups = starts.size - 1
    place = starts.copy()
    pairs = np.empty(groups.size, np.uint64)
    for i in range(groups.size):
        g = groups[i]
        if g < 0 or g >= n_groups or place[g] >= pairs.size:
            return np.empty(0, np.int32), np.empty(0, np.uint32)
        pairs[place[g]] = (np.uint64(words[i]) << _HALF) | np.uint64(i)
        place[g] += 1
    for g in range(n_groups):
        if place[g] != starts[g + 1]:
            return np.empty(0, np.int32), np.empty(0, np.uint32)
    rows = np.empty(groups.size, np.int32)
    moved = np.empty(groups.size, np.uint32)
    for i in range(groups.size):
        rows[i] = np.int32(pairs[i] & _LOW)
        moved[i] = np.uint32(pairs[i] >> _HALF)
    return rows, moved


@kernel
def argsort_words(words: Words) -> Counts:
    """The stable order of random words: into as many drawers as there are words, by their first
    bits, and then inside each drawer, which hardly ever has more than a few.
    """
    n = words.size
    bits = 1
    while bits < 30 and (1 << bits) < n:
        bits += 1
    shift = np.uint64(64 - bits)
    starts = np.zeros((1 << bits) + 1, np.int32)
    for word in words:
        starts[(word >> shift) + _ONE] += 1
    for drawer in range(1 << bits):
        starts[drawer + 1] += starts[drawer]
    order = np.empty(n, np.int64)
    for i in range(n - 1, -1, -1):  # from the end: then ``starts`` are starts when all is done
        drawer = (words[i] >> shift) + _ONE
        starts[drawer] -= 1
        order[starts[drawer]] = i
    for i in range(1, n):  # nothing moves beyond its drawer
        row = order[i]
        at = i
        while at > 0 and words[order[at - 1]] > words[row]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = row
    return order


@kernel
def codes_by_group(codes: Codes, groups: Codes, starts: Counts) -> Codes:
    """The codes group after group; ``starts`` says where each group's start."""
    place = starts.copy()
    gathered = np.empty(codes.size, np.int32)
    for i in range(codes.size):
        gathered[place[groups[i]]] = codes[i]
        place[groups[i]] += 1
    return gathered


@kernel
def count_values(
    codes: Codes, starts: Counts, n_values: int
) -> tuple[Counts, Codes, Counts, Counts]:
    """Which codes occur in each group, ascending, and how often.

    Codes stand group after group, ``starts`` says where. Returns where each group's entries start,
    the codes and the counts, both longer than they are filled, and the counts in all groups.
    """
    n_groups = starts.size - 1
    first = np.zeros(n_groups + 1, np.int64)
    values = np.empty(codes.size + 1, np.int32)
    counts = np.empty(codes.size, np.int64)
    seen = np.zeros(n_values, np.int64)
    whole = np.zeros(n_values, np.int64)
    filled: Whole = 0
    for g in range(n_groups):
        begin = filled
        for i in range(starts[g], starts[g + 1]):
            code = codes[i]
            if seen[code] == 0:
                values[filled] = code
                filled += 1
            seen[code] += 1
        if 16 * (filled - begin) > n_values:
            filled = begin  # many of them: read them off in order
            for code in range(n_values):  # without a branch, which nobody could foresee
                values[filled] = code
                filled += np.int64(seen[code] > 0)
        else:
            for i in range(begin + 1, filled):  # few of them: insertion sort
                code = values[i]
                at = i
                while at > begin and values[at - 1] > code:
                    values[at] = values[at - 1]
                    at -= 1
                values[at] = code
        for i in range(begin, filled):
            counts[i] = seen[values[i]]
            whole[values[i]] += counts[i]
            seen[values[i]] = 0
        first[g + 1] = filled
    return first, values, counts, whole


@kernel
def shuffle_groups(rows: Codes, starts: Counts, words: HalfWords) -> None:
    """Shuffle the rows of every group in place (Fisher and Yates), one random word per row.

    A word is scaled to the rows still to choose from; in a group of s rows no choice is more likely
    than another by more than a factor of 1 + s / 2**32.
    """
    for g in range(starts.size - 1):
        start = starts[g]
        for i in range(starts[g + 1] - 1, start, -1):
            choices = np.uint64(i - start + 1)
            other = start + np.int64((np.uint64(words[i]) * choices) >> np.uint64(32))
            rows[i], rows[other] = rows[other], rows[i]


@kernel
def group_ranges(
    codes: Codes, groups: Codes, n_groups: int, missing: int
) -> tuple[Codes, Codes, Flags]:
    """Smallest and largest code of every group, and whether the missing code is among them.

    The missing code stays out of the range; a group that has nothing else gets the range (-1, -1).
    """
    low = np.empty(n_groups, np.int32)
    high = np.empty(n_groups, np.int32)
    has_missing = np.zeros(n_groups, np.bool_)
    for g in range(n_groups):
        low[g] = _TOP
        high[g] = -1
    for i in range(codes.size):
        g = groups[i]
        code = codes[i]
        if code == missing:
            has_missing[g] = True
            continue
        if code < low[g]:
            low[g] = code
        if code > high[g]:
            high[g] = code
    for g in range(n_groups):
        if high[g] < 0:
            low[g] = -1
    return low, high, has_missing
