"""SipHash-2-4 of many byte strings at once.

Aumasson, Bernstein: "SipHash: a fast short-input PRF", INDOCRYPT 2012. With a secret key its values
tell nothing about the strings, and two strings share one only by chance, once in 2**64.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from sfumato.core.arrays import Bytes, Counts, Words
from sfumato.core.compiled import inner, kernel

_8 = np.uint64(8)
_13, _16, _17, _21 = np.uint64(13), np.uint64(16), np.uint64(17), np.uint64(21)
_32, _56, _64 = np.uint64(32), np.uint64(56), np.uint64(64)
_LAST = np.uint64(0xFF)
_START_0, _START_1 = np.uint64(0x736F6D6570736575), np.uint64(0x646F72616E646F6D)
_START_2, _START_3 = np.uint64(0x6C7967656E657261), np.uint64(0x7465646279746573)
State: TypeAlias = tuple[np.uint64, np.uint64, np.uint64, np.uint64]


@kernel
def siphash(data: Bytes, starts: Counts, key: Words) -> Words:
    """The hash of every string ``data[starts[i]:starts[i + 1]]`` under a key of two words."""
    found = np.empty(len(starts) - 1, np.uint64)
    for i in range(len(found)):
        low, high = starts[i], starts[i + 1]
        state = _begun(key)
        whole = low + (high - low) // 8 * 8
        for at in range(low, whole, 8):
            state = _absorbed(state, _word(data, at, at + 8))
        state = _absorbed(state, _word(data, whole, high) | (np.uint64(high - low) << _56))
        found[i] = _ended(state)
    return found


@kernel
def siphash_words(numbers: Counts, key: Words) -> Words:
    """The hash of every number as a string of eight bytes, the lowest first."""
    found = np.empty(len(numbers), np.uint64)
    for i in range(len(found)):
        state = _absorbed(_begun(key), np.uint64(numbers[i]))
        found[i] = _ended(_absorbed(state, _8 << _56))
    return found


@inner
def _word(data: Bytes, low: int, high: int) -> np.uint64:
    """Up to eight bytes, the first one lowest."""
    word = np.uint64(0)
    for at in range(high - 1, low - 1, -1):
        word = (word << _8) | np.uint64(data[at])
    return word


@inner
def _begun(key: Words) -> State:
    return _START_0 ^ key[0], _START_1 ^ key[1], _START_2 ^ key[0], _START_3 ^ key[1]


@inner
def _absorbed(state: State, word: np.uint64) -> State:
    a, b, c, d = _round(_round((state[0], state[1], state[2], state[3] ^ word)))
    return a ^ word, b, c, d


@inner
def _ended(state: State) -> np.uint64:
    last = (state[0], state[1], state[2] ^ _LAST, state[3])
    a, b, c, d = _round(_round(_round(_round(last))))
    return a ^ b ^ c ^ d


@inner
def _round(state: State) -> State:
    """One round; values instead of an array, so that they stay in registers."""
    a, b, c, d = state
    a += b
    c += d
    b = _turned(b, _13) ^ a
    d = _turned(d, _16) ^ c
    a = _turned(a, _32)
    c += b
    a += d
    b = _turned(b, _17) ^ c
    d = _turned(d, _21) ^ a
    c = _turned(c, _32)
    return a, b, c, d


@inner
def _turned(word: np.uint64, by: np.uint64) -> np.uint64:
    return np.uint64((word << by) | (word >> (_64 - by)))
