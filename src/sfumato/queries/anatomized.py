"""COUNT estimated from QIT and ST.

Xiao, Tao: "Anatomy", section 1.2. In each group the QIT shows exactly which rows satisfy the
conditions on quasi-identifiers, and the ST how many have a wanted sensitive value; which rows those
are is unknown, so they are taken to be independent:

    sum over groups of (rows that match in the QIT / group size) * (count that matches in the ST)

With several sensitive attributes each has its ST, and nothing is published about their combination:
every condition contributes its own share, again as if independent. Insensitive attributes stand in
the QIT and count like quasi-identifiers. An answer that needs one table only is exact.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sfumato.core.arrays import Codes, Floats
from sfumato.core.attribute import encode
from sfumato.core.compiled import announce
from sfumato.errors import DataError
from sfumato.queries._kernels import total
from sfumato.queries.bits import GroupBits, fits_bits
from sfumato.queries.cells import Cells
from sfumato.queries.count import CountQuery
from sfumato.queries.packing import is_codable, require_known
from sfumato.queries.runs import Runs
from sfumato.releases.anatomized import COUNT, GROUP, AnatomizedTables


@dataclass(frozen=True, slots=True, eq=False)
class AnatomizedEstimator:
    """The published tables of an anatomized release, prepared once, asked often."""

    sizes: Floats
    qit: Runs
    sts: tuple[Cells | GroupBits, ...]

    @classmethod
    def of(cls, release: AnatomizedTables) -> AnatomizedEstimator:
        """Prepare a release; only its tables are read."""
        announce(total)
        numbers, groups = np.unique(release.qit[GROUP].to_numpy(), return_inverse=True)
        sizes = np.bincount(groups).astype(np.float64)
        columns = [
            encode(name, release.qit.column(name))
            for name in release.qit.column_names
            if name != GROUP and is_codable(release.qit.schema.field(name).type)
        ]
        return cls(
            sizes,
            Runs.of(columns, groups.astype(np.int32)),
            tuple(_of_st(name, st, numbers) for name, st in release.sts.items()),
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes that can be asked about."""
        return (*self.qit.names, *(name for st in self.sts for name in st.names))

    def estimate(self, query: CountQuery) -> float:
        """The expected number of rows that satisfy a query."""
        require_known(query, self.names)
        weights = np.ones(len(self.sizes))
        # each condition on a sensitive attribute leaves a share of the group's rows
        for st in self.sts:
            if st.weigh(weights, query):
                weights /= self.sizes
        found = self.qit.total(weights, query)
        return float((weights * self.sizes).sum()) if found is None else found

    def estimates(self, queries: Iterable[CountQuery]) -> Floats:
        """The answers to many queries."""
        return np.array([self.estimate(query) for query in queries], np.float64)


def _of_st(name: str, st: pa.Table, numbers: Codes) -> Cells | GroupBits:
    keys = st[GROUP].to_numpy()
    groups = np.searchsorted(numbers, keys)
    if not np.array_equal(numbers[np.minimum(groups, len(numbers) - 1)], keys):
        raise DataError(f"the ST of {name!r} has groups that the QIT lacks", source=name)
    attribute, codes = encode(name, st.column(name))
    counts, places = st[COUNT].to_numpy(), groups.astype(np.int32)
    if fits_bits(attribute, codes, counts, places):
        return GroupBits.of(attribute, codes, places, len(numbers))
    return Cells.of_counts([(attribute, codes)], counts, places, len(numbers))
