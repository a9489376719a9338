"""An ST in which no group has a value twice, as Anatomize makes it: one bit per group and value.

A condition is then a word or a few per group, and the matching count the number of bits they share.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.core.arrays import Codes, Floats, Ints, Words
from sfumato.core.attribute import Attribute
from sfumato.queries.count import CountQuery
from sfumato.queries.packing import Domain

_WORD = 64
_MOST_WORDS = 4


@dataclass(frozen=True, slots=True, eq=False)
class GroupBits:
    """``words[w, g]`` has a bit for every value 64 w, 64 w + 1, ... that group g holds."""

    domain: Domain
    words: Words

    @classmethod
    def of(cls, attribute: Attribute, codes: Ints, groups: Codes, n_groups: int) -> GroupBits:
        """From records of a group and a code each, all different."""
        words = np.zeros((-(-attribute.size // _WORD), n_groups), np.uint64)
        places, bits = np.divmod(codes.astype(np.int64), _WORD)
        np.bitwise_or.at(words, (places, groups), np.uint64(1) << bits.astype(np.uint64))
        return cls(Domain.of(attribute), words)

    @property
    def names(self) -> tuple[str, ...]:
        """The attribute that conditions can be about."""
        return (self.domain.name,)

    def weigh(self, weights: Floats, query: CountQuery) -> bool:
        """Multiply each group's weight by its rows with a wanted value; False if none is asked."""
        if self.domain.name not in query.conditions:
            return False
        marks = self.domain.marks(query.conditions[self.domain.name])
        padded = np.zeros(len(self.words) * _WORD, np.uint8)
        padded[: len(marks)] = marks
        wanted = np.packbits(padded, bitorder="little").view("<u8")
        found = sum(
            np.bitwise_count(line & word) for line, word in zip(self.words, wanted, strict=True)
        )
        weights *= found
        return True


def fits_bits(attribute: Attribute, codes: Ints, counts: Ints, groups: Codes) -> bool:
    """Whether every record counts one row, none is there twice, and the domain is small."""
    if attribute.size > _MOST_WORDS * _WORD or not (counts == 1).all():
        return False
    keys = groups.astype(np.int64) * attribute.size + codes
    return bool((np.diff(keys) > 0).all()) or len(np.unique(keys)) == len(keys)
