"""Seeds in files of their own, which belong to their owner as a private key does."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from sfumato.core.seeds import new_seed
from sfumato.errors import DataError

_LONGEST = 2**16  # characters


def seed_in(path: Path) -> tuple[str, bool]:
    """The seed in a file, and whether the file was made for it now."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, stat.S_IRUSR | stat.S_IWUSR)
    except FileExistsError:
        return _read(path), False
    except OSError as error:
        raise DataError(f"cannot write {path}: {error.strerror}", source=str(path)) from error
    seed = str(new_seed())
    with os.fdopen(handle, "w", encoding="ascii") as file:
        file.write(f"{seed}\n")
    return seed, True


def _read(path: Path) -> str:
    """The text of a file that only its owner can read."""
    try:
        with path.open(encoding="utf-8") as file:
            open_to = os.fstat(file.fileno()).st_mode & (stat.S_IRWXG | stat.S_IRWXO)
            text = file.read(_LONGEST).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"the seed in {path} cannot be read: {error}", source=str(path)) from error
    if os.name == "posix" and open_to:
        raise DataError(
            f"the seed in {path} can be read by others than its owner, and undoes what it is used "
            f"for: chmod 600 {path}",
            source=str(path),
        )
    if not text:
        raise DataError(f"there is no seed in {path}, it is empty", source=str(path))
    return text
