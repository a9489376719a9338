"""The rows of files, batch by batch, with the values that reading them whole gives.

A source is opened without reading rows, except that the types of a CSV file are decided on all of
its texts, which takes a scan. Each scan reads the named columns of all files once; identifiers are
never among them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.core.attribute import Attribute, Kind, encode
from sfumato.core.binning import binned, classes_of, needs_rows
from sfumato.core.microdata import require_columns
from sfumato.core.schema import Declaration, Schema
from sfumato.engines.csv_rows import open_csv
from sfumato.engines.memory import memory_or_half
from sfumato.engines.splits import Files, Split, scan
from sfumato.engines.typed_rows import TypedFiles, is_typed, stated_types
from sfumato.errors import DataError, ParameterError
from sfumato.io.compression import FACTOR, codec_of
from sfumato.io.dialects import Dialect
from sfumato.io.files import CSV, PARQUET, chunks_of, open_file
from sfumato.io.opened import Opened, reading
from sfumato.io.plain import normalized, plain_table
from sfumato.io.sources import Files as Named
from sfumato.io.sources import files_of, is_files, label_of

# What reading, encoding and publishing in memory take for each value.
_IN_MEMORY_BYTES = 24
Stamp = tuple[Path, int, int, int]


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows that can be read several times. ``types`` are those of the columns as published,
    ``stamps`` those of the files when they were opened.
    """

    label: str
    schema: Schema
    types: dict[str, pa.DataType]
    files: Files
    stamps: Sequence[Stamp]
    missing: Collection[str] = ()

    def scan(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        """The named columns, some thousand rows at a time."""
        return chain.from_iterable(self.read(Split(file), columns) for file in self.files.files)

    def read(self, split: Split, columns: Sequence[str]) -> Iterator[pa.Table]:
        """The named columns of a split."""
        compared = {*self.schema.quasi, *self.schema.sensitive}
        for raw in self.files.read(split, columns):
            table = normalized(raw, compared, self.missing)
            clean = [self._clean(name, table.column(name)) for name in columns]
            yield pa.table(clean, schema=self.fields(columns))

    def fields(self, columns: Sequence[str]) -> pa.Schema:
        """Names and types, and nothing else."""
        return pa.schema([pa.field(name, self.types[name]) for name in columns])

    def attribute(self, name: str) -> tuple[Attribute, pa.Array]:
        """A column as its schema describes it, with no more values than are declared."""
        return self.encoded(name, pa.chunked_array([], self.types[name]))

    def encoded(self, name: str, column: pa.ChunkedArray) -> tuple[Attribute, pa.Array]:
        """The domain of a column, and its values in the form they are published in."""
        attribute, codes = _encode(name, column, self.schema)
        return attribute, attribute.decode(codes)

    def require_unchanged(self) -> None:
        """Raise if a file was written to since it was opened: other rows were counted than read."""
        try:
            same = self.stamps == [_stamp(file) for file, *_ in self.stamps]
        except OSError:
            same = False
        if not same:
            raise self.changed()

    def changed(self) -> DataError:
        """What to raise when a second reading finds other rows than the first."""
        return DataError(
            f"{self.label} changed while it was read; make a copy that stays as it is",
            source=self.label,
        )

    def _clean(self, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray | pa.Array:
        if name in self.schema.insensitive:
            return column
        declared = self.schema.declarations.get(name, Declaration())
        ordered = declared.order is not None or name in self.schema.taxonomies
        kind = column.type
        if ordered or not kind.equals(self.types[name]) or pa.types.is_floating(kind):
            # as in memory: strangers to a declared order are refused, and NaN is missing
            return self.encoded(name, column)[1]
        return column


@dataclass(frozen=True, slots=True)
class Columns:
    """Named columns of a source, with their types, that can be read several times."""

    label: str
    types: dict[str, pa.DataType]
    files: Files

    def scan(self, columns: Sequence[str], missing: Collection[str]) -> Iterator[pa.Table]:
        """Some columns as reading them whole gives them, blanks around texts dropped."""
        for raw in scan(self.files, columns):
            with reading(self.label):
                table = normalized(raw, columns, missing)
            yield table


def open_rows(
    source: Named,
    schema: Schema,
    missing: Collection[str] = (),
    dialect: Dialect | None = None,
) -> Rows:
    """A Parquet, Arrow or CSV file, or all that a pattern such as ``part-*.parquet`` names."""
    dialect = dialect or Dialect()
    _require_no_bins(schema)
    files = files_of(source)
    for file in files:
        one_of_many = str(file) if len(files) > 1 else ""
        require_columns(open_file(file, dialect=dialect).names, schema, one_of_many)
    stamps = [_stamp(file) for file in files]
    columns = [*schema.quasi, *schema.sensitive, *schema.insensitive]
    _, kinds, opened = _opened(source, columns, missing, dialect)
    coded = {*schema.quasi, *schema.sensitive}
    types = {
        # encoding settles the type, and refuses what cannot be published
        name: _encode(name, pa.chunked_array([], kind), schema)[0].values.type
        if name in coded
        else kind
        for name, kind in kinds.items()
    }
    return Rows(label_of(source), schema, types, opened, stamps, missing)


@dataclass(frozen=True, slots=True)
class NamedRows:
    """Columns of a file under other names, batch by batch, with the values that reading it whole
    gives; ``types`` are by the new names.
    """

    label: str
    called: Mapping[str, str]
    types: Mapping[str, pa.DataType]
    files: Files
    missing: Collection[str] = ()

    def scan(self) -> Iterator[pa.Table]:
        """Some thousand rows at a time; of a file without rows an empty table."""
        yield pa.schema(list(self.types.items())).empty_table()
        for file in self.files.files:
            yield from self.read(Split(file))

    def read(self, split: Split) -> Iterator[pa.Table]:
        """The rows of a split."""
        theirs = list(dict.fromkeys(self.called.values()))
        for raw in self.files.read(split, theirs):
            table = normalized(raw, theirs, self.missing)
            columns = [table.column(name) for name in self.called.values()]
            yield pa.table(columns, schema=pa.schema(list(self.types.items())))


def open_named(
    source: Named,
    called: Mapping[str, str],
    missing: Collection[str] = (),
    dialect: Dialect | None = None,
) -> NamedRows:
    """Some columns of a Parquet, Arrow or CSV file, each ``called`` as the mapping says there."""
    theirs = list(dict.fromkeys(called.values()))
    label, kinds, files = _opened(source, theirs, missing, dialect or Dialect())
    types = {ours: kinds[name] for ours, name in called.items()}
    return NamedRows(label, called, types, files, missing)


def open_columns(
    source: Named, missing: Collection[str] = (), dialect: Dialect | None = None
) -> Columns:
    """All columns of the same kinds of files, whatever their role will be."""
    dialect = dialect or Dialect()
    return Columns(*_opened(source, column_names(source, dialect), missing, dialect))


def together(
    source: object, missing: Collection[str] = (), dialect: Dialect | None = None
) -> object:
    """The files that a pattern names, as one table to be read whole; any other source as it is."""
    if not is_files(source):
        return source
    files, dialect = files_of(source), dialect or Dialect()
    if len(files) == 1:
        return files[0]
    names = [open_file(file, missing, dialect).names for file in files]

    def load(columns: Sequence[str]) -> pa.Table:
        if not any(map(is_streamed, files)):
            loaded = [plain_table(open_file(file).load(columns)) for file in files]
            with reading(label_of(source)):
                return pa.concat_tables(loaded, promote_options="permissive")
        _, kinds, opened = _opened(source, columns, missing, dialect)
        # typed files are not mapped here: whoever writes to them then changes what was looked at
        typed = (plain_table(open_file(file).load(columns)) for file in files)
        parts = typed if all(map(is_typed, files)) else scan(opened, columns)
        return pa.concat_tables([pa.schema(list(kinds.items())).empty_table(), *parts])

    shared = (name for name in names[0] if all(name in others for others in names))
    return Opened(label_of(source), tuple(shared), load)


def is_streamed(file: Path) -> bool:
    """Whether a file can be read part by part."""
    return is_typed(file) or file.name.lower().endswith(CSV)


def column_names(source: Named, dialect: Dialect) -> tuple[str, ...]:
    """The names of a file's columns, or of those of the first of several."""
    return tuple(open_file(files_of(source)[0], dialect=dialect).names)


def _opened(
    source: Named, columns: Sequence[str], missing: Collection[str], dialect: Dialect
) -> tuple[str, dict[str, pa.DataType], Files]:
    files = files_of(source)
    if all(map(is_typed, files)):
        return label_of(source), stated_types(files, columns), TypedFiles(files)
    if all(file.name.lower().endswith(CSV) for file in files):
        opened = open_csv(files, columns, missing, dialect)
        return label_of(source), dict(opened.kinds), opened
    label = label_of(source)
    if any(map(is_streamed, files)):
        raise DataError(
            f"{label} holds files of different kinds, such as {files[0].name} and "
            f"{files[-1].name}; name those of one kind",
            source=label,
        )
    raise DataError(
        f"{label} cannot be streamed; use Parquet, Arrow or CSV files, or read it into memory",
        source=label,
    )


def stored_size(source: Named, schema: Schema) -> tuple[int, int]:
    """How many rows a Parquet or CSV file has (0: not known), and the bytes of its columns."""
    columns = {*schema.quasi, *schema.sensitive, *schema.insensitive}
    rows = size = 0
    for file in files_of(source):
        if not file.name.lower().endswith(PARQUET):
            size += file.stat().st_size * (1 if codec_of(file) is None else FACTOR)
            continue
        with reading(str(file)), pq.ParquetFile(file) as stored:
            rows += stored.metadata.num_rows
            for part in range(stored.num_row_groups):
                size += sum(
                    chunk.total_uncompressed_size
                    for chunk in chunks_of(stored, part)
                    if chunk.path_in_schema.partition(".")[0] in columns
                )
    return rows, size


def needs_streaming(source: object, schema: Schema, memory: int | None = None) -> bool:
    """Whether a file is likely not to fit into memory together with what publishing it takes.

    Without a limit ``memory`` is half of what there is.
    """
    if not is_files(source):
        return False
    try:
        needed = needed_memory(source, schema)
    except (DataError, OSError, ValueError):
        return False  # reading it says what is wrong
    return needed > memory_or_half(memory)


def needed_memory(source: Named, schema: Schema) -> int:
    """The bytes that a file is likely to take, together with what publishing it takes."""
    rows, stored = stored_size(source, schema)
    columns = len(schema.quasi) + len(schema.sensitive) + len(schema.insensitive)
    return max(3 * stored, rows * columns * _IN_MEMORY_BYTES)


def _stamp(file: Path) -> Stamp:
    """What changes when a file is written to, or another one takes its name."""
    found = file.stat()
    return file, found.st_ino, found.st_size, found.st_mtime_ns


def _require_no_bins(schema: Schema) -> None:
    for name, declared in schema.declarations.items():
        if needs_rows(declared.bins):
            raise ParameterError(
                f"{name!r} is to be divided into classes of equally many rows, which needs all of "
                "its values at once; give the borders, bins = [...], or read the table into memory",
                parameter="bins",
            )


def _encode(name: str, column: pa.ChunkedArray, schema: Schema) -> tuple[Attribute, pa.Array]:
    declared = schema.declarations.get(name, Declaration())
    if isinstance(declared.bins, tuple):
        if not pa.types.is_string(column.type):  # texts are classes already
            column, _ = binned(name, column, declared.bins)
        return encode(name, column, kind=Kind.CATEGORICAL, order=classes_of(declared.bins))
    return encode(
        name,
        column,
        kind=declared.kind,
        order=declared.order,
        taxonomy=schema.taxonomies.get(name),
    )
