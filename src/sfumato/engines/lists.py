"""A list of people beyond memory, in parts of codes.

Codes are places in the dictionary of a column, which grows while the list is read: once through it
is enough. A missing value is one of the dictionary's. Workers of a cluster cannot let one grow
together, so they find the values first, and read the list again (``known_list``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core.arrays import Codes, Counts
from sfumato.core.attribute import plain_decimal
from sfumato.engines import cluster, domains
from sfumato.engines.base import Engine
from sfumato.engines.cluster import ClusterEngine, Workers, staged
from sfumato.engines.coded import ROW
from sfumato.engines.domains import joined_parts
from sfumato.engines.pieces import Told
from sfumato.engines.rows import NamedRows
from sfumato.engines.splits import NumberedSplit, numbered_splits
from sfumato.engines.vectors import CODES
from sfumato.errors import DataError

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
            if self._id is not None:
                self.n_without_id += part.column(self._id).null_count
            yield _coded(part.append_column(ROW, pa.array(rows)), self._columns, self._id)


class KnownList(NamedTuple):
    """The same of a list whose values workers have found."""

    n_rows: int
    n_without_id: int
    values: dict[str, pa.Array]

    @property
    def sizes(self) -> Counts:
        """How many codes each column has."""
        return np.array([len(values) for values in self.values.values()], np.int64)

    def together(self, other: KnownList) -> KnownList:
        """With the rows of another."""
        values = {
            name: _unique(pa.chunked_array([one, other.values[name]]))
            for name, one in self.values.items()
        }
        return KnownList(self.n_rows + other.n_rows, self.n_without_id + other.n_without_id, values)


def known_list(
    rows: NamedRows, columns: Sequence[str], id: str, engine: Engine
) -> tuple[KnownList, Engine]:
    """What is known of a list, and its rows as codes, with their ids."""
    known = engine.reduce(_known, KnownList.together, list(columns), id)
    growing = {name: _Growing(rows.types[name], values) for name, values in known.values.items()}
    typed = {name: column.values for name, column in growing.items()}
    return known._replace(values=typed), engine.keep(_coded, growing, id)


@contextmanager
def list_engine(rows: NamedRows, workers: Workers, target: Path) -> Iterator[Engine]:
    """A list for the workers of a cluster; see ``cluster_engine``."""
    with staged(workers, target, _silent) as stages:
        told = stages.told(rows)
        splits = numbered_splits(rows.files, cluster.SPLIT_ROWS)
        pieces = [_ListPiece(told, one, domains.PART_ROWS) for one in splits]
        yield ClusterEngine(stages, pieces)


@dataclass(frozen=True, slots=True)
class _ListPiece:
    """Rows of a list, in parts of so many."""

    rows: Told
    split: NumberedSplit
    part_rows: int

    def parts(self) -> Iterator[pa.Table]:
        """Numbered rows, as many as were counted before."""
        rows: NamedRows = self.rows()
        nothing = pa.schema(list(rows.types.items())).empty_table()
        first = self.split.first
        for part in joined_parts(chain((nothing,), rows.read(self.split.split)), self.part_rows):
            yield part.append_column(ROW, pa.array(np.arange(first, first + part.num_rows)))
            first += part.num_rows
        if first != self.split.first + self.split.n_rows:
            raise DataError(
                f"{rows.label} changed while it was read; make a copy that stays as it is",
                source=rows.label,
            )


def _known(part: pa.Table, columns: Sequence[str], id: str) -> KnownList:
    values = {
        name: _unique(part.column(name).cast(_compared(part.schema.field(name).type)))
        for name in columns
    }
    return KnownList(part.num_rows, part.column(id).null_count, values)


def _unique(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks().unique()


def _coded(part: pa.Table, columns: Mapping[str, _Growing], id: str | None) -> pa.Table:
    """Numbered rows as codes side by side, and their ids if these are wanted."""
    codes = np.empty((part.num_rows, len(columns)), np.int32)
    for j, (name, column) in enumerate(columns.items()):
        codes[:, j] = column.codes(part.column(name))
    lists = pa.FixedSizeListArray.from_arrays(pa.array(codes.ravel()), codes.shape[1])
    coded = pa.table([part.column(ROW), lists], [ROW, CODES])
    return coded if id is None else coded.append_column(ID, part.column(id))


def _silent() -> None:
    """Nobody listens."""


class _Growing:
    """The different values of a column, in the order in which they are first seen."""

    def __init__(self, kind: pa.DataType, known: pa.Array | None = None) -> None:
        self._kind = kind
        self._known = pa.array([], _compared(kind)) if known is None else known

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
