"""Open a release folder, whatever its kind."""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

from sfumato.errors import ReleaseError
from sfumato.releases.anatomized import AnatomizedTables
from sfumato.releases.generalized import GeneralizedTable
from sfumato.releases.joined import JoinRelease
from sfumato.releases.manifest import read_manifest
from sfumato.releases.permuted import PermutedTable
from sfumato.releases.perturbed import PerturbedTable
from sfumato.releases.remembering import made_from

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
    manifest = read_manifest(folder)
    if manifest.kind not in _KINDS:
        raise ReleaseError(
            f"{folder} is a release of kind {manifest.kind!r}, which this sfumato does not know",
            path=folder,
        )
    release = _KINDS[manifest.kind].read(folder, manifest)
    made_from(release, folder.resolve())
    return release
