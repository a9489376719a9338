"""Which of the rows that tie go left, where equal rows may be divided: those with the least words.

A word is a keyed hash of a row's number, so the choice is random, and the same whoever makes it. A
quota of the tied rows of a node, in all parts together, is found in two passes: how many words have
each first bits, and then the words themselves that share the first bits with the last of the quota.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sfumato.algorithms.mondrian.tree import Tree, locate, tie_words
from sfumato.core.arrays import Counts, Words
from sfumato.core.keyed import Key
from sfumato.engines.base import Engine
from sfumato.engines.coded import quasi_codes

_BITS = 12  # of a word, which are counted first; 32 kilobytes of counts for every tie
_REST = np.uint64(64 - _BITS)


class Tie(NamedTuple):
    """``quota`` rows of a node, of those that have a code along an axis, are to go left."""

    node: int
    axis: int
    code: int
    quota: int


def quota_words(engine: Engine, tree: Tree, tied: Sequence[Tie], ties: Key) -> list[int]:
    """The largest word that is within the quota of each."""
    counts = engine.reduce(count_first_bits, np.add, tree, tied, ties)
    bins, quotas = [], []
    for one, line in zip(tied, counts, strict=True):
        upto = np.cumsum(line)
        bins.append(int(np.searchsorted(upto, one.quota)))
        quotas.append(one.quota - int(upto[bins[-1]] - line[bins[-1]]))
    found = engine.reduce(words_in_bins, add_words, tree, tied, bins, ties)
    return [
        int(np.partition(words, quota - 1)[quota - 1])
        for words, quota in zip(found, quotas, strict=True)
    ]


def count_first_bits(part: pa.Table, tree: Tree, tied: Sequence[Tie], ties: Key) -> Counts:
    """How many rows of every tie have each first bits of a word."""
    found = np.zeros((len(tied), 1 << _BITS), np.int64)
    for place, words in enumerate(_words(part, tree, tied, ties)):
        found[place] = np.bincount((words >> _REST).astype(np.int64), minlength=1 << _BITS)
    return found


def words_in_bins(
    part: pa.Table, tree: Tree, tied: Sequence[Tie], bins: Sequence[int], ties: Key
) -> list[Words]:
    """The words of every tie that have these first bits."""
    found = _words(part, tree, tied, ties)
    return [words[words >> _REST == bits] for words, bits in zip(found, bins, strict=True)]


def add_words(one: list[Words], other: list[Words]) -> list[Words]:
    """The words of two parts together."""
    return [np.concatenate(pair) for pair in zip(one, other, strict=True)]


def _words(part: pa.Table, tree: Tree, tied: Sequence[Tie], ties: Key) -> Iterator[Words]:
    codes, words = quasi_codes(part), tie_words(part, ties)
    node = locate(codes, words, tree)
    for one in tied:
        yield words[(node == one.node) & (codes[:, one.axis] == one.code)]
