"""How inner loops are compiled: the one place that imports Numba.

Kernels take arrays and return arrays, live in private files beside the code they serve, and are
compiled at their first call for the one signature they are used with. Numba keeps the machine code
on disk, so only the first run ever on a machine waits for the compiler.

The disk is a convenience. Where nothing can be kept (a read-only container, a service account
without a home, a full disk), and where what is kept cannot be read (another owner's, or damaged),
kernels are compiled in memory, in every process anew. A folder that can only be read, as in the
image of a container, is used as it is.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.dispatcher import Dispatcher
from numba.core.runtime.nrt import rtsys

from sfumato.core.arrays import Counts

Kernel = TypeVar("Kernel", bound=Callable[..., Any])
Result = TypeVar("Result")
logger = logging.getLogger("sfumato")

# untyped on purpose: Numba's own annotations leave out the options about wrappers, and methods
_njit: Any = numba.njit
_FunctionCache: Any = FunctionCache
_CacheImpl: Any = CompileResultCacheImpl
_NamedFolder: Any = _CacheImpl._locator_classes[0]  # that NUMBA_CACHE_DIR names
_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "no_cfunc_wrapper": True,
}


def kernel(function: Kernel) -> Kernel:
    """Compile a function of arrays and numbers; it runs without the interpreter lock."""
    return cast(Kernel, _kept(_njit(**_OPTIONS)(function)))


def inner(function: Kernel) -> Kernel:
    """Compile a function that only kernels call: without the way in from Python it costs less."""
    return cast(Kernel, _kept(_njit(**_OPTIONS, no_cpython_wrapper=True)(function)))


def is_cached(compiled: Callable[..., Any]) -> bool:
    """Whether machine code of this kernel is already on disk."""
    stats = cast(Any, compiled).stats
    if stats.cache_path is None:
        return False
    name = cast(Any, compiled).py_func.__qualname__
    return any(Path(stats.cache_path).glob(f"*.{name}-*.nbi"))


def announce(compiled: Callable[..., Any]) -> None:
    """Say that the compiler is about to run, when it is."""
    if cast(Any, compiled).signatures or is_cached(compiled):
        return
    if cast(Any, compiled).stats.cache_path is None or not _can_keep(compiled):
        _tell_in_memory()
    else:
        _tell_compiling()


def _can_keep(compiled: Callable[..., Any]) -> bool:
    cache = getattr(compiled, "_cache", None)
    return not isinstance(cache, _Cache) or cache.can_keep


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


class _ReadOnlyFolder(_NamedFolder):  # type: ignore[misc]
    """A folder of machine code to which nothing can be added."""

    def ensure_cache_path(self) -> None:
        """Raise unless there is something to read."""
        os.listdir(self.get_cache_path())  # noqa: PTH208 - only whether it can be


class _Places(_CacheImpl):  # type: ignore[misc]
    """Where machine code may be."""

    _locator_classes = [_NamedFolder, _ReadOnlyFolder, *_CacheImpl._locator_classes[1:]]  # noqa: RUF012


class _Cache(_FunctionCache):  # type: ignore[misc]
    """Machine code on disk that is done without when the disk does not play along."""

    _impl_class = _Places

    @property
    def can_keep(self) -> bool:
        """Whether anything can be added to its folder."""
        return not isinstance(self._impl.locator, _ReadOnlyFolder)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The machine code for a signature, or None, also if it cannot be read.

        Without loading the compiler's knowledge of all types and functions, which Numba does first
        and takes longer than a small table does: what is compiled already needs it no more.
        """
        try:
            rtsys.initialize(target_context)
            with self._guard_against_spurious_io_errors():
                return self._load_overload(sig, target_context)
        except OSError as error:
            self._give_up(error)
        except Exception as error:  # whatever a damaged pickle raises
            self._begin_anew(error)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the machine code, if that can be done."""
        if not self.can_keep:
            return
        try:
            super().save_overload(sig, data)
        except OSError as error:
            self._give_up(error)

    def _begin_anew(self, error: Exception) -> None:
        """Empty a damaged index, so that the next save replaces what it names."""
        logger.info("compiled kernels in %s are damaged: %r", self.cache_path, error)
        try:
            self.flush()
        except OSError as refused:
            self._give_up(refused)

    def _give_up(self, error: OSError) -> None:
        self.disable()
        _tell_lost(self.cache_path, error.strerror or str(error))


@cache  # one line, however many kernels there are
def _tell_compiling() -> None:
    logger.warning("compiling kernels: a method's first run on this machine takes some seconds")


@cache
def _tell_in_memory() -> None:
    logger.warning(
        "compiling kernels in memory (some seconds): no folder to keep them in can be written; "
        "NUMBA_CACHE_DIR may name one"
    )


@cache
def _tell_lost(folder: str, reason: str) -> None:
    logger.warning(
        "compiled kernels cannot be kept in %s (%s), so that every run compiles them again; "
        "NUMBA_CACHE_DIR may name another folder",
        folder,
        reason,
    )


def _kept(compiled: Any) -> Any:
    """The same function, its machine code kept on disk where there is a folder for it."""
    if isinstance(compiled, Dispatcher):  # NUMBA_DISABLE_JIT leaves plain functions
        try:
            cast(Any, compiled)._cache = _Cache(compiled.py_func)
        except (OSError, RuntimeError) as error:  # no folder can be written
            logger.info("compiled kernels cannot be kept: %s", error)
    return compiled
