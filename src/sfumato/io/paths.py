"""Names that no system has for a file."""

from __future__ import annotations

import os
from pathlib import Path

from sfumato.core.expected import given
from sfumato.errors import ParameterError, ReleaseError, StoreError


def usable(path: str | Path, refusal: type[ReleaseError | StoreError] = ReleaseError) -> Path:
    """The path; or a refusal where Python would raise a ValueError for its name.

    Such a name holds the letter that ends all names, or half of a character.
    """
    _require_path(path)
    try:
        sound = b"\0" not in os.fsencode(path)
    except UnicodeError:
        sound = False
    if not sound:
        raise refusal(f"{str(path)!r} is no name of a file; choose another", path=Path(path))
    return Path(path)


def at_home(path: str) -> Path:
    """The path where a ``~`` in front is a home, as in a shell."""
    try:
        return usable(path).expanduser()
    except RuntimeError:
        raise ReleaseError(
            f"{path} starts with a ~, and there is no such home; choose another", path=Path(path)
        ) from None


def _require_path(path: object) -> None:
    if not isinstance(path, str | os.PathLike):
        instead = "; write it first: release.write(folder)" if hasattr(path, "write") else ""
        raise ParameterError(f"this must be a path, not {given(path)}{instead}", parameter="path")
