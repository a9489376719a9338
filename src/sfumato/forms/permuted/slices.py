"""Slices of a permuted table: the rows of a run of group numbers."""

from __future__ import annotations

from collections.abc import Collection

from sfumato.forms.anatomized.release import GROUP
from sfumato.forms.files import Files
from sfumato.forms.permuted.release import PermutedTable
from sfumato.forms.slices import Slice, Slices, by_groups, narrowed, read_groups


def _cut(files: Files, rows: int) -> list[Slice]:
    return by_groups(files, PermutedTable.stem, GROUP, rows)


def _read(files: Files, part: Slice, names: Collection[str]) -> PermutedTable:
    manifest = narrowed(files.manifest, names)
    columns = [*(column.name for column in manifest.columns), GROUP]
    return PermutedTable(read_groups(files, PermutedTable.stem, part, columns, GROUP), manifest)


SLICES = Slices(_cut, _read)
