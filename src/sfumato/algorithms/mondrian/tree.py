"""Cuts as a tree, and the way of every row down to a leaf of it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sfumato.core.arrays import Codes, Counts, Flags, Words
from sfumato.core.compiled import kernel
from sfumato.core.keyed import Key
from sfumato.engines.coded import row_numbers

ORDERED = -1


class Tree(NamedTuple):
    """Cuts: rows whose code along ``axis`` is at most ``upto`` go to the first child, others to the
    second.

    If the axis is unordered, those go there whose code is marked: the marks of a node start at
    ``starts`` in ``marks``, one for each code; ORDERED: there are none. Rows with the code ``tie``
    are divided: those whose word is at most ``words`` go to the first child.
    """

    axis: Codes
    starts: Counts
    children: Codes
    marks: Flags
    upto: Codes
    tie: Codes
    words: Words


def tie_words(part: pa.Table, ties: Key | None) -> Words:
    """A word for every row, by which rows that tie are told apart; none where none are."""
    return np.zeros(0, np.uint64) if ties is None else ties.words(row_numbers(part))


@kernel
def locate(codes: Codes, words: Words, tree: Tree) -> Codes:
    """The leaf of every row."""
    found = np.empty(len(codes), np.int32)
    for i in range(len(codes)):
        node = np.int32(0)
        while tree.axis[node] >= 0:
            code = codes[i, tree.axis[node]]
            if tree.starts[node] == ORDERED:
                goes_left = code <= tree.upto[node]
            else:
                goes_left = tree.marks[tree.starts[node] + code]
            if code == tree.tie[node]:
                goes_left = words[i] <= tree.words[node]
            node = tree.children[node, 0 if goes_left else 1]
        found[i] = node
    return found
