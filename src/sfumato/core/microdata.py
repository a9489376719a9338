"""Rows about persons, held as columns of integer codes."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.core.arrays import Codes, Counts, Ints
from sfumato.core.askable import Askable
from sfumato.core.attribute import Attribute, Kind, encode
from sfumato.core.binning import binned
from sfumato.core.schema import Declaration, Schema
from sfumato.core.threads import in_threads
from sfumato.errors import DataError, SchemaError


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Microdata(Askable):
    """A table under a schema. Identifiers are checked for and left behind.

    ``attributes`` and ``codes`` hold the quasi-identifiers and the sensitive columns;
    ``insensitive`` holds the insensitive columns as they came.
    """

    schema: Schema
    n_rows: int
    attributes: Mapping[str, Attribute]
    codes: Mapping[str, Ints]
    insensitive: pa.Table

    @classmethod
    def from_arrow(cls, table: pa.Table, schema: Schema) -> Microdata:
        """Encode an Arrow table."""
        require_columns(table.column_names, schema)
        if table.num_rows == 0:
            raise DataError("the table has no rows; there is nobody to protect")
        names = (*schema.quasi, *schema.sensitive)
        encoded = in_threads(lambda name: _encoded(name, table.column(name), schema), names)
        return cls(
            schema=schema,
            n_rows=table.num_rows,
            attributes={
                name: attribute for name, (attribute, _) in zip(names, encoded, strict=True)
            },
            codes={name: codes for name, (_, codes) in zip(names, encoded, strict=True)},
            insensitive=table.select(list(schema.insensitive)).replace_schema_metadata(None),
        )

    @property
    def quasi(self) -> tuple[Attribute, ...]:
        """The quasi-identifying attributes in schema order."""
        return tuple(self.attributes[name] for name in self.schema.quasi)

    @property
    def sensitive(self) -> tuple[Attribute, ...]:
        """The sensitive attributes in schema order."""
        return tuple(self.attributes[name] for name in self.schema.sensitive)

    def quasi_codes(self) -> Codes:
        """Codes of the quasi-identifiers, one row per person."""
        return np.stack([self.codes[name] for name in self.schema.quasi], axis=1, dtype=np.int32)

    def quasi_sizes(self) -> Counts:
        """Number of codes of each quasi-identifier."""
        return np.array([attribute.size for attribute in self.quasi], np.int64)

    def take(self, rows: Ints) -> Microdata:
        """The table with some of its rows only; domains stay as they are."""
        return Microdata(
            self.schema,
            len(rows),
            self.attributes,
            {name: codes[rows] for name, codes in self.codes.items()},
            self.insensitive.take(pa.array(rows)),
        )

    def __len__(self) -> int:
        """Number of rows."""
        return self.n_rows

    def __repr__(self) -> str:
        """Sizes and column names only: a table in a log must not show a person."""
        return (
            f"Microdata({self.n_rows:,} rows, quasi={list(self.schema.quasi)}, "
            f"sensitive={list(self.schema.sensitive)})"
        )


def _encoded(name: str, column: pa.ChunkedArray, schema: Schema) -> tuple[Attribute, Ints]:
    declared = schema.declarations.get(name, Declaration())
    if declared.bins is not None:
        column, classes = binned(name, column, declared.bins)
        return encode(name, column, kind=Kind.CATEGORICAL, order=classes)
    return encode(
        name,
        column,
        kind=declared.kind,
        order=declared.order,
        taxonomy=schema.taxonomies.get(name),
    )


def require_columns(found: Sequence[str], schema: Schema) -> None:
    """Raise unless every column of the schema is in the table, once."""
    for name, role in schema.roles.items():
        if found.count(name) > 1:
            raise DataError(f"the table has {found.count(name)} columns named {name!r}")
        if name not in found:
            raise SchemaError(f"no column {name!r} ({role}); {_hint(name, found)}", column=name)


def _hint(name: str, found: Sequence[Any]) -> str:
    close = difflib.get_close_matches(name, found, n=1)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"the table has {', '.join(map(str, found))}"
