"""A bounded memory of answers: by size, the longest unused go first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Cache(Generic[Value]):
    """Values by key, up to so many bytes; any thread may use it."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: OrderedDict[Hashable, tuple[Value, int]] = OrderedDict()
        self._turn = Lock()
        self.size = 0

    def get(self, key: Hashable) -> Value | None:
        """What is remembered."""
        with self._turn:
            found = self._held.get(key)
            if found is None:
                return None
            self._held.move_to_end(key)
            return found[0]

    def put(self, key: Hashable, value: Value, size: int) -> None:
        """Remember a value, and forget others to make room; one that is too large is not kept."""
        if size > self._most // 8:
            return
        with self._turn:
            if key in self._held:
                self.size -= self._held.pop(key)[1]
            self._held[key] = (value, size)
            self.size += size
            while self.size > self._most:
                _, (_, freed) = self._held.popitem(last=False)
                self.size -= freed

    def __len__(self) -> int:
        return len(self._held)
