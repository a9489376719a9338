"""How often each value of a column occurs, summed up over parts.

Values may be too many to be kept. A tally that lets go of them still knows about how many there
are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np
import pyarrow as pa

from sfumato.core.arrays import Counts
from sfumato.engines.sketch import Sketch

_CLOSE = 2**16  # integers within such a range are counted by their places
_MORE = 100_000  # values that may lie beside the known ones before they are merged


class Tally:
    """Counts of values, of which no more are kept than about twice the distinct ones."""

    def __init__(self, kind: pa.DataType) -> None:
        self._fields = pa.schema([("values", kind), ("counts", pa.int64())])
        self._known = self._fields.empty_table()
        self._new: list[pa.Table] = []
        self._n_new = 0
        self._sketch: Sketch | None = None
        self._each = 0.0  # bytes of a value that was let go of

    def add(self, column: pa.ChunkedArray) -> None:
        """Count the values of a column, nulls among them."""
        self._put(pa.table(list(_counted(column.combine_chunks())), schema=self._fields))

    def merge(self, other: Tally) -> None:
        """Take over what another part has counted."""
        if other._sketch is not None:
            self.let_go()
            assert self._sketch is not None
            self._sketch.merge(other._sketch)
            self._each = max(self._each, other._each)
            return
        for table in (other._known, *other._new):
            self._put(table)

    def let_go(self) -> None:
        """Keep no value from now on, and only about how many there are."""
        self.sum()
        if self._sketch is None:
            self._sketch = Sketch()
            self._each = self.nbytes / max(1, len(self))
            self._sketch.add(self._known.column("values").combine_chunks())
            self._known = self._fields.empty_table()

    @property
    def about(self) -> tuple[int, int] | None:
        """About how many values were let go of, and the bytes that all would take; None: none."""
        if self._sketch is None:
            return None
        found = self._sketch.estimate()
        return found, int(found * self._each)

    def __getstate__(self) -> dict[str, Any]:
        """Each value once: a tally is sent where it is merged with others."""
        self.sum()
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
        self.sum()
        counts: Counts = self._known.column("counts").to_numpy()
        return self._known.column("values").combine_chunks(), counts

    def _put(self, table: pa.Table) -> None:
        if self._sketch is not None:
            self._sketch.add(table.column("values").combine_chunks())
            return
        self._new.append(table)
        self._n_new += table.num_rows
        if self._n_new > self._known.num_rows + _MORE:
            self.sum()

    def sum(self) -> None:
        """Hold each value once."""
        if not self._new:
            return  # summed once more, values would come in another order
        together = pa.concat_tables([self._known, *self._new])
        summed = together.group_by("values", use_threads=False).aggregate([("counts", "sum")])
        columns = [summed.column("values"), summed.column("counts_sum")]
        self._known = pa.table(columns, schema=self._fields).combine_chunks()
        self._new, self._n_new = [], 0


@dataclass(frozen=True, slots=True)
class Tallies:
    """Those of several columns, which take at most so many bytes together."""

    columns: dict[str, Tally]
    most: int

    @classmethod
    def of_part(cls, part: pa.Table, names: Sequence[str], most: int) -> Tallies:
        """The values of a part."""
        found = cls({name: Tally(part.schema.field(name).type) for name in names}, most)
        for name, tally in found.columns.items():
            tally.add(part.column(name))
        found._keep_within()
        return found

    def merged(self, other: Tallies) -> Tallies:
        """These, which have taken over the others."""
        for name, tally in self.columns.items():
            tally.merge(other.columns[name])
        self._keep_within()
        return self

    @property
    def nbytes(self) -> int:
        """The bytes of all."""
        return sum(tally.nbytes for tally in self.columns.values())

    def _keep_within(self) -> None:
        """Let go of the values of the columns that have the most, where they are too many."""
        if self.nbytes > self.most:
            for tally in self.columns.values():
                tally.sum()
        held = [tally for tally in self.columns.values() if tally.about is None]
        held.sort(key=attrgetter("nbytes"))
        while held and self.nbytes > self.most:
            held.pop().let_go()


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
