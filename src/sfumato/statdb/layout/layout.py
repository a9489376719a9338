"""What a database keeps: bucketization, index, and the codes of the rows at their places.

All of it is plain arrays with names, so that a store can write each to a file and map it back. It
is the secret that the guarantee hangs on: made once, never made anew, never shown. Sensitive codes
are not kept by row: the segment that a row stands in tells its value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.algorithms.anatomize import require_discrete
from sfumato.core.arrays import Codes, Counts, Flags, Ints, Words
from sfumato.core.attribute import Attribute
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.core.randomness import Randomness
from sfumato.errors import SchemaError
from sfumato.statdb.layout.bucketization import (
    Bucketization,
    bucketize,
    deal_rows,
    lay_out,
    require_cohort,
)
from sfumato.statdb.layout.index import (
    EVERYBODY,
    Index,
    allowed_bitmaps,
    build_index,
    places_marked,
)
from sfumato.statdb.layout.signatures import First, plan, require_m, require_m_unique

_BUCKETS, _INDEX, _CODES = "buckets", "index", "codes"


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """``codes`` hold the codes of every quasi-identifier at every place, 0 where no row is."""

    buckets: Bucketization
    index: Index
    codes: Mapping[str, Ints]

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return int(np.bitwise_count(self.everybody).sum())

    @property
    def everybody(self) -> Words:
        """The bitmap of the places that have a row."""
        words: Words = self.index.bitmaps[EVERYBODY]
        return words

    @property
    def nbytes(self) -> int:
        """Memory of all arrays."""
        return sum(array.nbytes for array in self.named().values())

    def named(self) -> dict[str, NDArray[Any]]:
        """Every array under a name of its own, such as "buckets.starts" or "codes.age"."""
        return {
            **{f"{_BUCKETS}.{name}": array for name, array in self.buckets._asdict().items()},
            **{f"{_INDEX}.{name}": array for name, array in self.index._asdict().items()},
            **{f"{_CODES}.{name}": array for name, array in self.codes.items()},
        }

    @classmethod
    def of_named(cls, arrays: Mapping[str, NDArray[Any]]) -> Layout:
        """The same from such arrays.

        They must be contiguous, and writable in the eyes of NumPy: kernels are compiled for that
        kind only (a mapped file is one if it is mapped copy-on-write).
        """
        parts: dict[str, dict[str, Any]] = {_BUCKETS: {}, _INDEX: {}, _CODES: {}}
        for name, array in arrays.items():
            part, _, own = name.partition(".")
            parts[part][own] = array
        return cls(Bucketization(**parts[_BUCKETS]), Index(**parts[_INDEX]), parts[_CODES])

    def flags(self, bitmap: Words) -> Flags:
        """A bitmap as one flag per place."""
        return np.unpackbits(bitmap.view(np.uint8), bitorder="little").astype(np.bool_)

    def occupied(self) -> Counts:
        """The places that have a row."""
        return np.flatnonzero(self.flags(self.everybody))

    def sensitive_codes(self) -> Codes:
        """The sensitive code that belongs to every place; -1 between segments."""
        buckets = self.buckets
        owner = np.repeat(np.arange(buckets.n_buckets), np.diff(buckets.starts))
        line = np.arange(len(owner)) - buckets.starts[owner]
        begin = buckets.base[owner] + line * buckets.stride[owner]
        # a stretch before the first line, and one after each, may be nobody's
        lengths = np.empty(2 * len(owner) + 1, np.int64)
        lengths[1::2] = buckets.stride[owner]
        lengths[::2] = np.append(begin, buckets.n_places) - np.append(0, begin + lengths[1::2])
        codes = np.full(len(lengths), -1, np.int32)
        codes[1::2] = buckets.values
        return np.repeat(codes, lengths)

    def __repr__(self) -> str:
        """Sizes only: this is the secret."""
        return f"Layout({self.buckets.n_buckets:,} buckets, {len(self.codes)} attributes)"


def build(
    table: Microdata, m: int, cohort: int | None, first: First | Partition, randomness: Randomness
) -> Layout:
    """Bucketize a table and index it."""
    require_m(m)
    require_cohort(cohort)
    sensitive = sensitive_of(table)
    codes = table.codes[sensitive.name]
    if isinstance(first, Partition):
        buckets, rows = bucketize(codes, sensitive.size, first, m, cohort, randomness)
        return indexed(table, buckets, rows)
    counts = np.bincount(codes, minlength=sensitive.size)
    require_m_unique(sensitive, counts, m)
    buckets = lay_out(plan(counts, m, first, randomness), cohort, sensitive.size)
    return indexed(table, buckets, deal_rows(codes, buckets, randomness))


def sensitive_of(table: Microdata) -> Attribute:
    """The one sensitive attribute of a table."""
    if len(table.sensitive) != 1:
        raise SchemaError(
            f"a statistical database has one sensitive column; the schema names "
            f"{', '.join(table.schema.sensitive) or 'none'}"
        )
    require_discrete(table.sensitive[0])
    return table.sensitive[0]


def indexed(table: Microdata, buckets: Bucketization, rows: Codes) -> Layout:
    """Index a table whose rows stand at these places, -1 where none is."""
    placed = {one.name: _at_places(table.codes[one.name], rows) for one in table.quasi}
    sizes = [table.attributes[name].size for name in placed]
    return with_index(buckets, placed, sizes, table.sensitive[0].size, places_marked(rows))


def with_index(
    buckets: Bucketization,
    codes: Mapping[str, Ints],
    sizes: Sequence[int],
    n_values: int,
    everybody: Words,
) -> Layout:
    """What is stored of codes at places, in domains of these sizes, with an index made for it."""
    row_bytes = bytes_of(n_values) + sum(column.itemsize for column in codes.values())
    n_rows = int(np.bitwise_count(everybody).sum())
    allowed = allowed_bitmaps(row_bytes, n_rows, buckets.n_places)
    return Layout(buckets, build_index(sizes, list(codes.values()), everybody, allowed), codes)


def bytes_of(size: int) -> int:
    """How many bytes a code of a domain of this size takes."""
    return int(np.min_scalar_type(-size - 1).itemsize)


def _at_places(codes: Ints, rows: Codes) -> Ints:
    placed = codes[rows]  # row -1, the last, stands for none
    placed[rows < 0] = 0
    return placed
