"""Delimited text: comma, semicolon, tab or bar, with a header line, perhaps packed."""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO, TypeVar

import pyarrow as pa
import pyarrow.csv

from sfumato.core.foreign import is_memory, out_of_memory
from sfumato.errors import DataError
from sfumato.io.compression import open_bytes, open_stream
from sfumato.io.csv_headers import SAMPLE_ROWS, places_of, require_header
from sfumato.io.dialects import Dialect
from sfumato.io.opened import Opened, one_line
from sfumato.io.text_types import typed, types_of

DELIMITERS = (",", ";", "\t", "|")
# What Arrow looks at together. A line must fit, so that longer ones are read with larger blocks.
BLOCK_BYTES = 2**20
_LARGEST_BLOCK = 2**31 - 1
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Layout:
    """Where things are in a file: blank lines before the first, and the places of the columns."""

    skipped: int
    delimiter: str
    cells: tuple[str, ...]
    places: dict[str, int]
    dialect: Dialect

    def reading(self, **more: Any) -> pyarrow.csv.ReadOptions:
        """Arrow's options: columns are called by their places, which are never given twice."""
        return pyarrow.csv.ReadOptions(
            column_names=[str(place) for place in range(len(self.cells))],
            skip_rows=self.skipped,
            encoding=self.dialect.encoding or "utf8",
            skip_rows_after_names=0 if self.dialect.is_row else 1,
            **more,
        )

    def converting(self, columns: Sequence[str]) -> pyarrow.csv.ConvertOptions:
        """Arrow's options: the raw texts of the columns. Types are ours to decide."""
        places = [str(self.places[name]) for name in columns]
        return pyarrow.csv.ConvertOptions(
            include_columns=places,
            column_types=dict.fromkeys(places, pa.dictionary(pa.int32(), pa.string())),
            null_values=[],
            strings_can_be_null=False,
        )


_SILENT = Dialect()


def open_csv(path: Path, missing: Collection[str] = (), dialect: Dialect = _SILENT) -> Opened:
    """The names in the header line; rows are read when they are asked for."""
    with _explained(path, dialect):
        layout = layout_of(path, dialect)
        if dialect.silent:
            _require_header(path, layout)
        has_rows = dialect.is_row or _has_rows(path, dialect)

    def load(columns: Sequence[str]) -> pa.Table:
        if not has_rows:
            # Arrow takes a header without a line break for no file at all
            return pa.table({name: pa.array([], pa.string()) for name in columns})
        with _explained(path, dialect):
            texts = _texts(path, layout, columns)
        kinds = types_of(dialect)
        return pa.table(
            [typed(column, missing, kinds) for column in texts.columns], names=list(columns)
        )

    return Opened(str(path), tuple(layout.places), load)


def layout_of(path: Path, dialect: Dialect = _SILENT) -> Layout:
    """How a file is laid out, told by its first line and what is said about it."""
    skipped, delimiter, cells = _first_line(path, dialect)
    places = places_of(str(path), dialect, cells)
    return Layout(skipped, delimiter, tuple(cells), places, dialect)


def _require_header(path: Path, layout: Layout) -> None:
    with _lines(path, layout.dialect) as lines:
        rows = _rows(itertools.islice(lines, layout.skipped, None), layout.delimiter)
        next(rows)
        require_header(str(path), layout.cells, itertools.islice(rows, SAMPLE_ROWS))


def _first_line(path: Path, dialect: Dialect) -> tuple[int, str, list[str]]:
    """How many blank lines come first, the delimiter, and the cells of the first line."""
    with _lines(path, dialect) as lines:
        skipped, first = next(((i, line) for i, line in enumerate(lines) if line.strip()), (0, ""))
        if not first:
            raise DataError(f"{path} is empty; it needs a header line", source=str(path))
        delimiter = _delimiter(first, dialect)
        # the header may go on after a line break inside quotes
        header = next(_rows(itertools.chain([first], lines), delimiter))
        return skipped, delimiter, header


def _has_rows(path: Path, dialect: Dialect) -> bool:
    """Whether something follows the header."""
    with _lines(path, dialect) as lines:
        first = next(line for line in lines if line.strip())
        header = next(_rows(itertools.chain([first], lines), _delimiter(first, dialect)))
        return any(line.strip() or len(header) == 1 for line in lines)


def _rows(lines: Iterable[str], delimiter: str, *, strict: bool = False) -> Any:
    """Python's reader, for values of any length: its own limit, of the process, is 128 kB."""
    csv.field_size_limit(max(csv.field_size_limit(), _LARGEST_BLOCK))
    return csv.reader(lines, delimiter=delimiter, strict=strict)


