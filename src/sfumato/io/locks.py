"""A lock on a file that goes with the process that holds it, however that ends.

The lock is ``flock``'s, which POSIX systems have. Where there is none, whoever needs one is
refused: a file that merely stands for a lock outlives a process that was killed, and then nobody
can write, or two write at once. Everything that takes no lock works there as anywhere.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sfumato.errors import StoreError

NEEDS_POSIX = (
    "changing a statistical database, its ledger and its server need file locks (fcntl), which "
    "POSIX systems have (Linux, macOS, BSD) and this one lacks; publishing, verifying, and asking "
    "releases and databases do not"
)


class Busy(Exception):
    """Somebody else holds the lock."""


def take_lock(path: Path) -> int:
    """Lock a file, made for its owner only if it is missing; close the handle to let go.

    Raises ``Busy`` at once if somebody else has it, OSError if the file cannot be opened.
    """
    try:
        import fcntl
    except ImportError as error:
        raise StoreError(f"{path.parent}: {NEEDS_POSIX}", path=path.parent) from error
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(handle)
        if error.errno in (errno.EAGAIN, errno.EACCES):
            raise Busy from error
        raise
    return handle


class Queue:
    """Processes that write one file after the other, each for a moment.

    It only saves time: what must not be written at once has a lock of its own. So where there is
    no ``flock``, and after a while, nobody waits here.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._handle: int | None = None

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait, at most for a while, until nobody else has it."""
        locked = self._waited()
        try:
            yield
        finally:
            if locked:
                import fcntl

                assert self._handle is not None
                fcntl.flock(self._handle, fcntl.LOCK_UN)

    def close(self) -> None:
        """Let go of the file."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def _waited(self) -> bool:
        try:
            import fcntl

            if self._handle is None:
                self._handle = os.open(self._path, os.O_RDONLY)
        except (ImportError, OSError):
            return False
        until, moment = time.monotonic() + _LONGEST, _SHORT
        while time.monotonic() < until:
            with suppress(OSError):
                fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            time.sleep(moment)
            moment = min(2 * moment, _LONG)
        return False


_SHORT, _LONG = 0.0002, 0.001  # seconds between tries; a commit takes about as long
_LONGEST = 5.0
