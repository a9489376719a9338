"""The columns of tables that show exact values, as questions see them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from sfumato.forms.manifest import Manifest, PublishedColumn
from sfumato.forms.sides import declared
from sfumato.queries.columns import Catalog, column_of, plain_type


def catalog_of(manifest: Manifest, fields: Iterable[pa.Field]) -> Catalog:
    """Published columns, with the orders that release.json states."""
    described = {column.name: column for column in manifest.columns}
    return Catalog.of(
        column_of(field.name, field.type, _order(described.get(field.name), field.type))
        for field in fields
    )


def _order(column: PublishedColumn | None, kind: pa.DataType) -> tuple[Any, ...] | None:
    return None if column is None else declared(column, plain_type(kind))
