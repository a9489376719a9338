"""The index: bitmaps over places from which any condition on quasi-identifiers is read off.

One bitmap "code <= t" per code t makes a range two lookups, but takes a bit per row and code. Where
that is too much a code is written in several digits, as with Chan and Ioannidis ("Bitmap index
design and evaluation", SIGMOD 1998), each with its own bitmaps "digit <= t"; with the most
significant digit d1 and the rest as a smaller number,

    code <= t   is   d1 <= t1 - 1   or   d1 <= t1 and rest <= rest of t.

Two digits make 17 bitmaps of 88 codes, and digits of base 2 make 17 of 100,000. The attribute that
saves the most gets another digit until all fit in the budget, which keeps the index below 3 times
the coded table.

Bitmap 0 is empty, bitmap 1 has all places with a row. The last bitmap of every digit would be that
one, and is left out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sfumato.core.arrays import Codes, Counts, Ints, Words
from sfumato.statdb.layout.bucketization import WORD
from sfumato.statdb.layout.kernel import mark_digits, mark_places

NOBODY, EVERYBODY = 0, 1
_BUDGET = 2.75  # of the size of the coded table


class Index(NamedTuple):
    """``bitmaps[i]`` has a bit per place. Quasi-identifier q has the digits ``digit_starts[q]`` to
    ``digit_starts[q + 1]``, least significant first; digit k is a number below ``bases[k]`` whose
    bitmaps begin at ``first[k]``.
    """

    bitmaps: Words
    digit_starts: Counts
    bases: Counts
    first: Counts

    def __repr__(self) -> str:
        """Sizes only: the bits are rows."""
        return f"Index({len(self.bitmaps):,} bitmaps)"


def build_index(
    sizes: Sequence[int], codes: Sequence[Ints], everybody: Words, allowed: int
) -> Index:
    """Bitmaps of quasi-identifiers: their numbers of codes, and their codes at all places."""
    return index_in(choose_bases(sizes, allowed), codes, everybody)


def index_in(bases: Sequence[tuple[int, ...]], codes: Sequence[Ints], everybody: Words) -> Index:
    """Bitmaps of attributes whose codes are written in digits of these bases."""
    digits = [base for own in bases for base in own]
    first = np.cumsum([2, *(base - 1 for base in digits)])
    index = Index(
        np.empty((int(first[-1]), 0), np.uint64),
        np.append(0, np.cumsum([len(own) for own in bases])).astype(np.int64),
        np.array(digits, np.int64),
        first[:-1].astype(np.int64),
    )
    return index._replace(bitmaps=marked(index, codes, everybody))


def marked(index: Index, codes: Sequence[Ints], everybody: Words) -> Words:
    """The bitmaps that an index has over these places; ``everybody`` are those with a row."""
    bitmaps = np.zeros((len(index.bitmaps), len(everybody)), np.uint64)
    bitmaps[EVERYBODY] = everybody
    for column, begin, end in zip(codes, *_ends(index.digit_starts), strict=True):
        divisor, wide = 1, column.astype(np.int32)
        for first, base in zip(
            index.first[begin:end].tolist(), index.bases[begin:end].tolist(), strict=True
        ):
            part = bitmaps[first : first + base - 1]
            mark_digits(wide, bitmaps[EVERYBODY], divisor, base, part, np.empty(base, np.uint64))
            divisor *= base
    return bitmaps


def places_marked(rows: Codes) -> Words:
    """A bitmap of the places that have a row, -1 being none."""
    words = np.zeros(len(rows) // WORD, np.uint64)
    mark_places(rows, words)
    return words


def allowed_bitmaps(row_bytes: int, n_rows: int, n_places: int) -> int:
    """How many bitmaps the budget pays for; ``row_bytes`` is the size of a coded row."""
    return int(_BUDGET * row_bytes * n_rows * 8 / n_places)


def choose_bases(sizes: Sequence[int], allowed: int) -> list[tuple[int, ...]]:
    """The bases of every attribute's digits: as few digits as the bitmaps allow."""
    bases = [even_bases(size, 1) for size in sizes]
    while _bitmaps(bases) + 2 > allowed:
        finer = [even_bases(size, len(own) + 1) for size, own in zip(sizes, bases, strict=True)]
        saved = [_bitmaps([own]) - _bitmaps([new]) for own, new in zip(bases, finer, strict=True)]
        best = int(np.argmax(saved))
        if saved[best] <= 0:
            break
        bases[best] = finer[best]
    return bases


def even_bases(size: int, digits: int) -> tuple[int, ...]:
    """Bases of about the same size, whose product is at least ``size``."""
    bases: list[int] = []
    left = max(size, 1)
    for k in range(digits, 0, -1):
        base = max(2, math.ceil(left ** (1 / k) - 1e-9)) if k > 1 else max(left, 1)
        bases.append(base)
        left = -(-left // base)
    return tuple(bases)


def _bitmaps(bases: Sequence[Sequence[int]]) -> int:
    return sum(base - 1 for digits in bases for base in digits)


def _ends(starts: Counts) -> tuple[list[int], list[int]]:
    return starts[:-1].tolist(), starts[1:].tolist()
