"""A limit on this process's memory (``ulimit -v``), and how to live with it.

Libraries reserve addresses for what they may need: a stack per thread, arenas per allocator. Where
addresses are limited these reservations are what runs out, and some libraries then end the process
instead of raising. With one thread and the system's allocator most of that does not happen.
"""

from __future__ import annotations

import os
from contextlib import suppress
from importlib import import_module

from sfumato.errors import OutOfMemory

# What the libraries take before the first row is read. With less some of them neither load nor say
# so: OpenBLAS, for one, then asks for memory for ever.
LEAST = 768 * 2**20
# Read by the libraries when they are loaded; what somebody has set is left as it is.
_MODEST = {
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "ARROW_IO_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}


def address_limit() -> int | None:
    """The bytes that this process may take; None without a limit of its own."""
    return min(_limits("RLIMIT_AS", "RLIMIT_DATA"), default=None)


def be_modest() -> None:
    """Let libraries that are not loaded yet take no more than they need."""
    for name, value in _MODEST.items():
        os.environ.setdefault(name, value)


def require_least() -> None:
    """Raise if the libraries cannot even be loaded; load early what could not be loaded late."""
    if address_limit() is None:
        return
    limit = min(_limits("RLIMIT_AS"), default=LEAST)
    if limit < LEAST:
        raise OutOfMemory(
            f"the limit on memory (ulimit -v) is {limit >> 20:,} MB; raise it to {LEAST >> 20:,} "
            "MB and what the table needs",
            doing="loading libraries",
        )
    with suppress(ImportError):
        import_module("scipy.linalg")  # Numba does where it is installed, and OpenBLAS is in it


def _limits(*names: str) -> list[int]:
    """The limits that there are."""
    try:
        import resource
    except ImportError:  # not on Windows
        return []
    found = (resource.getrlimit(getattr(resource, name))[0] for name in names)
    return [one for one in found if one != resource.RLIM_INFINITY]
