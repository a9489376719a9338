"""Slices of a generalized table: in each, every run of equal rows is a group of its own."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core.schema import Role
from sfumato.forms.compact import Runs
from sfumato.forms.files import Files
from sfumato.forms.generalized.release import STEM, GeneralizedTable
from sfumato.forms.slices import Slice, Slices, by_row_groups, narrowed, read_row_groups

# a box without sides, where none of them is asked about
_EVERYTHING = pa.table({"": pa.array([0], pa.int8())})


def _cut(files: Files, rows: int) -> list[Slice]:
    return by_row_groups(files, STEM, rows)


def _read(files: Files, part: Slice, names: Collection[str]) -> GeneralizedTable:
    manifest = narrowed(files.manifest, names)
    sides = manifest.quasi_columns
    exact = [one.name for one in manifest.columns if one.role != Role.QUASI]
    found = read_row_groups(files, STEM, part, [*sides, *exact])
    rows = files.typed(STEM, found.select(exact))
    if not sides:
        return GeneralizedTable(_EVERYTHING, np.zeros(len(found), np.int32), rows, manifest)
    runs = Runs()
    _, lengths = runs.add(found.select(sides))
    lines = files.typed(STEM, pa.concat_tables(runs.heads))
    groups = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
    return GeneralizedTable(lines, groups, rows, manifest)


def _shown(release: GeneralizedTable, name: str) -> pa.Array:
    """The values of cells that are not suppressed: a suppressed one may have any of these."""
    hidden = release.groups.column(f"{name}_suppressed")
    return release.groups.column(name).filter(pc.invert(hidden)).unique()


def _knowing(release: GeneralizedTable, shown: Mapping[str, pa.Array]) -> GeneralizedTable:
    """With a line for every value, in which there are no rows."""
    lines = [release.groups]
    for name, values in shown.items():
        like = release.groups.take(pa.array(np.zeros(len(values), np.int32)))
        for column, cells in ((name, values), (f"{name}_suppressed", _flags(len(values)))):
            like = like.set_column(like.column_names.index(column), column, cells)
        lines.append(like.cast(release.groups.schema))
    return replace(release, groups=pa.concat_tables(lines))


def _flags(n: int) -> pa.Array:
    return pa.array(np.zeros(n, np.bool_))


SLICES = Slices(_cut, _read, _shown, _knowing)
