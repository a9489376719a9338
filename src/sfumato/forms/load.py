"""Open a release folder, whatever its form."""

from __future__ import annotations

from pathlib import Path

from sfumato.core.foreign import our_errors
from sfumato.errors import ReleaseError
from sfumato.forms.checksums import other_checksums
from sfumato.forms.files import Files
from sfumato.forms.registry import FORMS, Release
from sfumato.forms.remembering import made_from
from sfumato.forms.settled import settled
from sfumato.forms.stated import read_manifest
from sfumato.io.paths import usable


@our_errors("reading a release")
def load(path: str | Path) -> Release:
    """Read a release folder, unless its files are not the ones that were written.

    All of them are read once to compute their checksums, which takes less time than reading the
    tables does. A release of format 1 has none.
    """
    folder = usable(path)
    return settled(folder, lambda: _load(folder))


def _load(folder: Path) -> Release:
    files = Files(folder, read_manifest(folder))
    for flaw in other_checksums(folder, files.manifest):
        raise ReleaseError(
            f"{folder} is damaged: {flaw}; take another copy, or publish again", path=folder
        )
    return read_release(files)


def read_release(files: Files) -> Release:
    """Read the tables of a release folder."""
    form = files.manifest.kind
    if form not in FORMS:
        raise ReleaseError(
            f"{files.folder} is a release of kind {form!r}, which this sfumato does not know",
            path=files.folder,
        )
    release: Release = FORMS[form].release.read(files)
    made_from(release, files.folder.resolve())
    return release
