"""The truth, for whoever has the microdata."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from sfumato.core.arrays import Floats
from sfumato.core.attribute import encode
from sfumato.core.microdata import Microdata
from sfumato.queries.count import CountQuery
from sfumato.queries.packing import is_codable, require_known
from sfumato.queries.runs import Runs


@dataclass(frozen=True, slots=True, eq=False)
class ExactCounts:
    """Answers of a table itself; prepared once, asked often."""

    rows: int
    table: Runs

    @classmethod
    def of(cls, table: Microdata) -> ExactCounts:
        """Prepare a table."""
        columns = [(table.attributes[name], table.codes[name]) for name in table.attributes]
        for name in table.schema.insensitive:
            column = table.insensitive.column(name)
            if is_codable(column.type):
                columns.append(encode(name, column))
        everyone = np.zeros(table.n_rows, np.int32)
        return cls(table.n_rows, Runs.of(columns, everyone))

    def estimate(self, query: CountQuery) -> float:
        """The number of rows that satisfy a query."""
        require_known(query, self.table.names)
        found = self.table.total(np.ones(1), query)
        return float(self.rows) if found is None else found

    def estimates(self, queries: Iterable[CountQuery]) -> Floats:
        """The answers to many queries."""
        return np.array([self.estimate(query) for query in queries], np.float64)