def _delimiter(line: str, dialect: Dialect) -> str:
    """The one that separates most names; a comma if the header has a single name.

    Of a line that is a row, commas in numbers separate nothing, if something else does.
    """
    unquoted = "".join(line.split('"')[::2])
    others = [one for one in DELIMITERS if one != dialect.decimal and one in unquoted]
    return max(others if dialect.is_row and others else DELIMITERS, key=unquoted.count)


def with_blocks(read: Callable[[int], Result], block_bytes: int = BLOCK_BYTES) -> Result:
    """What ``read`` gives with blocks of some size: as small as they can be, given the lines."""
    while True:
        try:
            return read(block_bytes)
        except pa.ArrowInvalid as error:
            if not larger_blocks_help(error, block_bytes):
                raise
        block_bytes = larger(block_bytes)


def larger_blocks_help(error: pa.ArrowInvalid, block_bytes: int) -> bool:
    """Whether Arrow says that a line does not fit into a block, and a larger one can be had."""
    return "straddling" in str(error) and block_bytes < _LARGEST_BLOCK


def larger(block_bytes: int) -> int:
    """The size to try next."""
    return min(8 * block_bytes, _LARGEST_BLOCK)


def _texts(path: Path, layout: Layout, columns: Sequence[str]) -> pa.Table:
    """The raw texts of the columns."""
    return with_blocks(lambda size: _read_texts(path, layout, columns, size))


def _read_texts(path: Path, layout: Layout, columns: Sequence[str], size: int) -> pa.Table:
    with open_stream(path) as stream:
        return pyarrow.csv.read_csv(
            stream,
            read_options=layout.reading(block_size=size),
            parse_options=pyarrow.csv.ParseOptions(
                delimiter=layout.delimiter,
                # values with line breaks would otherwise be cut where two blocks meet
                newlines_in_values=True,
                # a line with nothing in it is a row of a table with a single column
                ignore_empty_lines=len(layout.cells) > 1,
            ),
            convert_options=layout.converting(columns),
        )


@contextmanager
def _lines(path: Path, dialect: Dialect) -> Iterator[TextIO]:
    codec = dialect.codec
    with open_bytes(path) as raw, io.TextIOWrapper(raw, encoding=codec, newline="") as lines:
        yield lines


@contextmanager
def _explained(path: Path, dialect: Dialect) -> Iterator[None]:
    """Say where a file is broken. Arrow does not know the line, so the file is read once more."""
    try:
        yield
    except UnicodeError:
        raise _encoding_error(path, dialect) from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        message = f"{path} is not a whole gzip file ({one_line(error)}); make it again"
        raise DataError(message, source=str(path)) from None
    except (pa.ArrowException, csv.Error) as error:
        if is_memory(error):
            raise out_of_memory(f"reading {path}") from error
        message = _ragged(path, dialect) or f"cannot read {path}: {one_line(error)}"
        raise DataError(message, source=str(path)) from None
    except OSError as error:
        message = f"cannot read {path}: {one_line(error)}"
        raise DataError(message, source=str(path)) from None


def _ragged(path: Path, dialect: Dialect) -> str | None:
    """The first row whose number of values is not that of the header."""
    with _explained(path, dialect), _lines(path, dialect) as lines:
        _, delimiter, header = _first_line(path, dialect)
        rows = _rows(lines, delimiter, strict=True)
        line = 1
        try:
            for row in rows:
                if row and len(row) != len(header):
                    return (
                        f"{path}, line {line}: {len(row)} values, but the first line has "
                        f"{len(header)}; quote values that contain {delimiter!r}"
                    )
                line = rows.line_num + 1
        except csv.Error as error:
            return f"{path}, line {line}: {error}; is a quote opened there and never closed?"
    return None


def _encoding_error(path: Path, dialect: Dialect) -> DataError:
    if dialect.encoding is not None:
        return DataError(
            f"{path} is not written in {dialect.encoding}; give another encoding (--encoding)",
            source=str(path),
        )
    with open_bytes(path) as raw:
        head = raw.read(4)
        encoding = "UTF-16" if head[:2] in (b"\xff\xfe", b"\xfe\xff") else "WINDOWS-1252"
        raw.seek(0)
        line = next((i for i, text in enumerate(raw, 1) if not _is_utf8(text)), 1)
    return DataError(
        f"{path}, line {line}: not UTF-8 text, perhaps {encoding}; if so, say "
        f"encoding={encoding.lower()!r} (--encoding {encoding.lower()})",
        source=str(path),
    )


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
