"""About how many different values there are, told by a few of their hashes.

Of all hashes the smallest are kept. As hashes are spread evenly, the largest of these tells how
many there are (Bar-Yossef, Jayram, Kumar, Sivakumar, Trevisan: "Counting distinct elements in a
data stream", RANDOM 2002): 4,096 of them do so to some two percent, and take 32 kilobytes.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sfumato.core.arrays import Words
from sfumato.core.fingerprint import PUBLIC_KEY, value_hashes

KEPT = 4096


class Sketch:
    """Values that were seen, as their smallest hashes; two sketches are one of both."""

    def __init__(self) -> None:
        self._least: Words = np.zeros(0, np.uint64)

    def add(self, values: pa.Array) -> None:
        """See some values, however often each was seen before."""
        self._keep(value_hashes("", values, PUBLIC_KEY))

    def merge(self, other: Sketch) -> None:
        """See what another one has seen."""
        self._keep(other._least)

    def estimate(self) -> int:
        """How many different values were seen; exact if they are few."""
        if len(self._least) < KEPT:
            return len(self._least)
        return int((KEPT - 1) * 2.0**64 / float(self._least[-1]))

    def _keep(self, words: Words) -> None:
        self._least = np.unique(np.concatenate([self._least, words]))[:KEPT]
