"""What first cuts are decided on: the values of nodes, counted over the parts of a table.

Step 1 of regions.py: each value along every axis, with the sensitive values beside it. Counts of
parts add up. One pass over the rows serves several nodes; where an axis has too many values to be
counted one by one, it takes two (bins.py). O(rows * axes).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sfumato.algorithms.mondrian.bins import NO_BIN, Bins, median_bins, put_into_slots
from sfumato.algorithms.mondrian.tree import Tree, locate, tie_words
from sfumato.core.arrays import Codes, Counts
from sfumato.core.compiled import kernel
from sfumato.core.keyed import Key
from sfumato.engines.base import Engine
from sfumato.engines.coded import quasi_codes, sensitive_codes

_BEYOND = np.int32(2**31 - 1)


class Sensitive(NamedTuple):
    """How sensitive values are counted: the place in a histogram of every code of every column.

    ``columns`` are those that some rule is about; a column's places start at ``starts`` in
    ``places``; ``size`` is that of the histogram.
    """

    columns: Counts
    starts: Counts
    places: Codes
    size: int


_NOTHING = Sensitive(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int32), 0)


class NodeCounts(NamedTuple):
    """Per node that was asked about, rows per slot, and per slot and sensitive value; the first and
    last codes along binned axes.
    """

    rows: Counts
    values: Counts
    ends: Codes


class Seen(NamedTuple):
    """The counts of one node, and the bin of each axis that was counted by values."""

    rows: Counts
    values: Counts
    ends: Codes
    medians: Counts


def counts_of(
    engine: Engine,
    tree: Tree,
    asked: Sequence[int],
    bins: Bins,
    sensitive: Sensitive,
    ties: Key | None,
) -> list[Seen]:
    """What is counted of each node that is asked about."""
    medians = np.full((len(asked), len(bins.width)), NO_BIN, np.int64)
    if bins.binned.any():
        found = engine.reduce(count_nodes, add_counts, tree, asked, bins, medians, _NOTHING, ties)
        medians = np.stack([median_bins(rows, bins) for rows in found.rows])
    counts = engine.reduce(count_nodes, add_counts, tree, asked, bins, medians, sensitive, ties)
    return [Seen(*one) for one in zip(*counts, medians, strict=True)]


def count_nodes(
    part: pa.Table,
    tree: Tree,
    asked: Sequence[int],
    bins: Bins,
    medians: Counts,
    sensitive: Sensitive,
    ties: Key | None,
) -> NodeCounts:
    """The task of a pass: counts of the nodes that are asked about, in one part."""
    codes = quasi_codes(part)
    place = np.full(len(tree.axis), -1, np.int64)
    place[list(asked)] = np.arange(len(asked))
    places = _places(part, sensitive)
    rows = np.zeros((len(asked), bins.n_slots), np.int64)
    values = np.zeros((*rows.shape, sensitive.size), np.int64)
    ends = np.empty((*medians.shape, 2), np.int32)
    ends[..., 0], ends[..., 1] = _BEYOND, -1
    asked_of = place[locate(codes, tie_words(part, ties), tree)]
    if bins.binned.any():
        put_into_slots(codes, asked_of, bins.width, bins.n_bins, medians, ends)
    count_codes(codes, asked_of, bins.offsets[:-1], places, rows, values)
    return NodeCounts(rows, values, ends)


def add_counts(one: NodeCounts, other: NodeCounts) -> NodeCounts:
    """The counts of two parts together."""
    one.rows[...] += other.rows
    one.values[...] += other.values
    np.minimum(one.ends[..., 0], other.ends[..., 0], out=one.ends[..., 0])
    np.maximum(one.ends[..., 1], other.ends[..., 1], out=one.ends[..., 1])
    return one


def count_values_in(
    part: pa.Table, tree: Tree, asked: Sequence[int], sensitive: Sensitive, ties: Key | None
) -> Counts:
    """The task of a pass: the sensitive values of the leaves that are asked about, in one part."""
    found = locate(quasi_codes(part), tie_words(part, ties), tree)
    places = _places(part, sensitive)
    return np.stack(
        [np.bincount(places[found == leaf].ravel(), minlength=sensitive.size) for leaf in asked]
    )


def _places(part: pa.Table, sensitive: Sensitive) -> Codes:
    """Where the sensitive values of every row are counted."""
    places: Codes = sensitive_codes(part)[:, sensitive.columns]
    for j, start in enumerate(sensitive.starts):
        places[:, j] = sensitive.places[start:][places[:, j]]
    return places


@kernel
def count_codes(
    codes: Codes, places: Counts, offsets: Counts, values: Codes, rows: Counts, pairs: Counts
) -> None:
    """Add rows to the counts of their nodes; rows of place -1 are in none that is asked about."""
    for i in range(len(codes)):
        place = places[i]
        if place >= 0:
            for j in range(offsets.size):
                at = offsets[j] + codes[i, j]
                rows[place, at] += 1
                for a in range(values.shape[1]):
                    pairs[place, at, values[i, a]] += 1
