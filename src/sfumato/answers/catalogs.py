"""The columns of tables that show exact values: as questions see them, and as codes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import pyarrow as pa

from sfumato.answers.sides.reading import declared
from sfumato.core.arrays import Ints
from sfumato.core.attribute import Attribute, encode
from sfumato.core.threads import in_threads
from sfumato.errors import DataError
from sfumato.queries.columns import Catalog, column_of, is_codable, plain_type
from sfumato.releases.manifest import Manifest, PublishedColumn


class Encoded(NamedTuple):
    """Columns as codes, and by name why others cannot be asked about.

    Insensitive columns are published as they are, infinite numbers and days after the year 9999
    included; these have no place among the others.
    """

    columns: list[tuple[Attribute, Ints]]
    refusals: Mapping[str, str]


def encoded_columns(table: pa.Table) -> Encoded:
    """The columns that can be asked about, as codes."""
    names = [field.name for field in table.schema if is_codable(field.type)]
    tried = list(in_threads(lambda name: _encoded(name, table.column(name)), names))
    return Encoded(
        [found for found in tried if not isinstance(found, str)],
        {name: found for name, found in zip(names, tried, strict=True) if isinstance(found, str)},
    )


def _encoded(name: str, column: pa.ChunkedArray) -> tuple[Attribute, Ints] | str:
    try:
        return encode(name, column)
    except DataError as error:
        return str(error)


def catalog_of(manifest: Manifest, fields: Iterable[pa.Field]) -> Catalog:
    """The same columns as questions see them, with the orders that release.json states."""
    described = {column.name: column for column in manifest.columns}
    return Catalog.of(
        column_of(field.name, field.type, _order(described.get(field.name), field.type))
        for field in fields
    )


def _order(column: PublishedColumn | None, kind: pa.DataType) -> tuple[Any, ...] | None:
    return None if column is None else declared(column, plain_type(kind))
