"""People whose value a group gives away, whatever is promised of it."""

from __future__ import annotations

from sfumato.core.histograms import Histograms

NEARLY = 0.9


def exposed(groups: Histograms) -> tuple[int, int]:
    """People in groups of one value alone, and in groups that one value nearly fills."""
    share = groups.largest / groups.sizes
    return int(groups.sizes[share == 1].sum()), int(groups.sizes[share > NEARLY].sum())
