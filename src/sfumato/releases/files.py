"""The files of a release folder: one per table, and release.json.

Tables are written and read in pieces, so that a table with long sets in it need not be held whole.
CSV files are read as texts and turned into the types that release.json states: guessing would make
one value of "1" and "1.0".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, get_args

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from sfumato.core.seeds import require_written
from sfumato.core.threads import in_threads
from sfumato.errors import ParameterError, ReleaseError
from sfumato.io.csv_files import with_blocks
from sfumato.io.files import sound
from sfumato.io.folders import new_folder
from sfumato.io.opened import reading
from sfumato.io.set_texts import sets_of
from sfumato.io.types import from_texts, type_of
from sfumato.io.writing import write_csv, write_parquet
from sfumato.releases.checksums import sealed
from sfumato.releases.manifest import FILE, Manifest

FileFormat: TypeAlias = Literal["parquet", "csv"]
Pieces: TypeAlias = Iterable[pa.Table]
PIECE = 65_536  # rows
# an empty line is a row of a table with one column
_PARSING = pyarrow.csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False)
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
        (folder / FILE).write_text(sealed(manifest, folder).to_json(), encoding="utf-8")
    return Path(path)


@dataclass(frozen=True, slots=True)
class Files:
    """The tables of a release folder, in the types that release.json states.

    With ``kept`` a table is read once and stays, unless it has sets in it, which are long.
    """

    folder: Path
    manifest: Manifest
    kept: dict[str, pa.Table] | None = None

    def whole(self, stem: str) -> pa.Table:
        """One table."""
        if self.kept is not None and stem in self.kept:
            return self.kept[stem]
        table = pa.concat_tables(self._read(stem))
        if self.kept is not None:
            self.kept[stem] = table
        return table

    def pieces(self, stem: str) -> Iterator[pa.Table]:
        """One table, some rows at a time; the first piece may be empty."""
        if self.kept is None or self._has_sets():
            yield from self._read(stem)
            return
        table = self.whole(stem)
        yield table.slice(0, 0)
        for low in range(0, table.num_rows, PIECE):
            yield table.slice(low, PIECE)

    def paths(self, stem: str) -> list[Path]:
        """Where a table is."""
        found = [self.folder / f"{stem}.{end}" for end in get_args(FileFormat)]
        return [path for path in found if path.is_file()]

    def _has_sets(self) -> bool:
        return any(kind.startswith("list<") for _, kind in self.manifest.types)

    def _read(self, stem: str) -> Iterator[pa.Table]:
        for path in self.paths(stem)[:1]:
            with reading(str(path)):
                read = _parquet if path.suffix == ".parquet" else _texts
                yield from (_typed(sound(piece), self.manifest, path) for piece in read(path))
            return
        raise ReleaseError(f"{self.folder} has no {stem}.parquet or {stem}.csv", path=self.folder)


def _parquet(path: Path) -> Iterator[pa.Table]:
    with pq.ParquetFile(path) as file:
        yield file.schema_arrow.empty_table()
        for part in range(file.num_row_groups):
            if any(map(pa.types.is_list, file.schema_arrow.types)):
                yield from (pa.table(batch) for batch in file.iter_batches(PIECE, [part]))
            else:
                yield file.read_row_group(part)


def stem_of(prefix: str, name: str) -> str:
    """The name of a file about one column; a column may be called like no file can, or like a path
    out of the folder.
    """
    for letter in "%/\\\0":
        name = name.replace(letter, f"%{ord(letter):02X}")
    return f"{prefix}_{name}"


def _texts(path: Path) -> Iterator[pa.Table]:
    """The texts of a file."""
    yield with_blocks(lambda size: _read_texts(path, size))


def csv_header(path: Path) -> list[str]:
    """The names of a CSV file's columns."""
    return with_blocks(lambda size: _read_header(path, size))


def _read_header(path: Path, size: int) -> list[str]:
    reading = pyarrow.csv.ReadOptions(block_size=size)
    with pyarrow.csv.open_csv(path, read_options=reading, parse_options=_PARSING) as opened:
        return list(opened.schema.names)


def _read_texts(path: Path, size: int) -> pa.Table:
    header = _read_header(path, size)
    return pyarrow.csv.read_csv(
        path,
        read_options=pyarrow.csv.ReadOptions(block_size=size),
        parse_options=_PARSING,
        convert_options=pyarrow.csv.ConvertOptions(
            column_types=dict.fromkeys(header, pa.string()),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,  # a null is written as nothing, a text in quotes
        ),
    )


def _typed(table: pa.Table, manifest: Manifest, path: Path) -> pa.Table:
    """The columns in their stated types: texts of CSV, and what Parquet knows by another type.

    A text in Parquet where something else is stated is a flaw, to be found, and stays.
    """
    if path.suffix == ".parquet":
        kept = {name for name in table.column_names if _is_text(table.schema, name)}
        stated = {name: kind for name, kind in manifest.types if name not in kept}
    else:
        stated = dict(manifest.types)
    columns = [
        _in_type(name, column, type_of(stated.get(name, "")))
        for name, column in zip(table.column_names, table.columns, strict=True)
    ]
    return pa.table(columns, names=table.column_names)


def _is_text(fields: pa.Schema, name: str) -> bool:
    return any(pa.types.is_string(fields.types[at]) for at in fields.get_all_field_indices(name))


def _in_type(name: str, column: pa.ChunkedArray, stated: pa.DataType | None) -> pa.ChunkedArray:
    """The column in its stated type; one that is not known, or does not fit, is left as it is."""
    if stated is None or column.type == stated:
        return column
    try:
        if not pa.types.is_string(column.type):
            return column.cast(stated)
        if pa.types.is_list(stated):
            return pa.chunked_array([sets_of(name, column.combine_chunks())]).cast(stated)
        return from_texts(column, stated)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return column
