"""Where chance comes from.

Published order hides the input order only as long as nobody can replay the shuffle, so without a
seed every word comes from the operating system's cryptographic source. A seed makes a run
repeatable, and whoever knows the seed can undo its shuffles: it is never written anywhere.
"""

from __future__ import annotations

import os

import numpy as np

from sfumato.core.arrays import HalfWords, Words
from sfumato.core.threads import in_threads
from sfumato.errors import ParameterError

_PART = 2**22  # bytes


class Randomness:
    """A stream of random 64-bit words, secret unless seeded."""

    __slots__ = ("_generator",)

    def __init__(self, seed: int | None = None) -> None:
        if seed is not None and seed < 0:
            raise ParameterError(f"seed must be 0 or more, not {seed}", parameter="seed")
        self._generator = None if seed is None else np.random.default_rng(seed)

    def words(self, n: int) -> Words:
        """The next n words, uniform over all 64-bit values."""
        if self._generator is None:
            # a bytearray can be written to, like the generator's array: one type for the kernels
            return np.frombuffer(bytearray(os.urandom(8 * n)), dtype=np.uint64)
        return self._generator.integers(0, 2**64 - 1, size=n, dtype=np.uint64, endpoint=True)

    def half_words(self, n: int) -> HalfWords:
        """The next n words of 32 bits: enough to shuffle with, and twice as fast to come by."""
        if self._generator is None:
            # the system's source works on several parts at once
            parts = [min(_PART, 4 * n - low) for low in range(0, 4 * n, _PART)]
            return np.frombuffer(bytearray().join(in_threads(os.urandom, parts)), dtype=np.uint32)
        return self._generator.integers(0, 2**32 - 1, size=n, dtype=np.uint32, endpoint=True)

    def permutation(self, n: int) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
        """A uniformly random order of n things."""
        return np.argsort(self.words(n), kind="stable")
