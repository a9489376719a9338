"""Columns side by side: Arrow and NumPy work on them without the interpreter lock.

Libraries with threads of their own are held to one. These threads wait for each other in loops: on
a machine of two cores where others work, too, two of scikit-learn's took 37 s of processor time for
what one does in 2 s, and ten times as long by the clock.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Any, TypeVar

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


def one_thread() -> AbstractContextManager[Any]:
    """While it is held, scikit-learn, which brings threadpoolctl along, starts no threads."""
    from threadpoolctl import threadpool_limits

    held: AbstractContextManager[Any] = threadpool_limits(1)
    return held
