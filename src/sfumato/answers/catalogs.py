"""The columns of tables that show exact values: as questions see them, and as codes."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from sfumato.answers.read_sides import declared
from sfumato.core.arrays import Ints
from sfumato.core.attribute import Attribute, encode
from sfumato.core.threads import in_threads
from sfumato.queries.columns import Catalog, Column, is_codable, plain_type
from sfumato.releases.manifest import Manifest


def encoded_columns(table: pa.Table) -> list[tuple[Attribute, Ints]]:
    """The columns that can be asked about, as codes."""
    names = [field.name for field in table.schema if is_codable(field.type)]
    return list(in_threads(lambda name: encode(name, table.column(name)), names))


def catalog_of(manifest: Manifest, fields: Iterable[pa.Field]) -> Catalog:
    """The same columns as questions see them, with the orders that release.json states."""
    kinds = {field.name: plain_type(field.type) for field in fields if is_codable(field.type)}
    described = {column.name: column for column in manifest.columns}
    return Catalog.of(
        Column(name, kind, declared(described[name], kind) if name in described else None)
        for name, kind in kinds.items()
    )
