"""Open a release folder, whatever its kind."""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

from sfumato.core.foreign import our_errors
from sfumato.errors import ReleaseError
from sfumato.forms.anatomized.release import AnatomizedTables
from sfumato.forms.checksums import other_checksums
from sfumato.forms.files import Files
from sfumato.forms.generalized.release import GeneralizedTable
from sfumato.forms.joined.release import JoinRelease
from sfumato.forms.permuted.release import PermutedTable
from sfumato.forms.perturbed.release import PerturbedTable
from sfumato.forms.remembering import made_from
from sfumato.forms.settled import settled
from sfumato.forms.stated import read_manifest
from sfumato.io.paths import usable

Grouped: TypeAlias = GeneralizedTable | AnatomizedTables
Release: TypeAlias = Grouped | PermutedTable | PerturbedTable | JoinRelease

_KINDS: dict[str, type[Release]] = {
    GeneralizedTable.kind: GeneralizedTable,
    AnatomizedTables.kind: AnatomizedTables,
    PermutedTable.kind: PermutedTable,
    PerturbedTable.kind: PerturbedTable,
    JoinRelease.kind: JoinRelease,
}


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
    kind = files.manifest.kind
    if kind not in _KINDS:
        raise ReleaseError(
            f"{files.folder} is a release of kind {kind!r}, which this sfumato does not know",
            path=files.folder,
        )
    release = _KINDS[kind].read(files)
    made_from(release, files.folder.resolve())
    return release
