"""COUNT estimated from a generalized table.

Xiao, Tao: "Anatomy", section 1.1, after LeFevre et al.: rows lie uniformly in their box, attribute
by attribute, so each row contributes the share of its box that satisfies the conditions on
quasi-identifiers (sides.py says how shares are counted):

    sum over rows with the wanted sensitive values of (product over attributes of the side's share)

Rows of equal boxes contribute alike, so the products are made once per box. Sensitive and
insensitive values stand in the rows as they are: conditions on them are exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from sfumato.core.arrays import Codes, Floats
from sfumato.core.attribute import encode
from sfumato.core.compiled import announce
from sfumato.core.schema import Role
from sfumato.queries._kernels import weigh
from sfumato.queries.cells import Cells
from sfumato.queries.count import CountQuery
from sfumato.queries.packing import is_codable, require_known
from sfumato.queries.sides import Sides, read_sides
from sfumato.releases.generalized import GeneralizedTable


@dataclass(frozen=True, slots=True, eq=False)
class GeneralizedEstimator:
    """The published boxes of a generalized release, prepared once, asked often.

    ``sides`` has, for every quasi-identifier, its different sides and which of them each box has.
    """

    sizes: Floats
    sides: Mapping[str, tuple[Sides, Codes]]
    cells: Cells

    @classmethod
    def of(cls, release: GeneralizedTable) -> GeneralizedEstimator:
        """Prepare a release; only published columns are read."""
        announce(weigh)
        boxes, rows, manifest = release.groups, release.rows, release.manifest
        exact = [
            encode(column.name, rows.column(column.name))
            for column in (*manifest.of_role(Role.SENSITIVE), *manifest.of_role(Role.INSENSITIVE))
            if is_codable(rows.schema.field(column.name).type)
        ]
        return cls(
            np.bincount(release.group_of_row, minlength=boxes.num_rows).astype(np.float64),
            {column.name: read_sides(column, boxes) for column in manifest.of_role(Role.QUASI)},
            Cells.of_equals(exact, release.group_of_row, boxes.num_rows),
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes that can be asked about."""
        return (*self.sides, *self.cells.names)

    def estimate(self, query: CountQuery) -> float:
        """The expected number of rows that satisfy a query."""
        require_known(query, self.names)
        weights = np.ones(len(self.sizes))
        for name, (sides, of_box) in self.sides.items():
            if name in query.conditions:
                weights *= sides.shares(query.conditions[name])[of_box]
        if not self.cells.weigh(weights, query):
            weights *= self.sizes
        return float(weights.sum())

    def estimates(self, queries: Iterable[CountQuery]) -> Floats:
        """The answers to many queries."""
        return np.array([self.estimate(query) for query in queries], np.float64)
