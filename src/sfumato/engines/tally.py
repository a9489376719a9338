"""How often each value of a column occurs, summed up over parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.core.arrays import Counts

_CLOSE = 2**16  # integers within such a range are counted by their places
_MORE = 100_000  # values that may lie beside the known ones before they are merged


class Tally:
    """Counts of values, of which no more are kept than about twice the distinct ones."""

    def __init__(self, kind: pa.DataType) -> None:
        self._fields = pa.schema([("values", kind), ("counts", pa.int64())])
        self._known = self._fields.empty_table()
        self._new: list[pa.Table] = []
        self._n_new = 0

    def add(self, column: pa.ChunkedArray) -> None:
        """Count the values of a column, nulls among them."""
        self._put(pa.table(list(_counted(column.combine_chunks())), schema=self._fields))

    def merge(self, other: Tally) -> None:
        """Take over what another part has counted."""
        for table in (other._known, *other._new):
            self._put(table)

    def __getstate__(self) -> dict[str, Any]:
        """Each value once: a tally is sent where it is merged with others."""
        self._sum()
        return self.__dict__

    def __len__(self) -> int:
        """How many values are held: the distinct ones, and some of them twice."""
        return int(self._known.num_rows) + self._n_new

    @property
    def nbytes(self) -> int:
        """The bytes that they take."""
        return sum(int(table.nbytes) for table in (self._known, *self._new))

    def result(self) -> tuple[pa.Array, Counts]:
        """Every value once, in no particular order, and how often it occurs."""
        self._sum()
        counts: Counts = self._known.column("counts").to_numpy()
        return self._known.column("values").combine_chunks(), counts

    def _put(self, table: pa.Table) -> None:
        self._new.append(table)
        self._n_new += table.num_rows
        if self._n_new > self._known.num_rows + _MORE:
            self._sum()

    def _sum(self) -> None:
        if not self._new:
            return  # summed once more, values would come in another order
        together = pa.concat_tables([self._known, *self._new])
        summed = together.group_by("values", use_threads=False).aggregate([("counts", "sum")])
        columns = [summed.column("values"), summed.column("counts_sum")]
        self._known = pa.table(columns, schema=self._fields).combine_chunks()
        self._new, self._n_new = [], 0


def _counted(column: pa.Array) -> tuple[pa.Array, pa.Array]:
    if pa.types.is_integer(column.type) and len(column) and not column.null_count:
        numbers = column.to_numpy()
        low, high = numbers.min(), numbers.max()
        if int(high) - int(low) < _CLOSE:  # several times faster than by hashing
            # unsigned: in the narrowest types a difference may not fit
            counts = np.bincount((numbers - low).view(f"u{numbers.dtype.itemsize}"))
            found = np.flatnonzero(counts)
            values = found.astype(numbers.dtype) + low
            return pa.array(values, column.type), pa.array(counts[found])
    found = column.value_counts()
    return found.field("values"), found.field("counts")
