"""Neighbouring codes put together, so that few are left that are about as frequent."""

from __future__ import annotations

import numpy as np

from sfumato.core.arrays import Counts, Ints


def stretches(counts: Counts, most: int) -> Ints:
    """The stretch of every code, in order; a code as frequent as a stretch has one for itself."""
    total = max(1, int(counts.sum()))
    seat = (np.cumsum(counts) - counts) * most // total
    heavy = counts * most >= total
    apart = 2 * np.cumsum(heavy) - heavy + (2 * len(counts) + 2) * seat
    _, found = np.unique(apart, return_inverse=True)
    return found
