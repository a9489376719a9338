"""Arrow tables that hold values and types, and nothing else.

Data frames and database drivers attach metadata to tables and fields (index names, category
catalogues, database types), and a dictionary column can list values that none of its rows has,
such as those of rows filtered out before. None of that may travel with a table.
"""

from __future__ import annotations

from collections.abc import Collection

import pyarrow as pa
import pyarrow.compute as pc


def plain_table(table: pa.Table) -> pa.Table:
    """The same rows without metadata, dictionaries and string layouts that few kernels know."""
    columns = [_plain_column(column) for column in table.columns]
    fields = [
        pa.field(field.name, column.type, field.nullable)
        for field, column in zip(table.schema, columns, strict=True)
    ]
    return pa.table(columns, schema=pa.schema(fields))


def without_markers(table: pa.Table, markers: Collection[str]) -> pa.Table:
    """The same rows, with null where a value reads like one of the markers."""
    for place, field in enumerate(table.schema):
        alike = _as_values(markers, field.type)
        if len(alike):
            column = table.column(place)
            blank = pa.scalar(None, field.type)
            found = pc.is_in(column, value_set=alike)
            table = table.set_column(place, field.name, pc.if_else(found, blank, column))
    return table


def _plain_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    plain = _plain_type(column.type)
    if plain.equals(column.type, check_metadata=True):
        return column
    return pa.chunked_array([_plain_array(chunk, plain) for chunk in column.chunks], plain)


def _plain_type(kind: pa.DataType) -> pa.DataType:
    if isinstance(kind, pa.BaseExtensionType):
        return _plain_type(kind.storage_type)
    if pa.types.is_dictionary(kind):
        return _plain_type(kind.value_type)
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(_plain_type(kind.value_type))
    return kind


def _plain_array(array: pa.Array, plain: pa.DataType) -> pa.Array:
    if isinstance(array.type, pa.BaseExtensionType):
        return _plain_array(array.storage, plain)
    if pa.types.is_dictionary(array.type):
        # by hand: Arrow's own cast does not know dictionaries of string views, as polars sends
        return _plain_array(array.dictionary, plain).take(array.indices)
    return array.cast(plain)


def _as_values(markers: Collection[str], kind: pa.DataType) -> pa.Array:
    """The markers that can be values of the type: "-9" is one of an integer, "?" is not."""
    values = []
    for marker in markers:
        try:
            values.append(pa.scalar(marker).cast(kind).as_py())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            continue
    return pa.array(values, kind)
