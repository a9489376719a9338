"""An ST in which no group has a value twice, as Anatomize makes it: one bit per group and value.

A condition is then a word or a few per group, and the matching count the number of bits they share.
"""

from __future__ import annotations

import numpy as np

from sfumato.answers.arrays import Marks
from sfumato.core.arrays import Counts, Ints, Words
from sfumato.core.attribute import Attribute

_WORD = 64
_MOST_WORDS = 4


def group_bits(column: tuple[Attribute, Ints], starts: Ints) -> Words | None:
    """``[w, g]`` has a bit for every value 64 w, 64 w + 1, ... that group g holds.

    None where a group is empty, has a value twice or out of order, or where values are many.
    """
    attribute, codes = column
    n_words = -(-attribute.size // _WORD)
    if not 0 < n_words <= _MOST_WORDS or not np.diff(starts).all() or len(starts) < 2:
        return None
    rising = codes[1:] > codes[:-1]
    rising[starts[1:-1] - 1] = True  # a new group begins anew
    if not rising.all():
        return None
    places, bits = np.divmod(codes.astype(np.uint64), np.uint64(_WORD))
    each = np.uint64(1) << bits
    return np.stack(
        [
            np.bitwise_or.reduceat(np.where(places == w, each, np.uint64(0)), starts[:-1])
            for w in range(n_words)
        ]
    )


def count_bits(words: Words, marks: Marks) -> Counts:
    """How many values of each group are marked."""
    padded = np.zeros(len(words) * _WORD, np.uint8)
    padded[: len(marks)] = marks
    wanted = np.packbits(padded, bitorder="little").view("<u8")
    found = np.zeros(words.shape[1], np.int64)
    for line, word in zip(words, wanted, strict=True):
        found += np.bitwise_count(line & word)
    return found
