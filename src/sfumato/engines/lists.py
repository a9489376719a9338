"""A list of people beyond memory, in parts of codes.

Codes are places in the dictionary of a column, which grows while the list is read: once through it
is enough. A missing value is one of the dictionary's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core.arrays import Codes, Counts
from sfumato.core.attribute import plain_decimal
from sfumato.engines.coded import ROW
from sfumato.engines.domains import joined_parts
from sfumato.engines.rows import NamedRows
from sfumato.engines.vectors import CODES

ID = "id"


class CodedList:
    """Columns of a list as codes; what is known of them once ``parts`` has passed."""

    def __init__(self, rows: NamedRows, columns: Sequence[str], id: str | None = None) -> None:
        self.n_rows = 0
        self.n_without_id = 0
        self._rows = rows
        self._id = id
        self._columns = {name: _Growing(rows.types[name]) for name in columns}

    @property
    def values(self) -> dict[str, pa.Array]:
        """The dictionary of every column."""
        return {name: column.values for name, column in self._columns.items()}

    @property
    def sizes(self) -> Counts:
        """How many codes each column has."""
        return np.array([len(column) for column in self._columns.values()], np.int64)

    def parts(self) -> Iterator[pa.Table]:
        """The numbers of the rows, their codes side by side, and their ids if these are wanted."""
        for part in joined_parts(self._rows.scan()):
            rows = np.arange(self.n_rows, self.n_rows + part.num_rows)
            self.n_rows += part.num_rows
            codes = np.empty((part.num_rows, len(self._columns)), np.int32)
            for j, (name, column) in enumerate(self._columns.items()):
                codes[:, j] = column.codes(part.column(name))
            lists = pa.FixedSizeListArray.from_arrays(pa.array(codes.ravel()), codes.shape[1])
            coded = pa.table([rows, lists], [ROW, CODES])
            if self._id is not None:
                ids = part.column(self._id)
                self.n_without_id += ids.null_count
                coded = coded.append_column(ID, ids)
            yield coded


class _Growing:
    """The different values of a column, in the order in which they are first seen."""

    def __init__(self, kind: pa.DataType) -> None:
        self._kind = kind
        self._known = pa.array([], _compared(kind))

    def __len__(self) -> int:
        return len(self._known)

    @property
    def values(self) -> pa.Array:
        """All that were seen, in their own type."""
        return self._known.cast(self._kind)

    def codes(self, column: pa.ChunkedArray) -> Codes:
        """The codes of more rows."""
        compared = column.cast(self._known.type).combine_chunks()
        part = compared.dictionary_encode(null_encoding="encode")
        places = pc.index_in(part.dictionary, value_set=self._known)
        new = places.is_null().to_numpy(zero_copy_only=False)
        of_part = places.fill_null(0).to_numpy().astype(np.int32)
        of_part[new] = len(self._known) + np.arange(np.count_nonzero(new), dtype=np.int32)
        if new.any():
            self._known = pa.concat_arrays([self._known, part.dictionary.filter(pa.array(new))])
        codes: Codes = of_part[part.indices.to_numpy()]
        return codes


def _compared(kind: pa.DataType) -> pa.DataType:
    """A type that has every value of a type and whose values Arrow can compare."""
    if pa.types.is_float16(kind):
        return pa.float32()
    return plain_decimal(kind) if pa.types.is_decimal(kind) else kind
