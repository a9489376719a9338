"""Columns that are published as they are though nearly every row has a value of its own.

Such a column is an identifier, whatever the schema calls it: groups hide nobody whose row shows it.
"""

from __future__ import annotations

import pyarrow as pa

from sfumato.io.plain import plain_table

_MANY = 0.5  # values per row: most values then have one row
_FEW_ROWS = 20  # below, that values differ means little


def identifying(name: str, distinct: int, rows: int) -> str | None:
    """What to tell of an insensitive column with so many values; None if it tells few apart."""
    if rows < _FEW_ROWS or distinct <= _MANY * rows:
        return None
    return (
        f"{name!r} is published as it is and has {distinct:,} different values in {rows:,} rows: "
        "whoever knows somebody's value finds the row, whatever is promised; call the column an "
        "identifier, which is left out, or a quasi-identifier, or take it out of the schema"
    )


def different(column: pa.ChunkedArray) -> int:
    """How many values a column has; 0 for lists, structs and the like, which are not compared."""
    try:
        return len(column.drop_null().unique())
    except pa.ArrowNotImplementedError:
        return 0


def different_in(table: pa.Table) -> dict[str, int]:
    """The same of every column of a table."""
    plain = plain_table(table)
    return {name: different(plain.column(name)) for name in plain.column_names}
