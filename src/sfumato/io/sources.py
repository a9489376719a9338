"""What a source names: one file, several, a folder of files, or a pattern such as part-*.csv."""

from __future__ import annotations

import glob
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias, TypeGuard

from sfumato.errors import DataError

Files: TypeAlias = str | Path | Sequence[str | Path]
_RELEASE = "release.json"


def is_files(source: object) -> TypeGuard[Files]:
    """Whether this names files of this machine, rather than an address or an object."""
    if isinstance(source, list | tuple):
        return bool(source) and all(isinstance(one, str | Path) for one in source)
    return isinstance(source, str | Path) and "://" not in str(source)


def files_of(source: Files) -> list[Path]:
    """The files, in the order that is given, or that of their names."""
    if not isinstance(source, str | Path):
        return [file for one in source for file in files_of(one)]
    path = Path(source)
    if path.is_dir():
        return _inside(path)
    if path.exists() or not glob.has_magic(str(source)):
        return [path]
    found = sorted(Path(name) for name in glob.glob(str(source)))  # noqa: PTH207
    if not found:
        raise DataError(f"no file matches {source}", source=str(source))
    return found


def label_of(source: object) -> str:
    """A source in messages."""
    if isinstance(source, list | tuple):
        return f"{len(source)} files ({source[0]}, ...)" if len(source) > 1 else str(source[0])
    return str(source)


def _inside(folder: Path) -> list[Path]:
    """The files of a folder, not those of folders in it; hidden ones are somebody's notes."""
    if (folder / _RELEASE).exists():
        raise DataError(
            f"{folder} is a release and not a table; sf.load reads it", source=str(folder)
        )
    found = sorted(
        file for file in folder.iterdir() if file.is_file() and not file.name.startswith((".", "_"))
    )
    if not found:
        raise DataError(f"{folder} is a folder without files; name a table", source=str(folder))
    return found
