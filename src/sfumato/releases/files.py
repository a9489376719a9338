"""The files of a release folder: one per table, and release.json.

Tables are written and read in pieces, so that a table with long sets in it need not be held whole.
CSV files are read as texts and turned into the types that release.json states: guessing would make
one value of "1" and "1.0".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal, TypeAlias

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from sfumato.core.seeds import require_written
from sfumato.core.threads import in_threads
from sfumato.errors import ParameterError, ReleaseError
from sfumato.io.folders import new_folder
from sfumato.io.opened import reading
from sfumato.io.writing import write_csv, write_parquet
from sfumato.releases.manifest import FILE, Manifest

FileFormat: TypeAlias = Literal["parquet", "csv"]
Pieces: TypeAlias = Iterable[pa.Table]
PIECE = 65_536  # rows
_WRITERS = {"parquet": write_parquet, "csv": write_csv}


def write_release(
    path: str | Path,
    tables: Mapping[str, pa.Table | Pieces],
    manifest: Manifest,
    *,
    force: bool,
    format: FileFormat,
    experiment: bool,
) -> Path:
    """Write a release folder, whole or not at all.

    A release made with a short seed is written as an ``experiment`` only, and says so.
    """
    require_written(manifest.seed, experiment=experiment)
    if format not in _WRITERS:
        raise ParameterError(f"format must be parquet or csv, not {format!r}", parameter="format")
    with new_folder(path, force=force) as folder:
        in_threads(lambda stem: _WRITERS[format](tables[stem], folder / f"{stem}.{format}"), tables)
        (folder / FILE).write_text(manifest.to_json(), encoding="utf-8")
    return Path(path)


def read_whole(folder: Path, stem: str, manifest: Manifest) -> pa.Table:
    """Read one table of a release folder."""
    return pa.concat_tables(read_pieces(folder, stem, manifest))


def read_pieces(folder: Path, stem: str, manifest: Manifest) -> Iterator[pa.Table]:
    """Read one table of a release folder, some rows at a time."""
    parquet, csv = folder / f"{stem}.parquet", folder / f"{stem}.csv"
    if parquet.is_file():
        with reading(str(parquet)), pq.ParquetFile(parquet) as file:
            yield file.schema_arrow.empty_table()
            for batch in file.iter_batches(PIECE):
                yield pa.table(batch)
    elif csv.is_file():
        with reading(str(csv)):
            yield _typed(_texts(csv), manifest)
    else:
        raise ReleaseError(f"{folder} has no {stem}.parquet or {stem}.csv", path=folder)


def stem_of(prefix: str, name: str) -> str:
    """The name of a file about one column; a column may be called like no file can, or like a path
    out of the folder.
    """
    for letter in "%/\\\0":
        name = name.replace(letter, f"%{ord(letter):02X}")
    return f"{prefix}_{name}"


def _texts(path: Path) -> pa.Table:
    # an empty line is a row of a table with one column
    parsing = pyarrow.csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False)
    with pyarrow.csv.open_csv(path, parse_options=parsing) as opened:
        header = opened.schema.names
    return pyarrow.csv.read_csv(
        path,
        parse_options=parsing,
        convert_options=pyarrow.csv.ConvertOptions(
            column_types=dict.fromkeys(header, pa.string()),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,  # a null is written as nothing, a text in quotes
        ),
    )


def _typed(table: pa.Table, manifest: Manifest) -> pa.Table:
    stated = dict(manifest.types)
    columns = [
        _cast(column, stated.get(name))
        for name, column in zip(table.column_names, table.columns, strict=True)
    ]
    return pa.table(columns, names=table.column_names)


def _cast(column: pa.ChunkedArray, stated: str | None) -> pa.ChunkedArray:
    """The column in its stated type; a set, or a type without a short name, stays text."""
    try:
        return column.cast(pa.type_for_alias(stated)) if stated else column
    except ValueError:
        return column
