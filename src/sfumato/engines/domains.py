"""The first pass over rows beyond memory: the values of every column, and how often each occurs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import pyarrow as pa

from sfumato.core.arrays import Counts
from sfumato.core.attribute import Attribute
from sfumato.core.microdata import Microdata
from sfumato.engines.base import Engine
from sfumato.engines.coded import ROW, coded, codes_of
from sfumato.engines.room import memory_for_values, room_for_values
from sfumato.engines.rows import Rows
from sfumato.engines.stream import Scratch, StreamEngine
from sfumato.engines.tally import Tallies, Tally
from sfumato.errors import DataError, OutOfMemory

PART_ROWS = 2**18


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """What is known of a table after the first pass; ``counts`` are by code."""

    rows: Rows
    n_rows: int
    attributes: Mapping[str, Attribute]
    counts: Mapping[str, Counts]

    @property
    def sensitive(self) -> dict[str, Counts]:
        """The counts of sensitive values."""
        return {name: self.counts[name] for name in self.rows.schema.sensitive}

    @property
    def n_parts(self) -> int:
        """About how many parts there are."""
        return -(-self.n_rows // PART_ROWS)

    @property
    def coding(self) -> tuple[list[Attribute], list[Attribute], Sequence[str]]:
        """What ``coded`` has to know of the columns."""
        schema = self.rows.schema
        return (
            [self.attributes[name] for name in schema.quasi],
            [self.attributes[name] for name in schema.sensitive],
            schema.insensitive,
        )

    def encoded(self, engine: Engine) -> Engine:
        """Parts of codes, kept; the second and last time that the source is read."""
        return engine.keep(coded, *self.coding)

    def domain(self) -> Microdata:
        """A table without rows, which has the domains of this one."""
        schema = self.rows.schema
        codes = {name: np.zeros(0, np.int32) for name in self.attributes}
        others = self.rows.fields(schema.insensitive).empty_table()
        return Microdata(schema, 0, self.attributes, codes, others)


def open_engine(rows: Rows, scratch: Scratch, tell: Callable[[], None]) -> StreamEngine:
    """The rows of a source in parts, numbered; ``tell`` hears of every part that has passed."""
    columns = numbered_columns(rows)
    return StreamEngine(lambda: numbered(rows, columns, rows.scan(columns)), scratch, tell)


def numbered_columns(rows: Rows) -> list[str]:
    """The columns that are read, beside which there is to be one with the numbers of rows."""
    schema = rows.schema
    return [*schema.quasi, *schema.sensitive, *schema.insensitive]


def count_values(engine: Engine, rows: Rows, memory: int) -> Counted:
    """The first pass; the values of all columns have to fit into a share of so much memory."""
    names = [*rows.schema.quasi, *rows.schema.sensitive]
    tallies = engine.reduce(_tally, _merged, names, room_for_values(memory)).columns
    _require_values(tallies, memory)
    attributes, counts = {}, {}
    for name in names:
        values, found = tallies[name].result()
        attribute, _ = rows.encoded(name, pa.chunked_array([values]))
        counts[name] = np.zeros(attribute.size, np.int64)
        counts[name][codes_of(attribute, values)] = found
        attributes[name] = attribute
    n_rows = int(counts[names[0]].sum())
    if not n_rows:
        raise DataError(
            f"{rows.label} has columns but no rows; there is nothing to publish", source=rows.label
        )
    return Counted(rows, n_rows, attributes, counts)


def _tally(part: pa.Table, names: Sequence[str], most: int) -> Tallies:
    return Tallies.of_part(part, names, most)


def _merged(one: Tallies, other: Tallies) -> Tallies:
    return one.merged(other)


def _require_values(tallies: Mapping[str, Tally], memory: int) -> None:
    about = {name: tally.about for name, tally in tallies.items()}
    many = {name: found for name, found in about.items() if found is not None}
    if many:
        held = sum(tally.nbytes for tally in tallies.values())
        least = memory_for_values(held + sum(taken for _, taken in many.values()))
        told = ", ".join(f"{name!r} has about {found:,}" for name, (found, _) in many.items())
        raise OutOfMemory(
            f"{memory:,} bytes of memory are too few for the different values of columns: {told}; "
            f"allow {least:,} bytes, round the values, or leave columns out of the schema",
            doing="counting values",
        )


def numbered(
    rows: Rows,
    columns: Sequence[str],
    batches: Iterator[pa.Table],
    first: int = 0,
    most: int | None = None,
) -> Iterator[pa.Table]:
    """Parts of one size, each row with its number, from the first one on."""
    # at least one part, so that there is something to count in
    nothing = rows.fields(columns).empty_table()
    for part in joined_parts(chain((nothing,), batches), most):
        numbers = pa.array(np.arange(first, first + part.num_rows))
        first += part.num_rows
        yield part.append_column(ROW, numbers)


def joined_parts(batches: Iterator[pa.Table], most: int | None = None) -> Iterator[pa.Table]:
    """Batches put together until they are as large as a part is."""
    held: list[pa.Table] = []
    size = 0
    for batch in batches:
        held.append(batch)
        size += batch.num_rows
        if size >= (most or PART_ROWS):
            yield pa.concat_tables(held).combine_chunks()
            held, size = [], 0
    if held:
        yield pa.concat_tables(held).combine_chunks()
