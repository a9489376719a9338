"""Rows about persons, held as columns of integer codes."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.core.arrays import Codes, Counts, Ints
from sfumato.core.askable import Askable
from sfumato.core.attribute import Attribute, Kind, encode
from sfumato.core.binning import binned
from sfumato.core.expected import given
from sfumato.core.html import card, grid
from sfumato.core.schema import Declaration, Schema, require_schema
from sfumato.core.threads import in_threads
from sfumato.errors import DataError, ParameterError, SchemaError

_MOST_COMPARED, _LONGEST_COMPARED = 10_000, 200


@dataclass(frozen=True, slots=True, eq=False)
class Ids:
    """Who the rows are about, by one identifier."""

    name: str
    values: pa.ChunkedArray = field(repr=False)


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Microdata(Askable):
    """A table under a schema. Identifiers are checked for and left behind.

    ``attributes`` and ``codes`` hold the quasi-identifiers and the sensitive columns;
    ``insensitive`` holds the insensitive columns as they came. ``ids`` is the one identifier that
    was asked for, to join with another table; nothing publishes or stores it.

    >>> import pyarrow as pa
    >>> people = pa.table({"age": [31, 35, 38], "disease": ["flu", "asthma", "flu"]})
    >>> sf.Microdata.from_arrow(people, sf.Schema(quasi=["age"], sensitive="disease"))
    Microdata(3 rows, quasi=['age'], sensitive=['disease'])
    """

    schema: Schema
    n_rows: int
    attributes: Mapping[str, Attribute]
    codes: Mapping[str, Ints]
    insensitive: pa.Table
    ids: Ids | None = None

    @classmethod
    def from_arrow(cls, table: pa.Table, schema: Schema, *, id: str | None = None) -> Microdata:
        """Encode an Arrow table; ``id`` names an identifier to keep, see ``read``."""
        if not isinstance(table, pa.Table):
            raise ParameterError(
                f"from_arrow takes a pyarrow.Table, not {given(table)}; sf.read takes all others",
                parameter="table",
            )
        require_schema(schema)
        require_columns(table.column_names, schema)
        require_identifier(id, schema)
        if table.num_rows == 0:
            raise DataError("the table has no rows; there is nobody to protect")
        names = (*schema.quasi, *schema.sensitive)
        coded = in_threads(lambda name: encoded(name, table.column(name), schema), names)
        return cls(
            schema=schema,
            n_rows=table.num_rows,
            attributes={name: attribute for name, (attribute, _) in zip(names, coded, strict=True)},
            codes={name: codes for name, (_, codes) in zip(names, coded, strict=True)},
            insensitive=table.select(list(schema.insensitive)).replace_schema_metadata(None),
            ids=None if id is None else Ids(id, table.column(id)),
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
            self.ids and Ids(self.ids.name, self.ids.values.take(pa.array(rows))),
        )

    def of_quasi(self, names: Sequence[str]) -> Microdata:
        """The table with some of its quasi-identifiers only."""
        return replace(self, schema=self.schema.of_quasi(names))

    def __len__(self) -> int:
        """Number of rows."""
        return self.n_rows

    def _repr_html_(self) -> str:
        """What ``repr`` tells, as a table: names and counts."""
        rows = [
            (name, role.value, *self._described(name)) for name, role in self.schema.roles.items()
        ]
        return card(
            f"{self.n_rows:,} rows", grid(("column", "role", "kind", "values"), rows, left=3)
        )

    def _described(self, name: str) -> tuple[str, int | str]:
        attribute = self.attributes.get(name)
        if attribute is None:
            return "", ""
        some = ", some missing" if attribute.has_missing else ""
        return f"{attribute.kind.value}{some}", len(attribute.values)

    def __repr__(self) -> str:
        """Sizes and column names only: a table in a log must not show a person."""
        return (
            f"Microdata({self.n_rows:,} rows, quasi={list(self.schema.quasi)}, "
            f"sensitive={list(self.schema.sensitive)})"
        )


def encoded(name: str, column: pa.ChunkedArray, schema: Schema) -> tuple[Attribute, Ints]:
    """The domain and the codes of one column, as the schema says that it is read."""
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


def require_microdata(table: object, parameter: str = "table") -> None:
    """Raise unless this is a table that was read."""
    if not isinstance(table, Microdata):
        raise ParameterError(
            f"{parameter} must be a table under a schema, not {given(table)}; read it first: "
            "sf.read(table, sf.Schema(quasi=[...], sensitive=...))",
            parameter=parameter,
        )


def require_columns(found: Sequence[str], schema: Schema, file: str = "") -> None:
    """Raise unless every column of the schema is in the table, or in one file of it, once."""
    said = f"{file}: " if file else ""
    times = Counter(found)
    for name, role in schema.roles.items():
        if times[name] > 1:
            raise DataError(f"{said}the table has {times[name]} columns named {name!r}")
        if not times[name]:
            raise SchemaError(
                f"{said}no column {name!r} ({role}); {_hint(name, found)}", column=name
            )


def require_identifier(name: str | None, schema: Schema) -> None:
    """Raise unless this is one of the schema's identifiers, or none is asked for."""
    if name is not None and name not in schema.identifiers:
        known = ", ".join(map(repr, schema.identifiers)) or "none"
        raise SchemaError(
            f"{name!r} is not an identifier of the schema, which names {known}", column=name
        )


def _hint(name: str, found: Sequence[Any]) -> str:
    # comparing takes time in the length of both names, and for each of them
    near = [other for other in found[:_MOST_COMPARED] if len(other) <= _LONGEST_COMPARED]
    close = difflib.get_close_matches(name, near, n=1) if len(name) <= _LONGEST_COMPARED else []
    if close:
        return f"did you mean {close[0]!r}?"
    return f"the table has {', '.join(map(str, found))}"
