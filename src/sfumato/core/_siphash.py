"""SipHash-2-4 of many byte strings at once.

Aumasson, Bernstein: "SipHash: a fast short-input PRF", INDOCRYPT 2012. With a secret key its values
tell nothing about the strings, and two strings share one only by chance, once in 2**64.
"""

from __future__ import annotations

import numpy as np

from sfumato.core.arrays import Bytes, Counts, Words
from sfumato.core.compiled import inner, kernel

_8 = np.uint64(8)
_13, _16, _17, _21 = np.uint64(13), np.uint64(16), np.uint64(17), np.uint64(21)
_32, _56, _64 = np.uint64(32), np.uint64(56), np.uint64(64)
_LAST = np.uint64(0xFF)
_START = np.array(
    [0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573], np.uint64
)


@kernel
def siphash(data: Bytes, starts: Counts, key: Words) -> Words:
    """The hash of every string ``data[starts[i]:starts[i + 1]]`` under a key of two words."""
    found = np.empty(len(starts) - 1, np.uint64)
    state = np.empty(4, np.uint64)
    for i in range(len(found)):
        low, high = starts[i], starts[i + 1]
        for part in range(4):
            state[part] = _START[part] ^ key[part & 1]
        whole = low + (high - low) // 8 * 8
        for at in range(low, whole, 8):
            _absorb(state, _word(data, at, at + 8))
        _absorb(state, _word(data, whole, high) | (np.uint64(high - low) << _56))
        state[2] ^= _LAST
        for _ in range(4):
            _round(state)
        found[i] = state[0] ^ state[1] ^ state[2] ^ state[3]
    return found


@kernel
def siphash_words(numbers: Counts, key: Words) -> Words:
    """The hash of every number as a string of eight bytes, the lowest first."""
    found = np.empty(len(numbers), np.uint64)
    state = np.empty(4, np.uint64)
    for i in range(len(found)):
        for part in range(4):
            state[part] = _START[part] ^ key[part & 1]
        _absorb(state, np.uint64(numbers[i]))
        _absorb(state, _8 << _56)
        state[2] ^= _LAST
        for _ in range(4):
            _round(state)
        found[i] = state[0] ^ state[1] ^ state[2] ^ state[3]
    return found


@inner
def _word(data: Bytes, low: int, high: int) -> np.uint64:
    """Up to eight bytes, the first one lowest."""
    word = np.uint64(0)
    for at in range(high - 1, low - 1, -1):
        word = (word << _8) | np.uint64(data[at])
    return word


@inner
def _absorb(state: Words, word: np.uint64) -> None:
    state[3] ^= word
    _round(state)
    _round(state)
    state[0] ^= word


@inner
def _round(state: Words) -> None:
    state[0] += state[1]
    state[2] += state[3]
    state[1] = _turned(state[1], _13) ^ state[0]
    state[3] = _turned(state[3], _16) ^ state[2]
    state[0] = _turned(state[0], _32)
    state[2] += state[1]
    state[0] += state[3]
    state[1] = _turned(state[1], _17) ^ state[2]
    state[3] = _turned(state[3], _21) ^ state[0]
    state[2] = _turned(state[2], _32)


@inner
def _turned(word: np.uint64, by: np.uint64) -> np.uint64:
    return np.uint64((word << by) | (word >> (_64 - by)))
