"""Which quasi-identifying values the rows of a join release can have, for sums and extremes.

joined.py says what is known: of a sensitive group's M rows, each of its B boxes holds one at least
and n_b at most. So every box has a first row, a cluster of its own (value_bounds.py); the M - B
others are one cluster, in which box b has n_b - 1 places. Where conditions on sensitive values
leave fewer than M rows, nobody knows whether the first rows are among them: then all rows are one
cluster, and only their number is known. Both ways hold every possible table. They may hold more:
that a box's places are taken also by rows which the query does not want is left out of account.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sfumato.answers.group_bounds import Found, Scope
from sfumato.answers.sides import Extents, Reading
from sfumato.answers.value_bounds import Choices, Walk, reversed_walk
from sfumato.core.arrays import Counts, Flags, Floats
from sfumato.core.exact import Numbers, order_keys
from sfumato.forms.joined.stock import Stock


class Overlapping(Choices):
    """Choices whose ranges may overlap inside a cluster: their order depends on the end."""

    __slots__ = ()

    def _downwards(self) -> Walk:
        """Ordered by the lower ends."""
        order = _order(self, self.low)
        return reversed_walk(replace(self, low=self.low[order], counts=self.counts[order]))


class _Entries(NamedTuple):
    """Boxes that may be chosen from, the cluster of each, and its rows and expected rows."""

    box: Counts
    cluster: Counts
    counts: Counts
    weights: Floats


def choices_of(
    known: Stock,
    seen: Reading,
    extents: Extents,
    found: Found,
    left: Scope,
) -> Choices:
    """Values between the ends of each box; ``left`` is what the SIs leave of each group."""
    wholly: Flags = left.lack == 0
    in_whole = wholly[known.group]
    share = seen.share * left.share[known.group]
    # clusters of first rows come after those of the groups
    first = np.flatnonzero(seen.possible & in_whole)
    others = np.flatnonzero(seen.possible & in_whole & (known.lines > 1))
    together = np.flatnonzero(seen.possible & ~in_whole)
    parts = (
        _Entries(first, len(wholly) + first, np.ones_like(first), share[first]),
        _Entries(
            others,
            known.group[others].astype(np.int64),
            known.lines[others] - 1,
            (share * (known.expected - 1))[others],
        ),
        _Entries(
            together,
            known.group[together].astype(np.int64),
            known.lines[together],
            (share * known.expected)[together],
        ),
    )
    least, most = _bounds(known, seen, found, wholly)
    return _built(
        _Entries(
            np.concatenate([part.box for part in parts]),
            np.concatenate([part.cluster for part in parts]),
            np.concatenate([part.counts for part in parts]),
            np.concatenate([part.weights for part in parts]),
        ),
        extents,
        np.append(least, np.where(seen.sure, 1, 0)),
        np.append(most, np.ones_like(known.lines)),
    )


def _bounds(known: Stock, seen: Reading, found: Found, wholly: Flags) -> tuple[Counts, Counts]:
    """How many rows of each group's own cluster are chosen."""
    n = len(known.rows)
    spare = known.rows - known.boxes
    places = known.lines - 1
    outside = np.bincount(known.group, np.where(seen.sure, 0, places), n).astype(np.int64)
    open_ = np.bincount(known.group, np.where(seen.possible, places, 0), n).astype(np.int64)
    scope = found.scope
    least = np.where(wholly, np.maximum(spare - outside, 0), scope.fewest(found.rows))
    most = np.where(wholly, np.minimum(spare, open_), scope.most(found.rows))
    return least, most


def _built(entries: _Entries, extents: Extents, least: Counts, most: Counts) -> Choices:
    clusters, cluster = np.unique(entries.cluster, return_inverse=True)
    order = np.argsort(cluster, kind="stable")
    low, high, mean = (ends[entries.box[order]] for ends in extents)
    starts = np.append(0, np.cumsum(np.bincount(cluster, minlength=len(clusters))))
    made = Overlapping(
        low, high, mean, entries.weights[order], entries.counts[order],
        starts.astype(np.int64), least[clusters], most[clusters],
    )  # fmt: skip
    return _ordered(made)


def _ordered(choices: Choices) -> Choices:
    """Entries of each cluster by their upper ends."""
    order = _order(choices, choices.high)
    return replace(
        choices,
        low=choices.low[order],
        high=choices.high[order],
        expected=choices.expected[order],
        weights=choices.weights[order],
        counts=np.ascontiguousarray(choices.counts[order]),
    )


def _order(choices: Choices, ends: Numbers) -> Counts:
    """Entries by cluster, ascending by these ends."""
    cluster = np.repeat(np.arange(len(choices.starts) - 1), np.diff(choices.starts))
    order: Counts = np.lexsort((order_keys(ends), cluster))
    return order
