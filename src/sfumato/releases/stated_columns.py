"""Columns that a CSV file of a release can only hold as texts, read back as what they were.

These are sets, times with a zone and decimals. All that looks at a release in memory (answers,
audits, writing it again) then sees the same columns whatever the files were, and nothing else has
to know how a set is written.
"""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa

from sfumato.io.set_texts import sets_of
from sfumato.releases.manifest import Manifest

_LIST = re.compile(r"list<\w+: (.+)>")
_ZONED = re.compile(r"timestamp\[(s|ms|us|ns), tz=(.+)\]")
_DECIMAL = re.compile(r"decimal(128|256)\((\d+), (-?\d+)\)")


def as_stated(table: pa.Table, manifest: Manifest, folder: Path, stem: str) -> pa.Table:
    """The table of a CSV file with the types that release.json states where it has texts.

    A Parquet file is left as it is: there, a text instead of what is stated is a flaw, to be found.
    """
    if (folder / f"{stem}.parquet").is_file():
        return table
    stated = dict(manifest.types)
    for place, field in enumerate(table.schema):
        if field.name in stated and pa.types.is_string(field.type):
            column = _restored(field.name, table.column(place), stated[field.name])
            table = table.set_column(place, field.name, column)
    return table


def _restored(name: str, texts: pa.ChunkedArray, stated: str) -> pa.ChunkedArray | pa.Array:
    listed = _LIST.fullmatch(stated)
    if listed is None:
        return _cast(texts, _type(stated))
    lists = sets_of(name, texts.combine_chunks())
    items = _type(listed[1])
    return lists if items is None else _cast(lists, pa.list_(items))


def _cast(
    column: pa.ChunkedArray | pa.Array, kind: pa.DataType | None
) -> pa.ChunkedArray | pa.Array:
    """In this type; as it is where there is none, or a cell does not fit it."""
    try:
        return column if kind is None else column.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return column


def _type(stated: str) -> pa.DataType | None:
    """The type that a name of Arrow's stands for."""
    if zoned := _ZONED.fullmatch(stated):
        return pa.timestamp(zoned[1], zoned[2])
    if decimal := _DECIMAL.fullmatch(stated):
        make = pa.decimal128 if decimal[1] == "128" else pa.decimal256
        return make(int(decimal[2]), int(decimal[3]))
    try:
        return pa.type_for_alias(stated)
    except ValueError:
        return None
