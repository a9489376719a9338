"""The files of a release folder: one per table, and release.json."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypeAlias

import pyarrow as pa

from sfumato.core.threads import in_threads
from sfumato.errors import ParameterError, ReleaseError
from sfumato.io.folders import new_folder
from sfumato.io.tables import read_table
from sfumato.io.writing import write_csv, write_parquet
from sfumato.releases.manifest import FILE, Manifest

FileFormat: TypeAlias = Literal["parquet", "csv"]
_WRITERS = {"parquet": write_parquet, "csv": write_csv}


def write_release(
    path: str | Path,
    tables: Mapping[str, pa.Table],
    manifest: Manifest,
    *,
    force: bool,
    format: FileFormat,
) -> Path:
    """Write a release folder, whole or not at all."""
    if format not in _WRITERS:
        raise ParameterError(f"format must be parquet or csv, not {format!r}", parameter="format")
    with new_folder(path, force=force) as folder:
        in_threads(lambda stem: _WRITERS[format](tables[stem], folder / f"{stem}.{format}"), tables)
        (folder / FILE).write_text(manifest.to_json(), encoding="utf-8")
    return Path(path)


def read_stem(folder: Path, stem: str) -> pa.Table:
    """Read one table of a release folder, whatever its format."""
    for suffix in _WRITERS:
        path = folder / f"{stem}.{suffix}"
        if path.is_file():
            return read_table(path)
    raise ReleaseError(f"{folder} has no {stem}.parquet or {stem}.csv", path=folder)
