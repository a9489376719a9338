"""Coded parts: rows as codes, each with its number in the table.

Codes of all quasi-identifiers stand side by side in one column of short lists, and so do those of
the sensitive attributes: a part is then read and moved as two matrices. Insensitive columns stay as
they are, under names of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core.arrays import Codes, Counts, Ints
from sfumato.core.attribute import Attribute
from sfumato.core.microdata import Microdata
from sfumato.core.schema import Schema
from sfumato.errors import DataError

# the number of a row stands beside columns of any name, so it has one that nobody gives
ROW = "\0row"
QUASI, SENSITIVE, OTHER = "quasi", "sensitive", "other"
_CLOSE = 2**16  # integers within such a range are looked up, not hashed


def coded(
    part: pa.Table, quasi: Sequence[Attribute], sensitive: Sequence[Attribute], other: Sequence[str]
) -> pa.Table:
    """A part with its numbers (in column ROW) as codes."""
    columns = [part.column(ROW), _matrix(part, quasi), _matrix(part, sensitive)]
    names = [ROW, QUASI, SENSITIVE, *(f"{OTHER}{i}" for i in range(len(other)))]
    return pa.table([*columns, *(part.column(name) for name in other)], names=names)


def row_numbers(part: pa.Table) -> Counts:
    """Where each row stands in the table."""
    numbers: Counts = part.column(ROW).to_numpy()
    return numbers


def quasi_codes(part: pa.Table) -> Codes:
    """Codes of the quasi-identifiers, one row per person."""
    return matrix_of(part.column(QUASI)).astype(np.int32)


def sensitive_codes(part: pa.Table) -> Codes:
    """Codes of the sensitive attributes, one row per person."""
    return matrix_of(part.column(SENSITIVE)).astype(np.int32)


def microdata(part: pa.Table, schema: Schema, attributes: Mapping[str, Attribute]) -> Microdata:
    """The rows of a coded part as a table, with the domains of the whole table."""
    # columns of the matrices as they are, not copied: a region takes much of the memory
    codes = {
        name: matrix[:, j]
        for names, matrix in (
            (schema.quasi, matrix_of(part.column(QUASI))),
            (schema.sensitive, matrix_of(part.column(SENSITIVE))),
        )
        for j, name in enumerate(names)
    }
    others = part.select([name for name in part.column_names if name.startswith(OTHER)])
    return Microdata(
        schema, part.num_rows, attributes, codes, others.rename_columns(list(schema.insensitive))
    )


def codes_of(attribute: Attribute, column: pa.ChunkedArray | pa.Array) -> Codes:
    """The codes of values; -1 where one is not in the domain, as in a file that has changed."""
    values = attribute.values
    if pa.types.is_integer(values.type) and len(values) and not column.null_count:
        domain, numbers = values.to_numpy(), column.to_numpy()
        low, high = domain.min(), domain.max()
        near = len(numbers) > 0 and low <= numbers.min() and numbers.max() <= high
        if near and int(high) - int(low) < _CLOSE:
            unsigned = (
                f"u{domain.dtype.itemsize}"  # in the narrowest types a difference may not fit
            )
            lookup = np.full(int(high) - int(low) + 1, -1, np.int32)
            lookup[(domain - low).view(unsigned)] = np.arange(len(domain), dtype=np.int32)
            found: Codes = lookup[(numbers - low).view(unsigned)]
            return found
    places = pc.index_in(column, value_set=values).fill_null(-1)
    codes: Codes = places.to_numpy().astype(np.int32)
    if attribute.has_missing:
        codes[pc.is_null(column).to_numpy(zero_copy_only=False)] = attribute.missing_code
    return codes


def _matrix(part: pa.Table, attributes: Sequence[Attribute]) -> pa.Array:
    if not attributes:
        return pa.nulls(part.num_rows)
    largest = max(attribute.size for attribute in attributes)
    narrow = np.int16 if largest <= np.iinfo(np.int16).max else np.int32
    codes = np.empty((part.num_rows, len(attributes)), narrow)
    for j, attribute in enumerate(attributes):
        found = codes_of(attribute, part.column(attribute.name))
        if found.min(initial=0) < 0:
            raise DataError(
                f"{attribute.name!r} has values now that it did not have before: the table changed "
                "while it was read; make a copy that stays as it is",
                source=attribute.name,
            )
        codes[:, j] = found
    return pa.FixedSizeListArray.from_arrays(pa.array(codes.ravel()), len(attributes))


def matrix_of(column: pa.ChunkedArray | pa.Array) -> Ints:
    """A column of codes as a matrix, a row per person."""
    lists = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_null(lists.type):
        return np.zeros((len(lists), 0), np.int16)
    flat: Ints = lists.flatten().to_numpy()
    return flat.reshape(len(lists), lists.type.list_size)
