"""Chance that hangs on a key and on what it is for, never on who draws it, or when.

A keyed word is SipHash-2-4 of a number (of a row, say) or of a line under a secret key: nobody who
lacks the key can tell it from a random one, and whoever has it computes the same word again, in
another process, in another order, on another machine.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from sfumato.core._siphash import siphash, siphash_words
from sfumato.core.arrays import Counts, HalfWords, Ints, Words

KEY_BYTES = 16


@dataclass(frozen=True, slots=True)
class Key:
    """A secret key; ``for_`` makes another one of it for every purpose."""

    secret: bytes

    def for_(self, purpose: str) -> Key:
        """A key of its own for a purpose."""
        made = hashlib.blake2b(purpose.encode(), key=self.secret, digest_size=KEY_BYTES)
        return Key(made.digest())

    def words(self, numbers: Counts) -> Words:
        """A word for every number."""
        return siphash_words(np.ascontiguousarray(numbers, np.int64), self._words)

    def half_words(self, numbers: Counts) -> HalfWords:
        """A word of 32 bits for every number."""
        return (self.words(numbers) >> np.uint64(32)).astype(np.uint32)

    def line_words(self, lines: Ints) -> Words:
        """A word for every line of a matrix of whole numbers."""
        n, width = lines.shape
        flat = np.ascontiguousarray(lines, np.int64).reshape(-1)
        return self.list_words(flat, np.arange(n + 1, dtype=np.int64) * width)

    def list_words(self, numbers: Ints, starts: Counts) -> Words:
        """A word for every list ``numbers[starts[i]:starts[i + 1]]``."""
        data = np.ascontiguousarray(numbers, "<i8").view(np.uint8)
        return siphash(data, 8 * starts, self._words)

    @property
    def _words(self) -> Words:
        return np.frombuffer(self.secret, "<u8").astype(np.uint64)

    def __repr__(self) -> str:
        """Not the secret."""
        return "Key(...)"
