"""Faults that a case can meet: a process that dies, a disk that is full, memory that is short.

A process that dies is played in this one: from a certain file event on, each one raises, those of
the clearing up included, so that the disk is left as it was at that moment. Full disks and short
memory are real: limits of the system, which compiled code meets as well.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fuzzing.judging import Finding

_CHANGES = {
    "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.chmod", "os.symlink",
    "os.truncate", "shutil.rmtree",
}  # fmt: skip
_PATIENCE = 60  # seconds for a child
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


class Died(BaseException):
    """The process is no more."""


class _Life:
    """How many more file events there will be under a folder; None for ever."""

    left: int | None = None
    folder = ""
    listening = False


@contextmanager
def dying(after: int, folder: Path) -> Iterator[None]:
    """Let the process die at a change of the folder; raises Died, if there are as many."""
    if not _Life.listening:
        sys.addaudithook(_heard)  # for ever: there is no way to take it back
        _Life.listening = True
    _Life.left, _Life.folder = after, str(folder)
    try:
        yield
        if _Life.left < 0:
            raise Died  # somebody caught it
    finally:
        _Life.left = None


def _heard(event: str, arguments: tuple[Any, ...]) -> None:
    if _Life.left is None or not _is_change(event, arguments):
        return
    _Life.left -= 1
    if _Life.left < 0:
        raise Died


def _is_change(event: str, arguments: tuple[Any, ...]) -> bool:
    if event == "open":
        path, _mode, flags = arguments
        if not isinstance(flags, int) or not flags & _WRITING:
            return False
    elif event in _CHANGES:
        path = arguments[0]
    else:
        return False
    return isinstance(path, str | bytes | os.PathLike) and os.fsdecode(path).startswith(
        _Life.folder
    )


@contextmanager
def full_disk(room: int) -> Iterator[None]:
    """No file may become larger than so many bytes."""
    with _limited(resource.RLIMIT_FSIZE, room):
        yield


@contextmanager
def short_memory(room: int) -> Iterator[None]:
    """The process gets no more than so many bytes besides those that it has."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
    with _limited(resource.RLIMIT_AS, pages * resource.getpagesize() + room):
        yield


@contextmanager
def _limited(what: int, most: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(what)
    resource.setrlimit(what, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(what, (soft, hard))


def in_child(work: Callable[[], str]) -> str:
    """Do something in a child of this process, which short memory may end; what it returned."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(_PATIENCE)  # a child that hangs is ended by it
        try:
            os.write(theirs, work().encode()[:4000])
            os._exit(0)
        except BaseException as error:
            os.write(theirs, repr(error).encode()[:4000])
        finally:
            os._exit(1)
    os.close(theirs)
    with os.fdopen(ours, "rb") as said:
        text = said.read().decode()
    _, status = os.waitpid(child, 0)
    if status:
        code = os.waitstatus_to_exitcode(status)
        raise Finding(f"the process ended with {code} ({text})")
    return text
