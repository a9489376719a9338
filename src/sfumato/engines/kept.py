"""What a process keeps of what it has made, for tasks to come, as far as memory reaches.

What does not fit is not kept: whoever asks everything in turns would lose, by each new thing, the
one that comes next. What earlier owners left makes room, since a cluster tells nobody of their end.
"""

from __future__ import annotations

import pickle
from collections.abc import Hashable
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, NamedTuple


class _Value(NamedTuple):
    value: Any
    size: int


@dataclass(slots=True)
class Kept:
    """Values of owners, with their sizes; workers may have several threads."""

    _values: dict[tuple[Hashable, Hashable], _Value] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def get(self, owner: Hashable, key: Hashable) -> Any:
        """What an owner keeps under a key, or None."""
        found = self._values.get((owner, key))
        return None if found is None else found.value

    def put(self, owner: Hashable, key: Hashable, value: Any, room: int) -> bool:
        """Keep a value instead of an earlier one, if all together then take no more than ``room``
        bytes; say whether it is.
        """
        size = _size(value)
        with self._lock:
            others = {at: kept for at, kept in self._values.items() if at != (owner, key)}
            if _sum(others) + size > room:
                others = {at: kept for at, kept in others.items() if at[0] == owner}
            if _sum(others) + size > room:
                return False
            self._values = {**others, (owner, key): _Value(value, size)}
        return True

    def forget(self, owner: Hashable = None) -> None:
        """Let go of what an owner keeps, or of everything."""
        with self._lock:
            self._values = {
                at: kept
                for at, kept in self._values.items()
                if owner is not None and at[0] != owner
            }


KEPT = Kept()


def _sum(values: dict[Any, _Value]) -> int:
    return sum(kept.size for kept in values.values())


def _size(value: Any) -> int:
    """The bytes of a value: its arrays are counted where they are, and not copied."""
    arrays: list[pickle.PickleBuffer] = []
    rest = pickle.dumps(value, protocol=5, buffer_callback=arrays.append)
    return len(rest) + sum(array.raw().nbytes for array in arrays)
