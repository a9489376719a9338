"""How inner loops are compiled: the one place that imports Numba.

Kernels take arrays and return arrays, live in private files beside the code they serve, and are
compiled at their first call for the one signature they are used with. Numba keeps the machine code
on disk, so only the first run ever on a machine waits for the compiler.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np

from sfumato.core.arrays import Counts

Kernel = TypeVar("Kernel", bound=Callable[..., Any])
Result = TypeVar("Result")
logger = logging.getLogger("sfumato")

# untyped on purpose: Numba's own annotations leave out the options about wrappers
_njit: Any = numba.njit
_OPTIONS: dict[str, Any] = {
    "cache": True,
    "nogil": True,
    "error_model": "numpy",
    "no_cfunc_wrapper": True,
}


def kernel(function: Kernel) -> Kernel:
    """Compile a function of arrays and numbers; it runs without the interpreter lock."""
    return cast(Kernel, _njit(**_OPTIONS)(function))


def inner(function: Kernel) -> Kernel:
    """Compile a function that only kernels call: without the way in from Python it costs less."""
    return cast(Kernel, _njit(**_OPTIONS, no_cpython_wrapper=True)(function))


def is_cached(compiled: Callable[..., Any]) -> bool:
    """Whether machine code of this kernel is already on disk."""
    stats = cast(Any, compiled).stats
    if stats.cache_path is None:
        return False
    name = cast(Any, compiled).py_func.__qualname__
    return any(Path(stats.cache_path).glob(f"*.{name}-*.nbi"))


def announce(compiled: Callable[..., Any]) -> None:
    """Say that the compiler is about to run, when it is."""
    if not cast(Any, compiled).signatures and not is_cached(compiled):
        logger.warning("compiling kernels, once on this machine (some seconds)")


def watch(
    run: Callable[[Counts], Result], total: int, progress: Callable[[float], None] | None
) -> Result:
    """Run a kernel in a thread of its own, so that it can be watched and interrupted.

    The kernel gets an array: it counts its progress, up to ``total``, in the first place and stops
    when the second is not zero.
    """
    control = np.zeros(2, np.int64)
    with ThreadPoolExecutor(max_workers=1) as thread:
        future = thread.submit(run, control)
        try:
            while True:
                try:
                    return future.result(timeout=0.1)
                except TimeoutError:
                    if progress is not None:
                        progress(control[0] / total)
        finally:
            control[1] = 1
