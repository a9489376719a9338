"""Slices of tables that share groups: the QIT and the STs of a run of group numbers."""

from __future__ import annotations

from collections.abc import Collection

from sfumato.core.schema import Role
from sfumato.forms.anatomized.release import COUNT, GROUP, AnatomizedTables
from sfumato.forms.file_names import stems_found
from sfumato.forms.files import Files
from sfumato.forms.manifest import Manifest
from sfumato.forms.slices import Slice, Slices, by_groups, narrowed, read_groups


def _cut(files: Files, rows: int) -> list[Slice]:
    return by_groups(files, AnatomizedTables.stem, GROUP, rows)


def _read(files: Files, part: Slice, names: Collection[str]) -> AnatomizedTables:
    manifest = narrowed(files.manifest, names)
    known = [column.name for column in files.manifest.of_role(Role.SENSITIVE)]
    stems = stems_found(AnatomizedTables.column_stem, known, files.has)
    sts = {
        name: read_groups(files, stem, part, [GROUP, name, COUNT], GROUP)
        for name, stem in zip(known, stems, strict=True)
        if name in names
    }
    shown = [*_shown(manifest), GROUP]
    qit = read_groups(files, AnatomizedTables.stem, part, shown, GROUP)
    return AnatomizedTables(qit, sts, manifest)


def _shown(manifest: Manifest) -> list[str]:
    return [column.name for column in manifest.columns if column.role != Role.SENSITIVE]


SLICES = Slices(_cut, _read)
