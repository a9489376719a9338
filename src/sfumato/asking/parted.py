"""Questions to a table beyond memory, for its owner.

A question is about some columns: the different combinations of their values, and how often each
occurs, answer it as all rows would.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sfumato.answers.encoded import encoded_columns
from sfumato.answers.grouped import GroupedTables
from sfumato.answers.rows import Rows
from sfumato.core.microdata import Microdata
from sfumato.engines.parts import TableParts
from sfumato.errors import OutOfMemory
from sfumato.queries.columns import Catalog

_TIMES = "\0times"  # a name that no column has
_MOST_WAITING = 2**18  # combinations that may lie beside the known ones before they are merged
_SHARE = 4  # of the memory, one part in so many is for combinations
_CELL_BYTES = 40  # of a combination, when it is found and when it is asked about


def asked_about(table: TableParts, names: Collection[str]) -> GroupedTables:
    """A table prepared for questions about the named columns."""
    found = _combinations(table, sorted(names))
    coded = [name for name in found.column_names if name in table.attributes]
    others = encoded_columns(found.drop_columns([*coded, _TIMES]))
    columns = [(table.attributes[name], found.column(name).to_numpy()) for name in coded]
    times = found.column(_TIMES).to_numpy()
    rows = Rows.of([*columns, *others.columns], np.zeros(len(times), np.int32), 1, times)
    catalog = Catalog.of_table(table.domain).refusing(others.refusals)
    return GroupedTables(catalog, np.array([table.n_rows]), (rows,))


def _combinations(table: TableParts, names: list[str]) -> pa.Table:
    """The different combinations of values, as codes where there are such, and their times."""
    if not names:
        return pa.table({_TIMES: [table.n_rows]})
    if len(names) == 1 and names[0] in table.value_counts:
        times = table.value_counts[names[0]]
        codes = np.flatnonzero(times)
        return pa.table({names[0]: codes, _TIMES: times[codes]})
    return table.folded(_of_part, partial(_with, memory=table.memory), names).merged(table.memory)


class _Known(NamedTuple):
    """Combinations that were merged, and tables of those that wait for it."""

    tables: tuple[pa.Table, ...]

    def merged(self, memory: int) -> pa.Table:
        """Every combination once."""
        found = _summed(pa.concat_tables(self.tables))
        _require_memory(memory, found)
        return found


def _of_part(part: Microdata, names: list[str]) -> _Known:
    once = pa.array(np.ones(part.n_rows, np.int64))
    columns = [_column(part, name) for name in names]
    return _Known((_summed(pa.table([*columns, once], [*names, _TIMES])),))


def _with(known: _Known, more: _Known, *, memory: int) -> _Known:
    """Merging takes time for all that is known: it is done when enough has come."""
    both = _Known((*known.tables, *more.tables))
    first, *waiting = both.tables
    if sum(one.num_rows for one in waiting) > first.num_rows + _MOST_WAITING:
        return _Known((both.merged(memory),))
    return both


def _column(part: Microdata, name: str) -> pa.Array | pa.ChunkedArray:
    if name in part.codes:
        return pa.array(np.ascontiguousarray(part.codes[name]))
    return part.insensitive.column(name)


def _summed(table: pa.Table) -> pa.Table:
    """Every combination once."""
    names = table.column_names[:-1]
    summed = table.group_by(names, use_threads=False).aggregate([(_TIMES, "sum")])
    return summed.select([*names, f"{_TIMES}_sum"]).rename_columns([*names, _TIMES])


def _require_memory(memory: int, found: pa.Table) -> None:
    least = _SHARE * _CELL_BYTES * found.num_rows * found.num_columns
    if least > memory:
        names = ", ".join(found.column_names[:-1])
        raise OutOfMemory(
            f"{memory:,} bytes of memory are too few: {names} have more than "
            f"{found.num_rows:,} different combinations of values; ask about fewer columns, or "
            f"allow {2 * least:,} bytes",
            doing="answering",
        )
