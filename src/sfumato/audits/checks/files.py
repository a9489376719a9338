"""Files as they would be written again, byte by byte.

A file can hold more than its table: metadata, bytes that nothing refers to, dictionary entries
that no row has, numbers written in two ways. Rather than look for each of these, the table is read
and written anew by the same writer, and the two files are compared. What the table does not say is
then in neither.

Parquet files name the program that wrote them. Another version than the one at hand may be named,
if all other bytes are the same; if they are not, only that version can tell why.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.audits.checks.comparison import Comparison
from sfumato.core.arrays import Counts, Ints
from sfumato.forms.files import Files, csv_header
from sfumato.forms.manifest import FILE, Manifest
from sfumato.forms.parts import PIECE
from sfumato.forms.registry import FORMS, Release, form_of
from sfumato.io.files import chunks_of
from sfumato.io.types import type_like, type_text
from sfumato.io.writing import DIFFERENCES, ROW_GROUP, write_csv, write_parquet

_OURS = f"parquet-cpp-arrow version {pa.cpp_version}"
_WRITER = re.compile(r"parquet-cpp-arrow version \d{1,2}\.\d\.\d")


def doubled_columns(folder: Path) -> Iterator[str]:
    """Columns that stand in a file twice: which is meant cannot be known."""
    for path in sorted(folder.iterdir()):
        if path.suffix in (".parquet", ".csv") and path.is_file():
            for name, times in Counter(_header(path)).items():
                if times > 1:
                    yield f"{path.name} has the column {name!r} {times} times"


def other_files(files: Files, release: Release) -> Iterator[str]:
    """Files that hold anything beside their tables."""
    if (files.folder / FILE).read_bytes() != release.manifest.to_json().encode():
        yield f"{FILE} is not written as a release writes it"
    for stem in release.stems:
        for path in files.paths(stem):
            yield from _other_order(path, release.manifest)
            if path.suffix == ".parquet":
                yield from _other_parquet(path, files, release)
            else:
                yield from _other_csv(path, files)


def _other_order(path: Path, manifest: Manifest) -> Iterator[str]:
    """Columns stand in the order in which their types are stated."""
    found = _header(path)
    there = set(found)
    stated = [name for name, _ in manifest.types if name in there]
    counts = FORMS[manifest.kind].count_column
    if counts is not None:
        stated.sort(key=lambda name: name == counts)  # the last one of every table that has it
    if found != stated:
        yield f"columns of {path.name} stand in another order than is stated"


def _other_csv(path: Path, files: Files) -> Iterator[str]:
    with Comparison(path) as again:
        write_csv(files.pieces(path.stem), again)
    if not again.same:
        yield f"{path.name} is not written as a release writes it"


def _other_parquet(path: Path, files: Files, release: Release) -> Iterator[str]:
    with pq.ParquetFile(path) as stored:
        metadata = stored.metadata
        ascending = _kept_as_differences(stored, form_of(release).group_column)
    if not _WRITER.fullmatch(metadata.created_by):
        yield f"{path.name} was not written by a program that sfumato writes with"
        return
    parts = [metadata.row_group(part).num_rows for part in range(metadata.num_row_groups)]
    yield from _other_types(path, release.manifest)
    yield from _other_parts(path, parts, files, release)
    again = _in_parts(files.pieces(path.stem), parts)
    if _is_written_again(path, again, metadata.created_by, ascending):
        return
    if metadata.created_by == _OURS:
        yield f"{path.name} holds more than its table, or holds it in another way"
    else:
        version = metadata.created_by.rpartition(" ")[2]
        yield (
            f"{path.name} says that it was written by Arrow {version}, and {pa.cpp_version} writes "
            f"it in another way: verify it with that version (pip install pyarrow=={version})"
        )


def _kept_as_differences(stored: pq.ParquetFile, column: str | None) -> str | None:
    """The column, if its numbers are; in older releases they stand like all others."""
    chunks = chunks_of(stored, 0) if stored.num_row_groups else ()
    kept = any(one.path_in_schema == column and DIFFERENCES in one.encodings for one in chunks)
    return column if kept else None


def _is_written_again(
    path: Path, table: Iterator[pa.Table], written_by: str, ascending: str | None
) -> bool:
    """Whether the same table gives the same bytes, but for the version that the footer names."""
    start = _footer(path)
    with Comparison(path, start) as again:
        write_parquet(table, again, ascending)
    footer = bytes(again.tail[:-8]).replace(_named(_OURS), _named(written_by), 1)
    end = len(footer).to_bytes(4, "little") + bytes(again.tail[-4:])
    with path.open("rb") as file:
        file.seek(start)
        return again.same and file.read() == footer + end


def _named(writer: str) -> bytes:
    """A text as Thrift writes it, its length first."""
    return bytes([len(writer)]) + writer.encode()


def _footer(path: Path) -> int:
    """Where the footer starts; its length stands before the last four bytes."""
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(size - 8)
        length = int.from_bytes(file.read(4), "little")
    return max(0, size - 8 - length)


def _other_parts(path: Path, parts: list[int], files: Files, release: Release) -> Iterator[str]:
    """Where the rows of a file are divided may depend on nothing but their number, or, where cells
    are long, on what they show; the parts of a streamed release are whole groups.
    """
    sizes = (PIECE, ROW_GROUP)
    if any(set(parts[:-1]) <= {size} and 0 < sum(parts[-1:]) <= size for size in sizes):
        return
    form = form_of(release)
    if form.parts and path.stem == release.stems[0] and form.parts(release) == parts:
        return
    if form.group_column is not None and all(parts):
        groups = files.whole(path.stem)[form.group_column].to_numpy()
        if _at_changes(groups, np.cumsum(parts)[:-1]):
            return
    yield f"the rows of {path.name} are divided in an uncommon way"


def _at_changes(groups: Ints, places: Counts) -> bool:
    return bool((groups[places] != groups[places - 1]).all())


def _in_parts(pieces: Iterator[pa.Table], parts: list[int]) -> Iterator[pa.Table]:
    """A table in parts of given sizes."""
    rest = next(pieces)
    for size in parts:
        held = [rest]
        while sum(map(len, held)) < size:
            held.append(next(pieces))
        together = pa.concat_tables(held)
        yield together.slice(0, size)
        rest = together.slice(size)
    if not parts:
        yield rest


def _other_types(path: Path, manifest: Manifest) -> Iterator[str]:
    """A file keeps a column in the type that Parquet has for the stated one."""
    stated = dict(manifest.types)
    with pq.ParquetFile(path) as stored:
        found = stored.schema_arrow
    for field in found:
        text = stated.get(field.name, "")
        kind = type_like(text, field.type)
        same = type_text(field.type) == text
        if not same and (kind is None or _stored_type(kind) != field.type):
            yield f"column {field.name!r} of {path.name} is not stored as its type is"


def _stored_type(kind: pa.DataType) -> pa.DataType:
    """What a type comes back as from a Parquet file."""
    sink = pa.BufferOutputStream()
    pq.write_table(pa.schema([("x", kind)]).empty_table(), sink, store_schema=False)
    return pq.read_schema(pa.BufferReader(sink.getvalue())).field("x").type


def _header(path: Path) -> list[str]:
    if path.suffix == ".parquet":
        with pq.ParquetFile(path) as stored:
            return list(stored.schema_arrow.names)
    return csv_header(path)


def strangers(folder: Path, stems: tuple[str, ...]) -> Iterator[str]:
    """Files that are published with the release and belong to nothing it states."""
    formats = {path.suffix for path in folder.iterdir() if path.name != FILE}
    known = {FILE, *(f"{stem}{end}" for stem in stems for end in (".parquet", ".csv"))}
    for path in sorted(folder.iterdir()):
        if path.name not in known or not path.is_file() or path.is_symlink():
            yield f"file {path.name!r} is not part of the release"
    for stem in stems:
        if all((folder / f"{stem}{end}").is_file() for end in (".parquet", ".csv")):
            yield f"table {stem!r} is there twice"
    if len(formats & {".parquet", ".csv"}) > 1:
        yield "its tables are in two formats"
