"""People whose value a group gives away, whatever is promised of it."""

from __future__ import annotations

from sfumato.core.arrays import Counts

NEARLY = 0.9


def exposed(largest: Counts, sizes: Counts) -> tuple[int, int]:
    """People in groups of one value alone, and in groups that one value nearly fills.

    ``largest`` are the counts of each group's most frequent value.
    """
    share = largest / sizes
    return int(sizes[share == 1].sum()), int(sizes[share > NEARLY].sum())
