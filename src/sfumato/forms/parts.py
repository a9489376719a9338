"""Where the rows of a table are divided into parts, none of which is too long to be held.

A cell of a box may be long, a set of ten thousand names, and stands in every row of its group. Put
out row by row, a table that is small by its groups can be larger than memory. So rows are put out
in parts of a limited number of bytes. Where a part ends depends on the published rows and on
nothing else; in Parquet a part is a row group.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core.arrays import Codes, Counts
from sfumato.io.writing import ROW_GROUP

PIECE = 65_536  # rows of a table with sets
_BYTES = 2**26
_WIDTH = 8  # a number in a set
_OFFSET = 4  # where a text ends


def parts_of(groups: pa.Table, group_of_row: Codes) -> list[int]:
    """The rows of each part; all together at least one part."""
    sets = any(pa.types.is_list(kind) for kind in groups.schema.types)
    most = PIECE if sets else ROW_GROUP
    ends = np.cumsum(_line_bytes(groups)[group_of_row])
    parts: list[int] = []
    low, n_rows = 0, len(group_of_row)
    while low < n_rows:
        before = ends[low - 1] if low else 0
        fitting = int(np.searchsorted(ends, before + _BYTES, side="right"))
        high = min(max(fitting, low + 1), low + most, n_rows)
        parts.append(high - low)
        low = high
    return parts or [0]


def _line_bytes(groups: pa.Table) -> Counts:
    """Bytes of texts and sets in each line."""
    total = np.zeros(groups.num_rows, np.int64)
    for column in groups.columns:
        if _varies(column.type):
            total += _bytes(column.combine_chunks())
    return total


def _varies(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_string(kind) or pa.types.is_binary(kind))


def _bytes(cells: pa.Array) -> Counts:
    if pa.types.is_list(cells.type):
        ends = np.append(0, np.cumsum(_bytes(cells.flatten())))
        places = np.append(0, np.cumsum(cells.value_lengths().fill_null(0).to_numpy()))
        sums: Counts = np.diff(ends[places])
        return sums
    if not _varies(cells.type):
        return np.full(len(cells), _WIDTH, np.int64)
    lengths: Counts = pc.binary_length(cells).fill_null(0).to_numpy().astype(np.int64)
    return lengths + _OFFSET
