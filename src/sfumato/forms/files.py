"""The files of a release folder: one per table, and release.json.

Tables are written and read in pieces, so that a table with long sets in it need not be held whole.
CSV files are read as texts and turned into the types that release.json states: guessing would make
one value of "1" and "1.0".
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self, TypeAlias, get_args

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from sfumato.core.seeds import require_written
from sfumato.core.threads import in_threads
from sfumato.errors import ParameterError, ReleaseError
from sfumato.forms.checksums import sealed
from sfumato.forms.file_names import stems_found
from sfumato.forms.manifest import FILE, Manifest
from sfumato.forms.parts import PIECE
from sfumato.io.csv_files import larger, larger_blocks_help, with_blocks
from sfumato.io.files import chunks_of, sound
from sfumato.io.folders import new_folder
from sfumato.io.opened import reading
from sfumato.io.plain import plain_table
from sfumato.io.set_texts import sets_of
from sfumato.io.types import from_texts, type_like
from sfumato.io.writing import ROW_GROUP, parquet_writer, printable, write_csv, write_parquet

FileFormat: TypeAlias = Literal["parquet", "csv"]
Pieces: TypeAlias = Iterable[pa.Table]
# an empty line is a row of a table with one column
_PARSING = pyarrow.csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False)
_TEXTS = pa.dictionary(pa.int32(), pa.string())
_ITEMS = 2**20  # of sets, in one piece that is read
_KEPT_CELLS = 2**25  # of a table that stays in memory once it is read
_BLOCK_BYTES = 2**26  # of a CSV file; longer lines are read with larger blocks


def write_release(
    path: str | Path,
    tables: Mapping[str, pa.Table | Pieces],
    manifest: Manifest,
    *,
    force: bool,
    format: FileFormat,
    experiment: bool,
    ascending: str | None = None,
) -> Path:
    """Write a release folder, whole or not at all.

    A release made with a short seed is written as an ``experiment`` only, and says so. A column of
    all tables may hold ``ascending`` numbers.
    """
    require_written(manifest.seed, experiment=experiment)
    require_format(format)
    with new_folder(path, force=force) as folder:
        in_threads(
            lambda stem: write_table(tables[stem], folder / f"{stem}.{format}", ascending), tables
        )
        (folder / FILE).write_text(sealed(manifest, folder).to_json(), encoding="utf-8")
    return Path(path)


def require_format(format: str) -> None:
    """Raise unless tables can be written in this format."""
    if format not in get_args(FileFormat):
        raise ParameterError(f"format must be parquet or csv, not {format!r}", parameter="format")


def write_table(table: pa.Table | Pieces, path: Path, ascending: str | None = None) -> None:
    """Write a table, or its pieces one by one, in the format that the file's name ends with."""
    if path.suffix == ".csv":
        write_csv(table, path)
    else:
        write_parquet(table, path, ascending)


class GrowingTable:
    """A table that is written while it grows: the same file as when it is written whole."""

    def __init__(self, path: Path, ascending: str | None) -> None:
        self._path, self._ascending = path, ascending
        self._held: list[pa.Table] = []
        self._writer: pq.ParquetWriter | pyarrow.csv.CSVWriter | None = None

    def __enter__(self) -> Self:
        """Rows can be added until the end."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Write what is left."""
        if kind is None:
            self._write(pa.concat_tables(self._held))
        if self._writer is not None:
            self._writer.close()

    def add(self, rows: pa.Table) -> None:
        """Put more rows behind those that are there."""
        self._held.append(rows)
        while sum(table.num_rows for table in self._held) > ROW_GROUP:
            whole = pa.concat_tables(self._held)
            self._write(whole.slice(0, ROW_GROUP))
            self._held = [whole.slice(ROW_GROUP)]

    def _write(self, rows: pa.Table) -> None:
        table = plain_table(rows)
        csv = self._path.suffix == ".csv"
        shown = printable(table) if csv else table.combine_chunks()
        if self._writer is None and csv:
            self._writer = pyarrow.csv.CSVWriter(self._path, shown.schema)
        elif self._writer is None:
            self._writer = parquet_writer(self._path, shown.schema, self._ascending)
        self._writer.write_table(shown)


