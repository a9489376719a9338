"""Who stands alone on some columns: compiled, over the different combinations of all columns."""

from __future__ import annotations

import numpy as np

from sfumato.core.arrays import Codes, Counts, Flags, Words
from sfumato.core.compiled import inner, kernel

SEVERAL = -1  # of people: nobody stands alone here
_NOBODY = -2
_ONE = np.uint64(1)
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)
_DIRECT = 4  # times as many places as points: a table without keys is still the faster one


@kernel
def alone_on(codes: Codes, columns: Counts, sizes: Counts, who: Codes) -> Flags:
    """Which points are one person's alone on these columns.

    ``who`` is the only person of each point, or SEVERAL. The product of the sizes of the columns
    must be below 2^63: a key is the values themselves, packed, so that no two can be mistaken.
    """
    n = codes.shape[0]
    room = 1.0
    for j in columns:
        room *= sizes[j]
    keys = np.empty(n, np.uint64)
    for i in range(n):
        key = np.uint64(0)
        for j in columns:
            key = key * np.uint64(sizes[j]) + np.uint64(codes[i, j])
        keys[i] = key
    if room <= _DIRECT * n + 1024:
        return _by_place(keys, int(room), who)
    return _by_hash(keys, who)


@inner
def _by_place(keys: Words, room: int, who: Codes) -> Flags:
    person = np.full(room, _NOBODY, np.int32)
    for i in range(keys.size):
        key = keys[i]
        if person[key] == _NOBODY:
            person[key] = who[i]
        elif person[key] != who[i]:
            person[key] = SEVERAL
    alone = np.empty(keys.size, np.bool_)
    for i in range(keys.size):
        alone[i] = person[keys[i]] >= 0
    return alone


@inner
def _by_hash(keys: Words, who: Codes) -> Flags:
    n = keys.size
    slots = np.uint64(1024)
    while slots < np.uint64(2 * n):
        slots *= np.uint64(2)
    held = np.empty(slots, np.uint64)
    person = np.full(slots, _NOBODY, np.int32)
    place = np.empty(n, np.uint64)
    for i in range(n):
        slot = keys[i] * _MULTIPLIER
        slot = (slot ^ (slot >> _SHIFT)) & (slots - _ONE)
        while person[slot] != _NOBODY and held[slot] != keys[i]:
            slot = (slot + _ONE) & (slots - _ONE)
        place[i] = slot
        if person[slot] == _NOBODY:
            held[slot] = keys[i]
            person[slot] = who[i]
        elif person[slot] != who[i]:
            person[slot] = SEVERAL
    alone = np.empty(n, np.bool_)
    for i in range(n):
        alone[i] = person[place[i]] >= 0
    return alone
