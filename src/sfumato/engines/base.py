"""The seam between algorithms and the place where rows live.

Rows come in *parts*, Arrow tables of limited size that never need to be in memory together. An
algorithm that can work that way gives the engine *tasks*, pure functions at the top of a module:
the same ones whoever runs them, so that a result does not depend on the engine, nor on how many
parts or workers there are.

A task gets a part and what it shares with all other tasks, and must not draw chance of its own: a
task that is run again would deal other cards. Chance comes from a key that the caller hands over,
and from the number of a row (core/keyed.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar

import pyarrow as pa

Found = TypeVar("Found")


class Engine(Protocol):
    """Rows in parts, and four things that can be done with them."""

    def reduce(
        self, task: Callable[..., Found], merge: Callable[[Found, Found], Found], *shared: Any
    ) -> Found:
        """``task(part, *shared)`` of every part, merged; a small result."""
        ...

    def keep(self, task: Callable[..., pa.Table], *shared: Any) -> Engine:
        """``task(part, *shared)`` instead of every part, computed once and kept with the rows."""
        ...

    def exchange(
        self,
        key: Callable[..., Any],
        n: int,
        solve: Callable[..., pa.Table],
        *shared: Any,
    ) -> Engine:
        """Rows of one key together: ``key(part, *shared)`` gives each row one of ``n`` numbers.

        The parts of the result are ``solve(rows, number, *shared)``, in the order of the numbers,
        and are computed when they are asked for. Rows of one number keep their order.
        """
        ...

    def parts(self) -> Iterator[pa.Table]:
        """Part after part, for whoever writes them down."""
        ...
