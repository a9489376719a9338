"""Slots to count the values of an axis in: one for each, or bins where there are too many of them.

An ordered axis of n values then has about sqrt(n) bins of as many values, and in each node one of
its bins, that of the median, is counted value by value. A first pass finds that bin; after a second
one everything is known that a cut at the median depends on. Of an unordered axis all values are
counted, as they are ranked by how often they occur.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sfumato.algorithms.mondrian.arrays import Axes
from sfumato.core.arrays import Codes, Counts, Flags
from sfumato.core.compiled import kernel

NO_BIN = -1
_WORTHWHILE = 64  # values, of which fewer are not worth being binned


class Bins(NamedTuple):
    """Per axis: values in a bin (1: none are binned), number of bins, and the first slot of all.

    The slots of a binned axis are its bins, and then the values of one bin.
    """

    width: Counts
    n_bins: Counts
    offsets: Counts

    @property
    def n_slots(self) -> int:
        """The slots of all axes."""
        return int(self.offsets[-1])

    @property
    def binned(self) -> Flags:
        """Which axes have bins."""
        return self.width > 1

    def slots(self, axis: int) -> slice:
        """Where the slots of an axis are."""
        return slice(int(self.offsets[axis]), int(self.offsets[axis + 1]))

    def all_known(self, axis: int, ends: Codes, bin: int) -> bool:
        """Whether every value from one end to the other is counted by itself."""
        width = int(self.width[axis])
        return width == 1 or bool((ends // width == bin).all())

    def last_codes(self, axis: int, bin: int) -> Counts:
        """The last code that is counted in each slot of an axis, in a node with such a bin."""
        width, n_bins = int(self.width[axis]), int(self.n_bins[axis])
        bins = (np.arange(n_bins) + 1) * width - 1
        return np.append(bins, bin * width + np.arange(width)) if width > 1 else bins


def every_value(axes: Axes) -> Bins:
    """A slot for each value."""
    return _of_widths(axes, np.ones(len(axes.sizes), np.int64))


def binned(axes: Axes) -> Bins:
    """Bins for ordered axes of many values."""
    widths = [
        1 if is_set or size < _WORTHWHILE else math.isqrt(size - 1) + 1
        for size, is_set in zip(axes.sizes.tolist(), axes.is_set, strict=True)
    ]
    return _of_widths(axes, np.array(widths, np.int64))


def _of_widths(axes: Axes, width: Counts) -> Bins:
    n_bins = -(-axes.sizes // width)
    slots = n_bins + np.where(width > 1, width, 0)
    return Bins(width, n_bins, np.append(0, np.cumsum(slots)).astype(np.int64))


def median_bins(rows: Counts, bins: Bins) -> Counts:
    """The bin of every axis that holds the median of a node, NO_BIN where values are counted."""
    found = np.full(len(bins.width), NO_BIN, np.int64)
    for axis in np.flatnonzero(bins.binned).tolist():
        upto = np.cumsum(rows[bins.slots(axis)][: bins.n_bins[axis]])
        # the median is the first value up to which half of the rows lie
        found[axis] = np.searchsorted(2 * upto, upto[-1])
    return found


@kernel
def put_into_slots(
    codes: Codes, places: Counts, width: Counts, n_bins: Counts, medians: Counts, ends: Codes
) -> None:
    """Turn the codes of binned axes into their slots, and widen the first and last code of nodes.

    ``medians`` has the bin of every node and axis that is counted by values. Rows of place -1 are
    in no node that is asked about.
    """
    for i in range(len(codes)):
        place = places[i]
        if place < 0:
            continue
        for j in range(width.size):
            if width[j] > 1:
                code = codes[i, j]
                ends[place, j, 0] = min(ends[place, j, 0], code)
                ends[place, j, 1] = max(ends[place, j, 1], code)
                bin_ = code // width[j]
                if bin_ == medians[place, j]:
                    codes[i, j] = n_bins[j] + code - bin_ * width[j]
                else:
                    codes[i, j] = bin_
