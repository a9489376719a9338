"""Open a release folder, whatever its form."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from sfumato.core.foreign import our_errors
from sfumato.core.schema import Role
from sfumato.errors import OutOfMemory, ReleaseError
from sfumato.forms.checksums import other_checksums
from sfumato.forms.files import Files
from sfumato.forms.form import Form
from sfumato.forms.manifest import Manifest
from sfumato.forms.registry import FORMS, Release
from sfumato.forms.remembering import made_from
from sfumato.forms.settled import settled
from sfumato.forms.stated import read_manifest
from sfumato.io.paths import usable

# what a row takes, and each of its cells, when they are read and looked at
_ROW_BYTES, _CELL_BYTES = 18, 14
Result = TypeVar("Result")


@our_errors("reading a release")
def load(path: str | Path) -> Release:
    """Read a release folder, unless its files are not the ones that were written.

    All of them are read once to compute their checksums, which takes less time than reading the
    tables does. A release of format 1 has none.
    """
    return load_with(path, read_release)


def load_with(path: str | Path, read: Callable[[Files], Result]) -> Result:
    """What a function reads of a release folder whose files are the ones that were written."""
    folder = usable(path)
    return settled(folder, lambda: read(_undamaged(folder)))


def _undamaged(folder: Path) -> Files:
    files = Files(folder, read_manifest(folder))
    for flaw in other_checksums(folder, files.manifest):
        raise ReleaseError(
            f"{folder} is damaged: {flaw}; take another copy, or publish again", path=folder
        )
    return files


def read_release(files: Files) -> Release:
    """Read the tables of a release folder."""
    release: Release = form_in(files).release.read(files)
    made_from(release, files.folder.resolve())
    return release


def form_in(files: Files) -> Form:
    """The form of the release in a folder."""
    kind = files.manifest.kind
    if kind not in FORMS:
        raise ReleaseError(
            f"{files.folder} is a release of kind {kind!r}, which this sfumato does not know",
            path=files.folder,
        )
    return FORMS[kind]


def is_joined(path: str | Path) -> bool:
    """Whether a folder holds a release with lines of people who are not in the microdata."""
    form = FORMS.get(read_manifest(usable(path)).kind)
    return form is not None and form.external


def require_loadable(manifest: Manifest, memory: int, doing: str) -> None:
    """Raise unless the tables of a release are likely to fit, together with work on them."""
    boxes = manifest.kind in FORMS and FORMS[manifest.kind].boxes
    kept = [column for column in manifest.columns if not boxes or column.role != Role.QUASI]
    least = manifest.rows * (_ROW_BYTES + _CELL_BYTES * len(kept))
    if least > memory:
        raise OutOfMemory(
            f"{memory:,} bytes of memory are too few for the rows of this release; allow "
            f"{least:,} bytes",
            doing=doing,
        )
