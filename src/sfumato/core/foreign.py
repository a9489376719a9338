"""What other libraries and the system raise, in our words.

Callers of a verb catch one tree of errors (errors.py); Arrow, DuckDB and the system have trees
of their own, and each has several ways to say that memory is short. They are recognized here, by
libraries that are loaded already: this file imports none.

A verb is decorated, work that is no function stands in a with statement:

    @our_errors("publishing")
    def publish(...): ...

What Python itself raises for a mistake in this code (a KeyError, a TypeError) is not translated:
that is a bug, and is to look like one.
"""

from __future__ import annotations

import errno
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sfumato.errors import DataError, MachineError, OutOfMemory, SfumatoError

# What is said by errors that could have other reasons as well.
_SHORT_OF_MEMORY = (
    "can't start new thread",
    "Cannot allocate memory",
    "cannot allocate memory",
    "Unable to allocate",
    "could not allocate",
    "failed to allocate",
    "Failed to allocate",
    "malloc of size",
    "realloc of size",
    "bad_alloc",
    "Out of Memory",
    "out of memory",
    "failed to map segment",
    "Failed to launch worker thread",
    "without exception set",  # a library that has lost its MemoryError
    "without setting an exception",
)


@contextmanager
def our_errors(doing: str) -> Iterator[None]:
    """Let errors of other libraries and of the system arrive as ours; ``doing`` says at what."""
    try:
        yield
    except Exception as error:
        translated = as_ours(error, doing)
        if translated is None:
            raise
        raise translated from error


def as_ours(error: BaseException, doing: str) -> SfumatoError | None:
    """The error in our words; None if it is ours already, or nobody's but a bug's."""
    if isinstance(error, SfumatoError):
        return None
    if is_memory(error):
        return out_of_memory(doing)
    if isinstance(error, OSError):
        return MachineError(f"{doing} failed: {said(error)}", doing=doing)
    if isinstance(error, _kinds("pyarrow", "ArrowException") + _kinds("duckdb", "Error")):
        return DataError(f"{doing} failed: {said(error)}", source=doing)
    return None


def is_memory(error: BaseException) -> bool:
    """Whether an error says, in whatever way, that memory is short."""
    if isinstance(error, MemoryError | OutOfMemory):
        return True
    if isinstance(error, OSError) and error.errno == errno.ENOMEM:
        return True
    if isinstance(error, _kinds("duckdb", "OutOfMemoryException")):
        return True
    wordy: tuple[type[BaseException], ...] = (OSError, RuntimeError, ImportError, SystemError)
    wordy += _kinds("pyarrow", "ArrowException") + _kinds("duckdb", "Error")
    if isinstance(error, wordy) and any(part in str(error) for part in _SHORT_OF_MEMORY):
        return True
    # a library that cannot be loaded, because another one could not
    behind = error.__context__
    return isinstance(error, wordy) and behind is not None and is_memory(behind)


def out_of_memory(doing: str) -> OutOfMemory:
    """What to raise when memory is short."""
    return OutOfMemory(
        f"not enough memory for {doing}; raise its limit (ulimit -v), use a machine with more, or "
        "fewer rows or columns (a file can be streamed: --engine stream)",
        doing=doing,
    )


def said(error: BaseException) -> str:
    """The error's message in one line, without the traces that native libraries append."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return " ".join(str(error).split()) or type(error).__name__


def _kinds(library: str, name: str) -> tuple[type[BaseException], ...]:
    """A class of a library, if that library is loaded."""
    found: Any = getattr(sys.modules.get(library), name, None)
    return (found,) if isinstance(found, type) else ()
