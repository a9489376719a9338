"""How many rows a table has, how many values of each column are missing, and how many differ.

In parts, the different values of a column are kept as long as they are few. Those of the others are
dealt into buckets on disk by a hash, in a pass of their own, and counted bucket by bucket.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import partial
from itertools import chain
from operator import add
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sfumato.audits.column_hints import hint_of
from sfumato.core.arrays import Codes
from sfumato.core.attribute import plain_decimal
from sfumato.core.fingerprint import PUBLIC_KEY, value_hashes
from sfumato.engines.domains import joined_parts
from sfumato.engines.rows import Columns
from sfumato.engines.stream import Scratch, StreamEngine
from sfumato.engines.tally import Tally

_SHARE = 8  # of the memory, one part in so many is for different values


class ColumnCounts(NamedTuple):
    """What is counted of one column; values of lists, structs and bytes are not.

    ``hint`` is about its values (column_hints.py); none where they are too many to be kept.
    """

    kind: pa.DataType
    missing: int
    distinct: int | None
    hint: str = ""

    @classmethod
    def of(cls, column: pa.ChunkedArray) -> ColumnCounts:
        """A column in memory."""
        if not is_usable(column.type):
            return cls(column.type, column.null_count, None)
        tally = Tally(_comparable(column.type))
        tally.add(_compared(column))
        return cls(column.type, column.null_count, *_known(tally))


def is_usable(kind: pa.DataType) -> bool:
    """Whether values of this type can play a role."""
    binary = pa.types.is_binary(kind) or pa.types.is_large_binary(kind)
    fixed = pa.types.is_fixed_size_binary(kind) or pa.types.is_binary_view(kind)
    return not (pa.types.is_nested(kind) or pa.types.is_interval(kind) or binary or fixed)


def count_columns(
    columns: Columns, missing: Collection[str], memory: int
) -> tuple[int, dict[str, ColumnCounts]]:
    """The rows of a source, and what is counted of each of its columns."""
    kinds = columns.types
    absent, rows = dict.fromkeys(kinds, 0), 0
    tallies: dict[str, Tally] = {
        name: Tally(_comparable(kind)) for name, kind in kinds.items() if is_usable(kind)
    }
    counted = list(tallies)
    most = memory // (_SHARE * max(1, len(counted)))
    for part in _parts(columns, list(kinds), missing):
        rows += part.num_rows
        for name in kinds:
            column = part.column(name)
            absent[name] += column.null_count
            if name in tallies:
                tallies[name].add(_compared(column))
                if tallies[name].nbytes > most:
                    del tallies[name]
    known = {name: _known(tally) for name, tally in tallies.items()}
    for name in counted:
        if name not in known:
            n = 1 + _SHARE * rows * _width(columns, name, missing) // memory
            known[name] = (_spilled(columns, name, missing, n), "")
    found = {
        name: ColumnCounts(kind, absent[name], *known.get(name, (None,)))
        for name, kind in kinds.items()
    }
    return rows, found


def _parts(columns: Columns, names: Sequence[str], missing: Collection[str]) -> Iterator[pa.Table]:
    nothing = pa.schema([(name, columns.types[name]) for name in names]).empty_table()
    batches = chain((nothing,), columns.scan(names, missing))
    return joined_parts(batches)


def _distinct(column: pa.ChunkedArray) -> int:
    return len(_compared(column).unique().drop_null())


def _known(tally: Tally) -> tuple[int, str]:
    """How many values differ, and what they hint at."""
    values, counts = tally.result()
    return int(len(values) - values.null_count), hint_of(values, counts)


def _width(columns: Columns, name: str, missing: Collection[str]) -> int:
    """The bytes that a value takes, when it is compared with others; by the first part."""
    part = next(_parts(columns, [name], missing))
    return int(16 + 4 * part.nbytes // max(1, part.num_rows))


def _spilled(columns: Columns, name: str, missing: Collection[str], n: int) -> int:
    """The different values of one column that has many."""
    with TemporaryDirectory(prefix="sfumato-") as folder, Scratch(Path(folder)) as scratch:
        scan = partial(_parts, columns, [name], missing)
        engine = StreamEngine(scan, scratch, lambda: None)
        found: int = engine.exchange(_buckets, n, _as_it_is, name, n).reduce(_count, add, name)
    return found


def _buckets(part: pa.Table, name: str, n: int) -> Codes:
    values = part.column(name).combine_chunks()
    hashed: Codes = (value_hashes(name, values, PUBLIC_KEY) % np.uint64(n)).astype(np.int32)
    return hashed


def _as_it_is(part: pa.Table, *_: object) -> pa.Table:
    return part


def _count(part: pa.Table, name: str) -> int:
    return _distinct(part.column(name))


def _compared(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(_comparable(column.type))


def _comparable(kind: pa.DataType) -> pa.DataType:
    """A type by whose values equal numbers are one."""
    return plain_decimal(kind) if pa.types.is_decimal(kind) else kind
