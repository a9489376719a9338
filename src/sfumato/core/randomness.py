"""Where chance comes from.

Published order hides the input order only as long as nobody can replay the shuffle, so without a
seed every word comes from the operating system's cryptographic source. A seed makes a run
repeatable, and anybody who knows it can undo its shuffles: it is never written anywhere.

Three streams of words: the system's without a seed; SHAKE-256 of a key and a counter for a seed
that cannot be searched; PCG64 for a short one, which experiments are repeated with and which keeps
no secret: some words of it tell the others.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable

import numpy as np

from sfumato.core._kernels import argsort_words
from sfumato.core.arrays import Counts, HalfWords, Words
from sfumato.core.keyed import KEY_BYTES, Key
from sfumato.core.seeds import Seed, key_of, number_of, stated_seed
from sfumato.core.threads import in_threads

_PART = 2**22  # bytes


class Randomness:
    """A stream of random 64-bit words, secret unless seeded.

    ``stated_seed`` is what a release has to say of the seed: None if nothing.

    >>> one, other = sf.Randomness(7), sf.Randomness(7)
    >>> one.permutation(5).tolist() == other.permutation(5).tolist()
    True
    """

    __slots__ = ("_generator", "_key", "_short", "_used", "stated_seed")

    def __init__(self, seed: Seed | None = None) -> None:
        self.stated_seed = stated_seed(seed)
        self._generator: np.random.Generator | None = None
        self._key: bytes | None = None
        self._short: bytes | None = None
        self._used = 0
        if self.stated_seed is not None:
            self._generator = np.random.default_rng(number_of(seed))
            self._short = str(number_of(seed)).encode()
        elif seed is not None:
            self._key = key_of(seed)

    @classmethod
    def of_key(cls, key: Key) -> Randomness:
        """The stream of a key, for work that may be done again elsewhere."""
        made = cls()
        made._key = key.secret
        return made

    def bind(self, purpose: object, *digests: Callable[[], bytes]) -> None:
        """Make the words ahead depend on what they are for, too, if there is a key.

        Two releases with one seed would otherwise be shuffled alike, and what stands at the same
        place in both would be the same person's: boxes with sensitive values in one, exact values
        in the other. The same work on the same table still has the same words. ``digests`` give
        checksums of one length each, and are not asked for nothing.
        """
        if self._key is not None:
            bound = hashlib.sha256(b"bind" + self._key)
            for digest in digests:
                bound.update(digest())
            # an object of a stranger's may have another repr in every process: its type must do
            bound.update(json.dumps(purpose, default=lambda one: type(one).__name__).encode())
            self._key = bound.digest()

    def key(self, purpose: str) -> Key:
        """A key for what must not depend on the order in which words are drawn (keyed.py).

        With a seed it is one and the same for a purpose, whatever was drawn before.
        """
        master = self._short if self._key is None else self._key
        if master is None:
            return Key(os.urandom(KEY_BYTES))
        return Key(hashlib.shake_256(b"key" + master).digest(KEY_BYTES)).for_(purpose)

    def words(self, n: int) -> Words:
        """The next n words, uniform over all 64-bit values."""
        if self._generator is None:
            return np.frombuffer(self._bytes(8 * n), dtype="<u8").astype(np.uint64, copy=False)
        return self._generator.integers(0, 2**64 - 1, size=n, dtype=np.uint64, endpoint=True)

    def half_words(self, n: int) -> HalfWords:
        """The next n words of 32 bits: enough to shuffle with, and twice as fast to come by."""
        if self._generator is None:
            return np.frombuffer(self._bytes(4 * n), dtype="<u4").astype(np.uint32, copy=False)
        return self._generator.integers(0, 2**32 - 1, size=n, dtype=np.uint32, endpoint=True)

    def permutation(self, n: int) -> Counts:
        """A uniformly random order of n things."""
        return argsort_words(self.words(n))

    def __repr__(self) -> str:
        """Where it comes from, without the seed, which could undo the shuffles."""
        if self._generator is not None:
            return "Randomness(short seed)"
        return "Randomness(system)" if self._key is None else "Randomness(seed)"

    def _bytes(self, n: int) -> bytearray:
        """The next n bytes of the system, or of the key; both work on several parts at once."""
        sizes = [min(_PART, n - low) for low in range(0, n, _PART)]
        parts = list(enumerate(sizes, self._used))
        self._used += len(parts)
        # a bytearray can be written to, like the generator's array: one type for the kernels
        if len(parts) <= 1:
            return bytearray().join(map(self._part, parts))
        return bytearray().join(in_threads(self._part, parts))

    def _part(self, part: tuple[int, int]) -> bytes:
        number, size = part
        if self._key is None:
            return os.urandom(size)
        return hashlib.shake_256(self._key + number.to_bytes(8, "little")).digest(size)
