"""CSV files batch by batch, with the types that reading them whole gives.

The types are decided on all texts, as io.text_types does, which takes a scan of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from sfumato.engines.splits import Split
from sfumato.errors import DataError
from sfumato.io.compression import open_stream
from sfumato.io.csv_files import (
    Layout,
    _explained,
    larger,
    larger_blocks_help,
    layout_of,
)
from sfumato.io.dialects import Dialect
from sfumato.io.text_types import (
    NULL_MARKERS,
    TextType,
    _absent,
    _all_match,
    _told_apart,
    types_of,
)

_BLOCK_BYTES = 2**22
_MOST_TEXTS = 2**20

Typed: TypeAlias = tuple[pa.DataType, TextType]
_AS_IT_IS = TextType("", ())
_MINUS_0 = r"-0+(\.0+)?"


@dataclass(frozen=True, slots=True)
class CsvFiles:
    """CSV files with the types of their columns, and how many rows each has."""

    found: Mapping[str, Typed]
    n_rows: Mapping[Path, int]
    missing: Collection[str]
    dialect: Dialect

    @property
    def kinds(self) -> dict[str, pa.DataType]:
        """The type of each column."""
        return {name: kind for name, (kind, _) in self.found.items()}

    @property
    def files(self) -> Sequence[Path]:
        """In the order of their rows."""
        return list(self.n_rows)

    def read(self, split: Split, columns: Sequence[str]) -> Iterator[pa.Table]:
        """The rows of a file: where one begins in its middle, nobody knows."""
        for table in _texts(split.file, columns, self.dialect):
            typed = [_as_type(table.column(name), self.found[name], self.missing)
                     for name in columns]  # fmt: skip
            yield pa.table(typed, names=list(columns))

    def sizes(self, file: Path) -> Sequence[int]:
        """All rows."""
        return [self.n_rows[file]]


def open_csv(
    files: Sequence[Path], columns: Sequence[str], missing: Collection[str], dialect: Dialect
) -> CsvFiles:
    """The type that all texts of a column have."""
    guesses = {name: _Guess(name, types_of(dialect)) for name in columns}
    n_rows = dict.fromkeys(files, 0)
    for file in files:
        for table in _texts(file, columns, dialect):
            n_rows[file] += table.num_rows
            for name in columns:
                for chunk in table.column(name).chunks:
                    guesses[name].see(_trimmed(chunk, missing))
    found = {name: guess.found for name, guess in guesses.items()}
    return CsvFiles(found, n_rows, missing, dialect)


class _Guess:
    """The type of a column of texts as ``text_types.typed`` decides it, from parts of the column.

    Patterns and types that a part contradicts are crossed out; the first that stays is the type.
    """

    def __init__(self, name: str, types: Sequence[TextType]) -> None:
        self.name = name
        self.left = list(types)
        self.seen = False
        self.spellings = _Spellings()

    def see(self, texts: pa.Array) -> None:
        """Cross out what these texts contradict."""
        present = _absent(texts, NULL_MARKERS).drop_null()
        self.seen = self.seen or len(present) > 0
        self.left = [
            one._replace(kinds=tuple(kind for kind in one.kinds if _casts(one, present, kind)))
            for one in self.left
            if _all_match(present, one.pattern)
        ]
        for one in self.left:
            if any(map(pa.types.is_floating, one.kinds)):
                self.spellings.see(one.plain(present))

    @property
    def found(self) -> Typed:
        """The type, once all texts are seen, and how to get there."""
        if not self.seen or not self.left or not self.left[0].kinds:
            return pa.string(), _AS_IT_IS
        kind = self.left[0].kinds[0]
        if pa.types.is_floating(kind) and not self.spellings.told_apart(self.name):
            return pa.string(), _AS_IT_IS
        return kind, self.left[0]


class _Spellings:
    """Whether different texts of a column are different numbers.

    They are when all are written in one way: as Arrow or as Python writes numbers, or with as many
    decimals (and with no more digits than a floating-point number keeps). Otherwise the texts are
    compared, as long as they are not too many to be held.
    """

    def __init__(self) -> None:
        self.as_arrow = self.as_python = True
        self.fixed: str | None = ""  # not known yet
        self.known: pa.Array | None = pa.array([], pa.string())
        self.new: list[pa.Array] = []

    def see(self, texts: pa.Array) -> None:
        if not len(texts):
            return
        numbers = texts.cast(pa.float64())
        self.as_arrow = self.as_arrow and texts.equals(numbers.cast(pa.string()))
        self.as_python = self.as_python and texts.to_pylist() == list(
            map(repr, numbers.to_pylist())
        )
        if self.fixed == "":
            decimals = len(texts[0].as_py().partition(".")[2])
            self.fixed = rf"-?[0-9]{{1,{15 - decimals}}}\.[0-9]{{{decimals}}}"
            if not 0 < decimals < 15:
                self.fixed = None
        if self.fixed and not _all_match(texts, self.fixed):
            self.fixed = None
        if _any_match(texts, _MINUS_0):  # equals another text in any way of writing
            self.as_arrow, self.as_python, self.fixed = False, False, None
        if self.known is not None:
            self.new.append(texts)
            if sum(map(len, self.new)) > len(self.known) + 2**16:
                self._merge()

    def told_apart(self, name: str) -> bool:
        if self.as_arrow or self.as_python or self.fixed:
            return True
        self._merge()
        if self.known is None:
            raise DataError(
                f"column {name!r} holds numbers that are written in different ways, too many to "
                "compare; write them in one way, or store the table as Parquet",
                source=name,
            )
        return _told_apart([self.known], [self.known.cast(pa.float64())])

    def _merge(self) -> None:
        if self.known is None:
            return
        known = pc.unique(pa.concat_arrays([self.known, *self.new]))
        self.known = known if len(known) <= _MOST_TEXTS else None
        self.new = []


def _any_match(texts: pa.Array, pattern: str) -> bool:
    return bool(pc.any(pc.match_substring_regex(texts, rf"\A(?:{pattern})\z")).as_py())


def _casts(one: TextType, texts: pa.Array, kind: pa.DataType) -> bool:
    try:
        one.casts(texts, kind)
    except pa.ArrowInvalid:
        return False
    return True


def _as_type(column: pa.ChunkedArray, found: Typed, missing: Collection[str]) -> pa.ChunkedArray:
    kind, one = found

    def typed(chunk: pa.DictionaryArray) -> pa.Array:
        texts = _trimmed(chunk, missing)
        if not pa.types.is_string(kind):
            texts = one.casts(_absent(texts, NULL_MARKERS), kind)
        return texts.take(chunk.indices)

    return pa.chunked_array([typed(chunk) for chunk in column.chunks], kind)


def _trimmed(chunk: pa.DictionaryArray, missing: Collection[str]) -> pa.Array:
    return _absent(pc.utf8_trim_whitespace(chunk.dictionary), ["", *missing])


def _texts(file: Path, columns: Sequence[str], dialect: Dialect) -> Iterator[pa.Table]:
    """The raw texts of the columns, as dictionaries: each text is then looked at once a batch."""
    with _explained(file, dialect):
        for batch in _batches(file, layout_of(file, dialect), columns):
            yield pa.table(batch).rename_columns(list(columns))


def _batches(file: Path, layout: Layout, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The texts of a file; from a line on that does not fit into a block, in larger blocks."""
    size, done = _BLOCK_BYTES, 0
    while True:
        try:
            for batch in _after(_in_blocks(file, layout, columns, size), done):
                yield batch
                done += batch.num_rows
            return
        except pa.ArrowInvalid as error:
            if not larger_blocks_help(error, size):
                raise
        size = larger(size)


def _after(batches: Iterator[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """The batches without the rows that were given already."""
    for batch in batches:
        known = min(rows, batch.num_rows)
        rows -= known
        yield batch.slice(known)


def _in_blocks(
    file: Path, layout: Layout, columns: Sequence[str], size: int
) -> Iterator[pa.RecordBatch]:
    with (
        open_stream(file) as stream,
        pyarrow.csv.open_csv(
            stream,
            read_options=layout.reading(block_size=size, use_threads=False),
            parse_options=pyarrow.csv.ParseOptions(
                delimiter=layout.delimiter, newlines_in_values=True
            ),
            convert_options=layout.converting(columns),
        ) as batches,
    ):
        yield from batches
