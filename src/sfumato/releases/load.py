"""Open a release folder, whatever its kind."""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

from sfumato.errors import ReleaseError
from sfumato.releases.anatomized import AnatomizedTables
from sfumato.releases.files import Files
from sfumato.releases.generalized import GeneralizedTable
from sfumato.releases.joined import JoinRelease
from sfumato.releases.permuted import PermutedTable
from sfumato.releases.perturbed import PerturbedTable
from sfumato.releases.remembering import made_from
from sfumato.releases.stated import read_manifest

Grouped: TypeAlias = GeneralizedTable | AnatomizedTables
Release: TypeAlias = Grouped | PermutedTable | PerturbedTable | JoinRelease

_KINDS: dict[str, type[Release]] = {
    GeneralizedTable.kind: GeneralizedTable,
    AnatomizedTables.kind: AnatomizedTables,
    PermutedTable.kind: PermutedTable,
    PerturbedTable.kind: PerturbedTable,
    JoinRelease.kind: JoinRelease,
}


def load(path: str | Path) -> Release:
    """Read a release folder."""
    folder = Path(path)
    return read_release(Files(folder, read_manifest(folder)))


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
