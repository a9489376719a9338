"""A folder that appears whole or not at all.

Files are written into a hidden folder beside the target (unfinished.py), which gets its name when
everything is on disk. A former release and the new one change places in one step where the system
can do that, so that readers find one of them at any moment; elsewhere it is moved aside first.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sfumato.core.foreign import is_memory, said
from sfumato.errors import OutputExists, ReleaseError
from sfumato.io import unfinished
from sfumato.io.exchange import exchanged
from sfumato.io.paths import usable

MANIFEST = "release.json"
FORMAT = "sfumato-release"
# All the files that a release may consist of. A folder with anything else in it is never replaced.
RELEASE_FILES = re.compile(
    r"release\.json|(generalized|qit|st|st_.+|permuted|perturbed|domain|domain_.+|masked"
    r"|joined|sensitive_groups|sensitive_groups_.+)\.(parquet|csv)",
    re.DOTALL,
)

_REMEDIES = {
    errno.ENOSPC: "free some space or choose a folder on another disk",
    errno.EDQUOT: "free some space or choose a folder on another disk",
    errno.EFBIG: "raise the limit on file sizes (ulimit -f) or choose another disk",
    errno.EACCES: "choose a folder you may write to",
    errno.EPERM: "choose a folder you may write to",
    errno.EROFS: "choose a folder on a disk that can be written to",
    errno.EBUSY: "it is in use or a mount point; choose a folder inside it",
    errno.EXDEV: "it is a mount point; choose a folder inside it",
    errno.ENOTDIR: "a part of that path is a file",
    errno.EEXIST: "a part of that path is a file",
    errno.ENAMETOOLONG: "choose a shorter name",
}


@contextmanager
def new_folder(path: str | Path, *, force: bool = False) -> Iterator[Path]:
    """Yield a folder to write into, which becomes ``path`` if no exception is raised.

    What stands at ``path`` is kept unless ``force`` is given and it is an empty folder or a
    former release; it is removed when the new folder is in its place.
    """
    shown = usable(path)
    target = shown.resolve()
    made: list[Path] = []
    try:
        unfinished.clear(target)
        _require_room(shown, target, force)
        made = _make_parents(target)
        temp = unfinished.beside(target, unfinished.NEW)
        with unfinished.begun(temp, target):
            # not tempfile.mkdtemp, whose folders only their owner may open
            temp.mkdir()
            try:
                yield temp
                flush(temp)
                _require_room(shown, target, force)
                put_in_place(temp, target)
            except BaseException:
                shutil.rmtree(temp, ignore_errors=True)
                raise
    except BaseException as error:
        for folder in made:
            with suppress(OSError):
                folder.rmdir()
        if isinstance(error, OSError) and not is_memory(error):
            raise _explained(shown, error) from error
        raise


def require_room(path: str | Path, force: bool) -> None:
    """Raise unless ``new_folder`` could put a folder there: asked before the long work starts."""
    shown = usable(path)
    try:
        _require_room(shown, shown.resolve(), force)
    except OSError as error:
        raise _explained(shown, error) from error


def _require_room(shown: Path, target: Path, force: bool) -> None:
    if not os.path.lexists(target):
        return
    obstacle = _obstacle(target)
    if obstacle:
        raise OutputExists(f"{shown} {obstacle}; choose another folder", path=shown)
    if not force:
        raise OutputExists(
            f"{shown} exists; choose another folder, or replace it with force=True (--force)",
            path=shown,
        )


def _obstacle(target: Path) -> str:
    """Why a folder must not be replaced even by force: it may hold what is not a release.

    A file called release.json is not enough, other programs have one too; and a note that somebody
    put beside a release is not ours to delete.
    """
    if not target.is_dir():
        return "is a file"
    entries = list(target.iterdir())
    if entries and not (target / MANIFEST).is_file():
        return f"holds files and no {MANIFEST}, so it is not a release and is never replaced"
    for entry in sorted(entries):
        plain = entry.is_file() and not entry.is_symlink()
        if not plain or not RELEASE_FILES.fullmatch(entry.name):
            return f"holds {entry.name!r}, which no release does, so it is never replaced"
    if entries and not _is_manifest(target / MANIFEST):
        return f"holds a {MANIFEST} that is not ours, so it is not a release and is never replaced"
    return ""


def _is_manifest(path: Path) -> bool:
    try:
        stated = json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError):
        return False
    return isinstance(stated, dict) and stated.get("format") == FORMAT


def put_in_place(temp: Path, target: Path) -> None:
    """Give a finished folder its name; what stood there is removed."""
    if not target.exists():
        temp.rename(target)
        flush_entry(target.parent)
        return
    if exchanged(temp, target):
        former = temp
    else:
        former = unfinished.beside(target, unfinished.OLD)
        target.rename(former)
        try:
            temp.rename(target)
        except BaseException:
            former.rename(target)
            raise
    flush_entry(target.parent)
    shutil.rmtree(former, ignore_errors=True)


def _make_parents(target: Path) -> list[Path]:
    """Create the folders above the target; those that were missing, deepest first."""
    missing = [folder for folder in target.parents if not folder.exists()]
    target.parent.mkdir(parents=True, exist_ok=True)
    return missing


def flush(folder: Path) -> None:
    """Have everything on disk before the rename, or a power cut could leave empty files."""
    for entry in folder.iterdir():
        if entry.is_dir():
            flush(entry)
        else:
            flush_entry(entry)
    flush_entry(folder)


def flush_entry(path: Path) -> None:
    """Have a file, or the names in a folder, on disk."""
    if os.name == "nt" and path.is_dir():
        return  # folders cannot be opened there
    handle = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def explanation(error: OSError) -> str:
    """What the system says, and what would help."""
    remedy = _REMEDIES.get(error.errno or 0)
    return said(error) + (f"; {remedy}" if remedy else "")


def _explained(shown: Path, error: OSError) -> ReleaseError:
    return ReleaseError(f"cannot write {shown}: {explanation(error)}", path=shown)
