"""Pass 1 of the streamed Anatomize: how often each sensitive value occurs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sfumato.core.arrays import Counts
from sfumato.core.attribute import Attribute
from sfumato.engines.coded import codes_of
from sfumato.engines.rows import Rows
from sfumato.engines.tally import Tally
from sfumato.errors import DataError

# What the arrays of pass 3 take for a row beside its values.
WORK_BYTES = 32


@dataclass(frozen=True, slots=True, eq=False)
class ValueCounts:
    """What pass 1 finds out."""

    rows: int
    attribute: Attribute
    sizes: Counts
    row_bytes: float


def count_sensitive_values(rows: Rows, sensitive: str) -> ValueCounts:
    """Pass 1: how often each value occurs, and how much room the rows take."""
    published = [*rows.schema.quasi, *rows.schema.insensitive]
    # the widths of all other columns are known without reading them
    varying = [name for name in published if not _is_fixed(rows.types[name])]
    n_rows, size, tally = 0, 0, Tally(rows.types[sensitive])
    for table in rows.scan([sensitive, *varying]):
        n_rows += table.num_rows
        size += sum(table.column(name).nbytes for name in varying)
        tally.add(table.column(sensitive))
    if not n_rows:
        raise DataError(
            f"{rows.label} has columns but no rows; there is nothing to publish", source=rows.label
        )
    values, counts = tally.result()
    attribute, _ = rows.encoded(sensitive, pa.chunked_array([values]))
    sizes = np.zeros(attribute.size, np.int64)
    sizes[codes_of(attribute, values)] = counts
    fixed = sum(rows.types[name].bit_width / 8 for name in published if name not in varying)
    return ValueCounts(n_rows, attribute, sizes, fixed + size / n_rows + WORK_BYTES)


def _is_fixed(kind: pa.DataType) -> bool:
    return bool(pa.types.is_primitive(kind) or pa.types.is_decimal(kind))
