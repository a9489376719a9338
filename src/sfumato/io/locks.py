"""A lock on a file that goes with the process that holds it, however that ends.

The lock is ``flock``'s, which POSIX systems have. Where there is none, whoever needs one is
refused: a file that merely stands for a lock outlives a process that was killed, and then nobody
can write, or two write at once. Everything that takes no lock works there as anywhere.
"""

from __future__ import annotations

import errno
import os
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
