"""Arrow tables that hold values and types, and nothing else.

Data frames and database drivers attach metadata to tables and fields (index names, category
catalogues, database types), and a dictionary can list values that none of its rows has, such as
those of rows filtered out before, also deep inside lists and structs. None of that may travel
with a table.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core.attribute import plain_decimal
from sfumato.core.spelling import folded
from sfumato.errors import DataError


def plain_table(table: pa.Table) -> pa.Table:
    """The same rows without metadata, dictionaries and string layouts that few kernels know."""
    columns = [_plain_column(column) for column in table.columns]
    fields = [
        pa.field(field.name, column.type, field.nullable)
        for field, column in zip(table.schema, columns, strict=True)
    ]
    return pa.table(columns, schema=pa.schema(fields))


def normalized(table: pa.Table, compared: Collection[str], markers: Collection[str]) -> pa.Table:
    """The rows in the form in which they are compared, in memory or as a stream.

    Texts of ``compared`` columns are spelled in one way first: a marker may have blanks around it.
    """
    spelled = trimmed(plain_table(table), compared)
    return without_markers(spelled, markers) if markers else spelled


def without_markers(table: pa.Table, markers: Collection[str]) -> pa.Table:
    """The same rows, with null where a value reads like one of the markers."""

    def clean(column: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
        alike = _as_values(markers, field.type)
        if not len(alike):
            return column
        found = pc.is_in(column, value_set=alike)
        return pc.if_else(found, pa.scalar(None, field.type), column)

    return _changed(table, clean)


def trimmed(table: pa.Table, names: Collection[str]) -> pa.Table:
    """The same rows with the texts of the named columns in one spelling; see core.spelling."""
    known = frozenset(names)

    def clean(column: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
        folds = field.name in known and pa.types.is_string(field.type)
        return folded(column) if folds else column

    return _changed(table, clean)


def _changed(
    table: pa.Table, clean: Callable[[pa.ChunkedArray, pa.Field], pa.ChunkedArray]
) -> pa.Table:
    """All columns at once: putting them into a table one by one takes time by their square."""
    pairs = list(zip(table.columns, table.schema, strict=True))
    columns = [clean(column, field) for column, field in pairs]
    fields = [
        field if column is kept else pa.field(field.name, column.type)
        for (kept, field), column in zip(pairs, columns, strict=True)
    ]
    return pa.table(columns, schema=pa.schema(fields))


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
    if pa.types.is_decimal(kind) and kind.scale < 0:
        return plain_decimal(kind)
    if _is_list(kind):
        return pa.list_(_plain_type(kind.value_type))
    if pa.types.is_map(kind):
        return pa.map_(_plain_type(kind.key_type), _plain_type(kind.item_type))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(part.name, _plain_type(part.type)) for part in kind])
    return kind


def _is_list(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_list(kind)
        or pa.types.is_large_list(kind)
        or pa.types.is_fixed_size_list(kind)
        or pa.types.is_list_view(kind)
        or pa.types.is_large_list_view(kind)
    )


def _plain_array(array: pa.Array, plain: pa.DataType) -> pa.Array:
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        return _plain_array(array.storage, plain)
    if pa.types.is_dictionary(kind):
        # by hand: Arrow's own cast does not know dictionaries of string views, as polars sends
        return _plain_array(array.dictionary, plain).take(array.indices)
    if _is_list(kind):
        # by hand: Arrow's own cast leaves out the end of the last list of a view
        ends = np.cumsum(pc.list_value_length(array).fill_null(0).to_numpy(), dtype=np.int64)
        offsets = pa.array(np.append(0, ends), pa.int32())
        values = _plain_array(array.flatten(), plain.value_type)
        return pa.ListArray.from_arrays(offsets, values, plain, mask=_nulls(array))
    if pa.types.is_map(kind):
        keys = _plain_array(array.keys, plain.key_type)
        items = _plain_array(array.items, plain.item_type)
        return pa.MapArray.from_arrays(_offsets(array), keys, items, plain, mask=_nulls(array))
    if pa.types.is_struct(kind):
        parts = [_plain_array(array.field(i), plain.field(i).type) for i in range(len(plain))]
        return pa.StructArray.from_arrays(parts, fields=list(plain), mask=_nulls(array))
    if pa.types.is_string_view(kind) and array.null_count:
        array = _without_stray_views(array)
    if pa.types.is_decimal(kind):
        return _plain_decimals(array, plain)
    return array.cast(plain)


def _plain_decimals(array: pa.Array, plain: pa.DataType) -> pa.Array:
    try:
        return array.cast(plain)
    except pa.ArrowInvalid as error:
        raise DataError(f"numbers of type {array.type} have more than 76 digits") from error


def _without_stray_views(array: pa.Array) -> pa.Array:
    """The same texts. Where one is missing its view may point to anywhere, and no validation looks
    at it, but Arrow's cast does.
    """
    present, views, *texts = array.buffers()
    ours = np.frombuffer(views, np.uint64).reshape(-1, 2).copy()  # a view has 16 bytes
    missing = array.is_null().to_numpy(zero_copy_only=False)
    ours[array.offset : array.offset + len(array)][missing] = 0
    buffers = [present, pa.py_buffer(ours), *texts]
    return pa.Array.from_buffers(array.type, len(array), buffers, offset=array.offset)


def _offsets(lists: pa.Array) -> pa.Array:
    # copied: Arrow takes no slice of offsets together with nulls
    return pa.array(lists.offsets.to_numpy())


def _nulls(array: pa.Array) -> pa.Array | None:
    return array.is_null() if array.null_count else None


def _as_values(markers: Collection[str], kind: pa.DataType) -> pa.Array:
    """The markers that can be values of the type: "-9" is one of an integer, "?" is not."""
    values = []
    for marker in markers:
        try:
            values.append(pa.scalar(marker).cast(kind).as_py())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            continue
    return pa.array(values, kind)
