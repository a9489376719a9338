"""The columns of tables that show exact values, as codes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import pyarrow as pa

from sfumato.core.arrays import Ints
from sfumato.core.attribute import Attribute, encode
from sfumato.core.threads import in_threads
from sfumato.errors import DataError
from sfumato.queries.columns import is_codable


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
