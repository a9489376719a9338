"""How much may be in memory at once, and what to say when it is too little."""

from __future__ import annotations

from typing import NamedTuple

from sfumato.core.arrays import Counts
from sfumato.errors import OutOfMemory

# what the process takes before it has any rows
_BASE_BYTES = 300 * 2**20
# rows may take one part in so many of a memory that is hardly larger than that
_SHARE = 4
# what dividing a region takes for a row, and for each of its codes
_ROW_BYTES, _CODE_BYTES = 120, 10
# counts of a pass may take one part in so many of the memory
_COUNTS = 8
# the different values of all columns may take one in so many, and always so much
_VALUES, _LEAST_VALUES = 2, 2**24
# how much more there may be of what was counted by a sketch
_SKETCHED = 1.1
_LEAST_BYTES = 2**24  # beside what the process takes, not worth being saved


class Room(NamedTuple):
    """What fits: ``rows`` of a region, of ``row_bytes`` each, and ``bytes`` of counts.

    All of it together has ``memory`` bytes.
    """

    rows: int
    row_bytes: int
    bytes: int
    memory: int

    @classmethod
    def of(cls, memory: int, axes: int) -> Room:
        """The room for rows of so many quasi-identifiers."""
        return cls(0, _ROW_BYTES + _CODE_BYTES * axes, 0, 0).with_memory(memory)

    def with_memory(self, memory: int) -> Room:
        """The room for the same rows in another memory."""
        free = max(memory - _BASE_BYTES, memory // _SHARE)
        counts = max(memory // _COUNTS, _LEAST_BYTES)
        return Room(max(1, free // self.row_bytes), self.row_bytes, counts, memory)

    @property
    def free(self) -> int:
        """The bytes for work that is done before there are rows of a region or counts of a pass."""
        return max(self.bytes, self.rows * self.row_bytes)

    def for_larger(self, times: int) -> Room:
        """The same memory, for what takes so many times that of a row."""
        return self._replace(rows=max(1, self.rows // times), row_bytes=self.row_bytes * times)

    def require(self, rows: int, why: str) -> None:
        """Raise unless so many rows fit; ``why`` they have to."""
        if rows > self.rows:
            taken = rows * self.row_bytes
            least = min(_SHARE * taken, _BASE_BYTES + taken)
            raise OutOfMemory(
                f"{self.memory:,} bytes of memory are too few: {why}; allow {least:,} bytes",
                doing="publishing",
            )

    def require_regions(self, loads: Counts) -> None:
        """Raise unless the largest region fits: many people may be alike."""
        largest = int(loads.max())
        self.require(
            largest,
            f"{largest:,} rows cannot be divided further before they are in memory together",
        )


def room_for_values(memory: int) -> int:
    """The bytes that the different values of all columns may take."""
    return max(memory // _VALUES, _LEAST_VALUES)


def memory_for_values(taken: int) -> int:
    """The memory in which there is room for values that take about so many bytes."""
    return int(_VALUES * _SKETCHED * taken)
