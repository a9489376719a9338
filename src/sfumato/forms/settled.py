"""Read a folder that somebody may be replacing.

A writer puts a new release into the place of the former one (io/folders.py). Whoever reads
release.json before and a table after that would mix the two. So a folder is looked at before and
after it is read, and if it is not the same one it is read again.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias, TypeVar

from sfumato.errors import ReleaseError

Result = TypeVar("Result")
_Stamps: TypeAlias = tuple[tuple[str, int, int, int, int], ...]
_TRIES = 20


def settled(folder: Path, read: Callable[[], Result]) -> Result:
    """What is read from a folder that is the same one before and after."""
    for _ in range(_TRIES):
        before = _stamps(folder)
        try:
            found = read()
        except Exception:
            if _stamps(folder) == before:
                raise
            continue
        if _stamps(folder) == before:
            return found
    raise ReleaseError(
        f"{folder} was replaced {_TRIES} times while it was read; try again when it is left alone",
        path=folder,
    )


def _stamps(folder: Path) -> _Stamps | None:
    """Which files these are: another file of the same name has another number, or another time."""
    try:
        with os.scandir(folder) as entries:
            found = [(entry.name, Path(entry.path).stat()) for entry in entries]
    except OSError:
        return None
    return tuple(
        (name, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)
        for name, stat in sorted(found, key=lambda one: one[0])
    )
