"""Table files: what a path holds, told by its name and checked against its first bytes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

from sfumato.core.address_space import address_limit
from sfumato.errors import DataError
from sfumato.io.compression import PACKED, codec_of
from sfumato.io.csv_files import open_csv
from sfumato.io.dialects import Dialect
from sfumato.io.hints import did_you_mean
from sfumato.io.opened import Opened, reading
from sfumato.io.other_files import (
    JSON_LINES,
    STATISTICS,
    WORKBOOKS,
    open_json_lines,
    open_statistics,
    open_workbook,
)

_TEXTS = (".csv", ".tsv", ".txt")
CSV = (*_TEXTS, *(f"{text}{packed}" for packed in PACKED for text in _TEXTS))
PARQUET = (".parquet", ".pq")
ARROW = (".arrow", ".feather", ".ipc")
DATABASE = (".duckdb", ".ddb", ".db")

_READ_WHOLE: tuple[tuple[tuple[str, ...], Callable[[Path], Opened]], ...] = (
    (JSON_LINES, open_json_lines),
    (WORKBOOKS, open_workbook),
    (STATISTICS, open_statistics),
)
_BINARY = "a binary file"
_OTHERS = (JSON_LINES[0], WORKBOOKS[0], *STATISTICS)

# What a file starts with, whatever its name says.
_MAGIC = (
    (b"PAR1", "a Parquet file"),
    (b"PARE", "an encrypted Parquet file"),
    (b"ARROW1", "an Arrow file"),
    (b"\xff\xff\xff\xff", "an Arrow stream"),
    (b"FEA1", "a Feather file of version 1"),
    (b"\x1f\x8b", "a gzip file"),
    (b"\x28\xb5\x2f\xfd", "a zstd file"),
    (b"PK\x03\x04", "a zip archive or an Excel workbook"),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook"),
    (b"\x89PNG", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"%PDF", "a PDF document"),
    (b"SQLite format 3", "an SQLite database"),
)


def open_file(path: Path, missing: Collection[str] = (), dialect: Dialect | None = None) -> Opened:
    """The table in a CSV, Parquet or Arrow file; ``dialect`` is about a CSV file."""
    name = path.name.lower()
    require_file(path)
    if name.endswith(CSV):
        _require_text(path)
        return open_csv(path, missing, dialect or Dialect())
    if dialect is not None:
        dialect.require_unused(str(path))
    if name.endswith(PARQUET):
        _require_magic(path, "Parquet", b"PAR1")
        return _open_parquet(path)
    if name.endswith(ARROW):
        _require_magic(path, "Arrow", b"ARROW1", b"\xff\xff\xff\xff")
        return _open_arrow(path)
    for endings, opener in _READ_WHOLE:
        if name.endswith(endings):
            _require_likely(path, endings)
            return opener(path)
    raise _unknown_extension(path)


def name_for(path: Path) -> str:
    """A name for a file without one, by its first bytes; a text is taken for CSV."""
    endings = {"a Parquet file": ".parquet", "an Arrow file": ".arrow", "an Arrow stream": ".arrow",
               "a gzip file": ".csv.gz", "a zstd file": ".csv.zst"}  # fmt: skip
    lines = _head(path).lstrip().startswith(b"{")
    ending = endings.get(_content(path) or "", ".jsonl" if lines else ".csv")
    return f"{path.name}{ending}"


def as_dataset(path: Path) -> Any | None:
    """The file as something a query can be pushed into, or None if it has to be read first.

    Scanning a data set takes threads, and waits for ever for one that could not be started; where
    memory is limited the file is read.
    """
    import pyarrow.dataset as ds

    if address_limit() is not None:
        return None
    name = path.name.lower()
    if name.endswith(PARQUET):
        return ds.dataset(path, format="parquet")
    if name.endswith(ARROW) and _head(path).startswith(b"ARROW1"):
        _require_sound(path)
        return ds.dataset(path, format="ipc")
    return None


def sound(table: pa.Table) -> pa.Table:
    """The table, if what it says about itself is true.

    An Arrow file is memory as it was: offsets, lengths and positions in dictionaries are used
    without a further look, so that one wrong bit reads beyond an array. Texts of Parquet files are
    not looked at by Arrow either. One pass over the values, at the speed of memory.
    """
    table.validate(full=True)
    return table


def chunks_of(file: pq.ParquetFile, part: int) -> Iterator[pq.ColumnChunkMetaData]:
    """What a Parquet file says about the columns of one of its row groups.

    Asked about a column whose description is damaged, Arrow ends the process. Its reader raises,
    so one row is read before.
    """
    next(file.iter_batches(1, [part]), None)
    described = file.metadata.row_group(part)
    yield from (described.column(place) for place in range(described.num_columns))


def require_file(path: Path) -> None:
    """Raise unless a file with content is there; a name close to one that exists is a typo."""
    if path.is_dir():
        raise _error(path, "is a folder; name one file in it")
    if not path.exists():
        raise _error(path, f"does not exist; {_nearest(path)}")
    with reading(str(path)):
        if not _head(path):
            raise _error(path, "is empty")


def _open_parquet(path: Path) -> Opened:
    with reading(str(path)):
        names = pq.read_schema(path).names

    def load(columns: Sequence[str]) -> pa.Table:
        # not pq.read_table, which would make columns out of folder names such as year=2020
        with reading(str(path)), pq.ParquetFile(path, page_checksum_verification=True) as file:
            return sound(file.read(columns=list(columns)).select(list(columns)))

    return Opened(str(path), tuple(names), load)


def _open_arrow(path: Path) -> Opened:
    stream = not _head(path).startswith(b"ARROW1")
    with reading(str(path)), _arrow_reader(path, stream) as reader:
        names = reader.schema.names

    def load(columns: Sequence[str]) -> pa.Table:
        place_of = {name: place for place, name in enumerate(names)}
        places = [place_of[name] for name in columns]
        with reading(str(path)), _arrow_reader(path, stream, places) as reader:
            return sound(reader.read_all()).select(list(columns))

    return Opened(str(path), tuple(names), load)


@contextmanager
def _arrow_reader(path: Path, stream: bool, places: list[int] | None = None) -> Iterator[Any]:
    options = pyarrow.ipc.IpcReadOptions(included_fields=places)
    opener = pyarrow.ipc.open_stream if stream else pyarrow.ipc.open_file
    # not mapped: what somebody else then writes to the file would be read unlooked at
    with pa.OSFile(str(path)) as file, opener(file, options=options) as reader:
        yield reader


def _require_sound(path: Path) -> None:
    """Look at a file that somebody else reads, part by part."""
    with reading(str(path)), _arrow_reader(path, stream=False) as reader:
        for number in range(reader.num_record_batches):
            reader.get_batch(number).validate(full=True)


def _require_text(path: Path) -> None:
    codec, found = codec_of(path), _content(path)
    if codec is not None:
        if found != (packed := f"a {codec} file"):
            ending = path.suffix.lower()
            raise _error(path, f"is {found or f'not {packed}'}; remove {ending} from its name")
        return
    if found in ("a gzip file", "a zstd file"):
        ending = ".gz" if found == "a gzip file" else ".zst"
        raise _error(path, f"is {found}; name it {path.name}{ending}")
    if found:
        raise _error(path, f"is {found}, not text; give it its own extension, or export it as CSV")


def _require_likely(path: Path, endings: tuple[str, ...]) -> None:
    """Raise for a file that is plainly something else: a library would say so at length."""
    found = _content(path)
    packed = endings is JSON_LINES and codec_of(path) is not None
    likely = found in (None, _BINARY) or (endings is WORKBOOKS and "Excel" in str(found))
    if not (likely or packed):
        raise _error(path, f"is {found}; give it its own extension")


def _require_magic(path: Path, kind: str, *magic: bytes) -> None:
    if not _head(path).startswith(magic):
        found = _content(path) or "something else"
        raise _error(path, f"is {found}, not {kind}; give it the extension of what it holds")


def _content(path: Path) -> str | None:
    head = _head(path)
    for magic, what in _MAGIC:
        if head.startswith(magic):
            return what
    if b"\0" in head and not head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return _BINARY
    return None


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(512)


def _unknown_extension(path: Path) -> DataError:
    if path.suffix.lower() in DATABASE:
        return _error(path, f"has no table of its own; use duckdb:///{path} and a query")
    kind = f"has the unknown extension {path.suffix!r}" if path.suffix else "has no extension"
    return _error(
        path, f"{kind}; these can be read: {', '.join((*CSV[:4], *PARQUET, *ARROW, *_OTHERS))}"
    )


def _nearest(path: Path) -> str:
    if not path.parent.is_dir():
        return f"there is no folder {str(path.parent)!r}"
    try:
        beside = [other.name for other in path.parent.iterdir()]
    except OSError:
        beside = []
    return did_you_mean(path.name, beside) or f"check its name and the folder {str(path.parent)!r}"


def _error(path: Path, what: str) -> DataError:
    return DataError(f"{path} {what}", source=str(path))
