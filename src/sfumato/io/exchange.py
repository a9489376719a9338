"""Two folders that change places in one step, so that at no moment one is missing.

The systems can do so, and Python has no name for it: Linux by renameat2, macOS by renamex_np.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from pathlib import Path

_AT_FDCWD = -100
_EXCHANGE = 2  # RENAME_EXCHANGE of Linux, RENAME_SWAP of macOS
# What is said by a kernel or a file system that does not know how.
_UNABLE = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP)


def exchanged(one: Path, other: Path) -> bool:
    """Let two folders of a file system change names; False where that cannot be done."""
    first, second = os.fsencode(one), os.fsencode(other)
    try:
        library = ctypes.CDLL(None, use_errno=True)
        if sys.platform == "darwin":
            failed = library.renamex_np(first, second, _EXCHANGE)
        elif sys.platform == "linux":
            failed = library.renameat2(_AT_FDCWD, first, _AT_FDCWD, second, _EXCHANGE)
        else:
            return False
    except (AttributeError, OSError, TypeError):
        return False  # a C library without it, or none at all
    number = ctypes.get_errno()
    if failed and number not in _UNABLE:
        raise OSError(number, os.strerror(number))
    return not failed
