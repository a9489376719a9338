"""Columns side by side: Arrow and NumPy work on them without the interpreter lock."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from sfumato.core.address_space import address_limit

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_threads(work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """The results of the work on every item, in order; as many at a time as there are cores.

    Where a limit on memory leaves no room for threads, one after the other.
    """
    given = list(items)
    if address_limit() is not None:
        return [work(item) for item in given]
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        return list(pool.map(work, given))
