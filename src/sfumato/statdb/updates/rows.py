"""Rows that come or go, under the public domains of a database.

Values get the types that the database has. Numbers of a column with ``bins`` get the classes that
were made when the database was; their limits are read off the names of the classes.

The domain of the sensitive attribute does not grow. Domains are public: if a newcomer brought a
value, those before and after would differ by this value, and everybody would know it for certain.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core.arrays import Floats, Ints
from sfumato.core.attribute import Attribute, as_floats
from sfumato.core.microdata import Microdata
from sfumato.core.schema import Declaration, Schema
from sfumato.errors import SchemaError


def alike(schema: Schema, attributes: Mapping[str, Attribute], rows: Microdata | None) -> Microdata:
    """Rows with the values that the database would have for them; or why they cannot be had."""
    if rows is None:
        return coded(schema, attributes, no_rows(schema, attributes))
    _require_same_columns(schema, rows.schema)
    columns = {}
    for name in (*schema.quasi, *schema.sensitive):
        own, theirs = attributes[name], rows.attributes[name]
        classes = schema.declarations.get(name, Declaration()).bins is not None
        values = _in_type(own, theirs, classes=classes)
        if classes:
            _require_classes(own, replace(theirs, values=values), rows.codes[name])
        columns[name] = pa.concat_arrays([values, pa.nulls(1, values.type)]).take(
            pa.array(rows.codes[name])
        )
    return coded(schema, attributes, pa.table(columns))


def coded(schema: Schema, attributes: Mapping[str, Attribute], rows: pa.Table) -> Microdata:
    """Rows whose columns have the database's types, in domains of their own values."""
    found, codes = {}, {}
    for name in (*schema.quasi, *schema.sensitive):
        column = rows[name].combine_chunks().dictionary_encode()
        missing = len(column.dictionary)
        codes[name] = column.indices.fill_null(missing).to_numpy(zero_copy_only=False)
        found[name] = Attribute(
            name,
            attributes[name].kind,
            column.dictionary,
            attributes[name].ordered,
            column.null_count > 0,
        )
    roles = Schema(quasi=schema.quasi, sensitive=schema.sensitive)
    nothing = pa.table({"": pa.nulls(rows.num_rows)}).select([])
    return Microdata(roles, rows.num_rows, found, codes, nothing)


def columns_of(rows: Microdata) -> pa.Table:
    """Coded rows as columns of values."""
    return pa.table({name: one.decode(rows.codes[name]) for name, one in rows.attributes.items()})


def no_rows(schema: Schema, attributes: Mapping[str, Attribute]) -> pa.Table:
    """The columns of the database's rows, and none of these."""
    names = (*schema.quasi, *schema.sensitive)
    return pa.table({name: attributes[name].values.slice(0, 0) for name in names})


def require_known(own: Attribute, theirs: Attribute, codes: Ints) -> None:
    """Raise if rows have a sensitive value that is not in the public domain."""
    stranger = _stranger(own, theirs, codes)
    missing = theirs.has_missing and not own.has_missing
    if stranger is None and not missing:
        return
    what = "a missing value" if stranger is None else repr(stranger)
    raise SchemaError(
        f"column {own.name!r} is sensitive, and its public domain lacks {what}: if the domain "
        "grew, everybody would know the value of whoever brought it. Give the row a value that "
        "the domain has, or leave it out; values that may come later are declared in the schema "
        "(order, taxonomy or bins) when a database is created",
        column=own.name,
    )


def _require_same_columns(own: Schema, theirs: Schema) -> None:
    for role in ("quasi", "sensitive"):
        here, there = set(getattr(own, role)), set(getattr(theirs, role))
        if here != there:
            raise SchemaError(
                f"the database has {role} columns {', '.join(sorted(here))}, the rows have "
                f"{', '.join(sorted(there)) or 'none'}"
            )


def _in_type(own: Attribute, theirs: Attribute, *, classes: bool) -> pa.Array:
    """The values of rows in the type of the database."""
    kind, wanted = theirs.values.type, own.values.type
    try:
        if classes and _is_number(kind):
            return _classed(own, theirs.values.cast(pa.float64()))
        if pa.types.is_temporal(wanted) and _is_number(kind):
            raise pa.ArrowInvalid("a number is no date")  # Arrow would make one of some
        return theirs.values.cast(wanted)
    except pa.ArrowException as error:
        raise SchemaError(
            f"column {own.name!r} is {wanted} in the database and {kind} in the rows",
            column=own.name,
        ) from error


def _is_number(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )


def _classed(own: Attribute, numbers: pa.Array) -> pa.Array:
    """The classes of numbers, as core.binning has them."""
    codes = np.searchsorted(_limits(own.values.to_pylist()), as_floats(numbers), side="right")
    return own.values.take(pa.array(codes))


def _limits(classes: list[str]) -> Floats:
    """What lies between classes: "below 3", "3 to 5", "5 and more". They have 12 digits at most."""
    if len(classes) == 1:
        return np.zeros(0)
    first, *inner = classes[:-1]
    ends = [first.removeprefix("below "), *(one.partition(" to ")[2] for one in inner)]
    return np.array(ends, np.float64)


def _require_classes(own: Attribute, theirs: Attribute, codes: Ints) -> None:
    stranger = _stranger(own, theirs, codes)
    if stranger is not None:
        raise SchemaError(
            f"column {own.name!r} has bins in the database, and none of them is {stranger!r}: the "
            "classes are those that were made when the database was. Give numbers, under a schema "
            "without bins, or the names of these classes",
            column=own.name,
        )


def _stranger(own: Attribute, theirs: Attribute, codes: Ints) -> object | None:
    """A value of some row that is not in the domain."""
    known = np.append(pc.index_in(theirs.values, own.values).is_valid(), True)
    lacking = codes[~known.astype(np.bool_)[codes]]
    return None if not len(lacking) else theirs.values[int(lacking[0])].as_py()
