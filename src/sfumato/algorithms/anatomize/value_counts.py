"""Pass 1 of the streamed Anatomize: how often each sensitive value occurs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core.arrays import Codes, Counts
from sfumato.core.attribute import Attribute
from sfumato.engines.rows import Rows
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
    n_rows, size, tally_of = 0, 0, _Tally(rows.types[sensitive])
    for table in rows.scan([sensitive, *varying]):
        n_rows += table.num_rows
        size += sum(table.column(name).nbytes for name in varying)
        tally_of.add(table.column(sensitive))
    if not n_rows:
        raise DataError(
            f"{rows.label} has columns but no rows; there is nothing to publish", source=rows.label
        )
    values, counts = tally_of.result()
    attribute, _ = rows.encoded(sensitive, pa.chunked_array([values]))
    sizes = np.zeros(attribute.size, np.int64)
    sizes[codes_of(attribute, values)] = counts
    fixed = sum(rows.types[name].bit_width / 8 for name in published if name not in varying)
    return ValueCounts(n_rows, attribute, sizes, fixed + size / n_rows + WORK_BYTES)


class _Tally:
    """Counts of values, of which no more are kept than about twice the distinct ones."""

    def __init__(self, kind: pa.DataType) -> None:
        self._fields = pa.schema([("values", kind), ("counts", pa.int64())])
        self._known = self._fields.empty_table()
        self._new: list[pa.Table] = []
        self._n_new = 0

    def add(self, column: pa.ChunkedArray) -> None:
        found = column.combine_chunks().value_counts()
        columns = [found.field("values"), found.field("counts")]
        self._new.append(pa.table(columns, schema=self._fields))
        self._n_new += len(found)
        if self._n_new > self._known.num_rows + 100_000:
            self._merge()

    def result(self) -> tuple[pa.Array, Counts]:
        self._merge()
        counts: Counts = self._known.column("counts").to_numpy()
        return self._known.column("values").combine_chunks(), counts

    def _merge(self) -> None:
        together = pa.concat_tables([self._known, *self._new])
        summed = together.group_by("values", use_threads=False).aggregate([("counts", "sum")])
        columns = [summed.column("values"), summed.column("counts_sum")]
        self._known = pa.table(columns, schema=self._fields).combine_chunks()
        self._new, self._n_new = [], 0


def codes_of(attribute: Attribute, column: pa.ChunkedArray | pa.Array) -> Codes:
    """The codes of values that the value_counts has seen."""
    found = pc.index_in(column, value_set=attribute.values).fill_null(attribute.missing_code)
    codes: Codes = found.to_numpy().astype(np.int32, copy=False)
    return codes


def _is_fixed(kind: pa.DataType) -> bool:
    return bool(pa.types.is_primitive(kind) or pa.types.is_decimal(kind))
