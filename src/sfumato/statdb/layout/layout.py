"""The layout of rows that are regrouped for every question: buckets, and cohorts in them.

Sensitive codes are not kept by row: the segment that a row stands in tells its value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.arrays import Codes, Counts, Floats, Ints, Words
from sfumato.core.microdata import Microdata
from sfumato.core.partition import Partition
from sfumato.core.randomness import Randomness
from sfumato.statdb.layout.bucketization import (
    Bucketization,
    bucketize,
    deal_rows,
    lay_out,
    require_cohort,
)
from sfumato.statdb.layout.index import Index, allowed_bitmaps, build_index, places_marked
from sfumato.statdb.layout.places import (
    Places,
    at_places,
    by_part,
    bytes_of,
    sensitive_of,
    with_names,
)
from sfumato.statdb.layout.regions import lay_out_regions, plan_regions
from sfumato.statdb.layout.signatures import Plan, plan, require_m_unique
from sfumato.statdb.layout.slots import slots_of


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Layout(Places):
    """Every row stands in the segment of its signature, its value and its cohort."""

    buckets: Bucketization

    @property
    def kinds(self) -> tuple[str, int]:
        """Buckets."""
        return "buckets", self.buckets.n_buckets

    def values_at(self, places: Counts) -> Codes:
        """The sensitive codes that belong to places; each is in a segment."""
        return slots_of(self.buckets, places).values(self.buckets)

    def homes(self) -> tuple[Counts, Counts]:
        """The bucket of every row, and its cohort among those of all buckets."""
        buckets, places = self.buckets, self.occupied()
        bucket = np.searchsorted(buckets.base, places, "right") - 1
        within = (places - buckets.base[bucket]) % buckets.stride[bucket]
        first = np.append(0, np.cumsum(buckets.cohorts))
        return bucket, first[bucket] + within // buckets.room[bucket]

    def best_guesses(self) -> Floats:
        """One of the values that a row's group has once each, whichever its cohort is."""
        bucket, _ = self.homes()
        shares: Floats = 1 / np.diff(self.buckets.starts)
        return shares[bucket]

    def named(self) -> dict[str, NDArray[Any]]:
        """Every array under a name of its own, such as "buckets.starts" or "codes.age"."""
        buckets, index = self.buckets._asdict(), self.index._asdict()
        return with_names(buckets=buckets, index=index, codes=self.codes)

    @classmethod
    def of_named(cls, arrays: Mapping[str, NDArray[Any]]) -> Layout:
        """The same from such arrays."""
        parts = by_part(arrays)
        index, buckets = Index(**parts["index"]), Bucketization(**parts["buckets"])
        return cls(index, parts["codes"], buckets)


def build(
    table: Microdata, m: int, cohort: int | None, first: Plan | Partition, randomness: Randomness
) -> Layout:
    """Bucketize a table and index it."""
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


def build_in_regions(
    table: Microdata, m: int, cohort: int, region: int, randomness: Randomness
) -> Layout:
    """The same with cohorts inside regions."""
    require_cohort(cohort)
    sensitive = sensitive_of(table)
    codes = table.codes[sensitive.name]
    require_m_unique(sensitive, np.bincount(codes, minlength=sensitive.size), m)
    planned = plan_regions(table, m, region, cohort, randomness)
    return indexed(table, *lay_out_regions(codes, sensitive.size, planned, cohort))


def indexed(table: Microdata, buckets: Bucketization, rows: Codes) -> Layout:
    """Index a table whose rows stand at these places, -1 where none is."""
    placed = {one.name: at_places(table.codes[one.name], rows) for one in table.quasi}
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
    return Layout(build_index(sizes, list(codes.values()), everybody, allowed), codes, buckets)
