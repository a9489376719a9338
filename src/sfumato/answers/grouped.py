"""Answers from tables that share their groups, and from microdata.

Xiao, Tao: "Anatomy", section 1.2, for the estimate, and "Dynamic anonymization", Lemma 3, for the
bounds; group_bounds.py has both. Each table shows exactly how many rows of a group satisfy the
conditions on its own columns. Which rows those are is unknown to the others: to expect is that the
tables are independent, possible is everything. An answer that needs one table only is exact, and so
is every answer of microdata: one table in which all rows are one group.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.answers.answerer import Certain
from sfumato.answers.encoded import encoded_columns
from sfumato.answers.group_bounds import Found, Scope, require_all_there
from sfumato.answers.kernels import tally
from sfumato.answers.packing import Where
from sfumato.answers.rows import KeyCounts, Rows
from sfumato.answers.value_bounds import Choices
from sfumato.core.arrays import Counts
from sfumato.core.compiled import announce
from sfumato.core.microdata import Microdata
from sfumato.queries.columns import Catalog


@dataclass(frozen=True, slots=True, eq=False)
class GroupedTables(Certain):
    """Tables over the same groups of these sizes; the first is the largest."""

    catalog: Catalog
    sizes: Counts
    tables: tuple[Rows, ...]
    left_out: int = 0

    @classmethod
    def of_microdata(cls, table: Microdata) -> GroupedTables:
        """Prepare a table, for its owner."""
        announce(tally)
        columns = [(table.attributes[name], table.codes[name]) for name in table.attributes]
        others, refusals = encoded_columns(table.insensitive)
        everyone = Rows.of([*columns, *others], np.zeros(table.n_rows, np.int32), 1)
        catalog = Catalog.of_table(table).refusing(refusals)
        return cls(catalog, np.array([table.n_rows]), (everyone,))

    def find(self, where: Where) -> Found:
        """Count in the first table that is asked, within the scope of the others."""
        holder = next((table for table in self.tables if table.asked(where)), self.tables[0])
        scope = self._scope(where, holder)
        return Found(holder.tally(where, scope), scope, self.left_out)

    def counts_by(self, where: Where, name: str) -> KeyCounts:
        """Count in the table that has the attribute, within the scope of the others."""
        holder = self.holder(name)
        found = holder.tally_by(where, name, self._scope(where, holder))
        return found.with_left_out(self.left_out)

    def choices(self, where: Where, name: str, function: str) -> Choices:
        """Choose among the rows of the table that has the attribute."""
        require_all_there(self.left_out, function)
        holder = self.holder(name)
        return holder.choices(where, name, self._scope(where, holder))

    def holder(self, name: str) -> Rows:
        """The table that shows an attribute."""
        return next(table for table in self.tables if name in table.names)

    def _scope(self, where: Where, holder: Rows) -> Scope:
        scope = Scope.whole(self.sizes)
        for table in self.tables:
            if table is not holder and table.asked(where):
                scope = scope.within(table.tally(where, scope), self.sizes)
        return scope