@dataclass(frozen=True, slots=True)
class Files:
    """The tables of a release folder, in the types that release.json states.

    With ``kept`` a table is read once and stays, unless it is large or may have long cells.
    """

    folder: Path
    manifest: Manifest
    kept: dict[str, pa.Table] | None = None

    def whole(self, stem: str) -> pa.Table:
        """One table."""
        if self.kept is not None and stem in self.kept:
            return self.kept[stem]
        # as one: a cell that does not fit its type leaves the whole column as it is
        table = self.typed(stem, pa.concat_tables(self._read(stem)))
        if self.kept is not None and self._stays():
            self.kept[stem] = table
        return table

    def by_column(
        self, prefix: str, names: Sequence[str]
    ) -> tuple[dict[str, pa.Table], tuple[str, ...]]:
        """The tables that are about one column each, and the names of their files."""
        stems = stems_found(prefix, names, self.has)
        return {name: self.whole(stem) for name, stem in zip(names, stems, strict=True)}, stems

    def pieces(self, stem: str, coded: Collection[str] = ()) -> Iterator[pa.Table]:
        """One table, some rows at a time; the first piece may be empty.

        Where columns are ``coded``, their texts may come as dictionaries: each is then looked at
        once, however often it is repeated. No column has its stated type before ``typed``.
        """
        if not self._stays():
            if coded:
                yield from self._read(stem, frozenset(coded))
            else:
                yield from (self.typed(stem, piece) for piece in self._read(stem))
            return
        table = self.whole(stem)
        yield table.slice(0, 0)
        for low in range(0, table.num_rows, PIECE):
            yield table.slice(low, PIECE)

    def paths(self, stem: str) -> list[Path]:
        """Where a table is."""
        found = [self.folder / f"{stem}.{end}" for end in get_args(FileFormat)]
        return [path for path in found if path.is_file()]

    def has(self, stem: str) -> bool:
        """Whether a table is there."""
        return bool(self.paths(stem))

    def typed(self, stem: str, table: pa.Table) -> pa.Table:
        """Some rows of a table, decoded, in the types that are stated."""
        return _typed(plain_table(table), self.manifest, self.paths(stem)[0])

    def _stays(self) -> bool:
        """Whether tables are kept once they are read."""
        cells = self.manifest.rows * len(self.manifest.types)
        return self.kept is not None and cells <= _KEPT_CELLS and not self._has_long_cells()

    def _has_long_cells(self) -> bool:
        sets = any(kind.startswith("list<") for _, kind in self.manifest.types)
        return sets or any(column.form == "text" for column in self.manifest.columns)

    def _read(self, stem: str, coded: Collection[str] = ()) -> Iterator[pa.Table]:
        for path in self.paths(stem)[:1]:
            with reading(str(path)):
                read = _parquet if path.suffix == ".parquet" else _texts
                yield from map(sound, read(path, coded))
            return
        raise ReleaseError(f"{self.folder} has no {stem}.parquet or {stem}.csv", path=self.folder)


def _parquet(path: Path, coded: Collection[str]) -> Iterator[pa.Table]:
    with pq.ParquetFile(path) as file:
        leaves = [file.schema.column(place) for place in range(len(file.schema))]
    texts = [leaf.path for leaf in leaves if leaf.path.partition(".")[0] in coded]
    with pq.ParquetFile(path, read_dictionary=texts) as file:
        yield file.schema_arrow.empty_table()
        for part in range(file.num_row_groups):
            if texts or any(map(pa.types.is_list, file.schema_arrow.types)):
                size = _piece_rows(file, part)
                yield from map(_as_table, file.iter_batches(size, [part]))
            else:
                yield file.read_row_group(part)


def _as_table(batch: pa.RecordBatch) -> pa.Table:
    # not pa.table: there, a column that is kept keeps all others from being let go
    return pa.Table.from_batches([batch])


def _piece_rows(file: pq.ParquetFile, part: int) -> int:
    """How many rows to read at once; those with long sets are few."""
    items: int = max(chunk.num_values for chunk in chunks_of(file, part))
    rows: int = file.metadata.row_group(part).num_rows
    return max(1, min(PIECE, _ITEMS * rows // max(1, items)))


def _texts(path: Path, coded: Collection[str]) -> Iterator[pa.Table]:
    """The texts of a file; where a line does not fit into a block, again with larger ones."""
    size, done = _BLOCK_BYTES, 0
    while True:
        seen = 0
        try:
            for piece in _blocks(path, coded, size):
                seen += piece.num_rows
                fresh = min(piece.num_rows, max(0, seen - done))
                yield piece.slice(piece.num_rows - fresh)
                done = max(done, seen)
            return
        except pa.ArrowInvalid as error:
            if not larger_blocks_help(error, size):
                raise
        size = larger(size)


def _blocks(path: Path, coded: Collection[str], size: int) -> Iterator[pa.Table]:
    blocks = pyarrow.csv.ReadOptions(block_size=min(size, max(1, path.stat().st_size)))
    converting = pyarrow.csv.ConvertOptions(
        column_types={name: _TEXTS if name in coded else pa.string() for name in csv_header(path)},
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,  # a null is written as nothing, a text in quotes
    )
    with pyarrow.csv.open_csv(path, blocks, _PARSING, converting) as opened:
        yield opened.schema.empty_table()
        yield from map(_as_table, opened)


def csv_header(path: Path) -> list[str]:
    """The names of a CSV file's columns."""
    return with_blocks(lambda size: _read_header(path, size))


def _read_header(path: Path, size: int) -> list[str]:
    reading = pyarrow.csv.ReadOptions(block_size=size)
    with pyarrow.csv.open_csv(path, read_options=reading, parse_options=_PARSING) as opened:
        return list(opened.schema.names)


def _typed(table: pa.Table, manifest: Manifest, path: Path) -> pa.Table:
    """The columns in their stated types: texts of CSV, and what Parquet knows by another type.

    A text in Parquet where something else is stated is a flaw, to be found, and stays.
    """
    if path.suffix == ".parquet":
        kept = {field.name for field in table.schema if pa.types.is_string(field.type)}
        stated = {name: kind for name, kind in manifest.types if name not in kept}
    else:
        stated = dict(manifest.types)
    columns = [
        _in_type(name, column, type_like(stated.get(name, ""), column.type))
        for name, column in zip(table.column_names, table.columns, strict=True)
    ]
    return pa.table(columns, names=table.column_names)


def _in_type(name: str, column: pa.ChunkedArray, stated: pa.DataType | None) -> pa.ChunkedArray:
    """The column in its stated type; one that is not known, or does not fit, is left as it is."""
    if stated is None or column.type == stated:
        return column
    try:
        if not pa.types.is_string(column.type):
            return column.cast(stated)
        if pa.types.is_list(stated):
            lists = sets_of(name, column.combine_chunks())
            values = from_texts(lists.values, stated.value_type)
            return pa.chunked_array(
                [pa.ListArray.from_arrays(lists.offsets, values, mask=lists.is_null())]
            ).cast(stated)
        return from_texts(column, stated)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return column
