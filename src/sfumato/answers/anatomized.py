"""Answers from QIT and ST, and from microdata.

Xiao, Tao: "Anatomy", section 1.2, for the estimate, and "Dynamic anonymization", Lemma 3, for the
bounds; group_bounds.py has both. Tables of one release share their groups: in each group the QIT
shows exactly which rows satisfy the conditions on quasi-identifiers, and every ST how many have a
wanted sensitive value. Which rows those are is unknown, also between the STs of several sensitive
attributes: to expect is that they are independent, possible is everything. Insensitive attributes
stand in the QIT and count like quasi-identifiers. An answer that needs one table only is exact, and
so is every answer of microdata: one table in which all rows are one group.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sfumato.answers.catalogs import catalog_of, encoded_columns
from sfumato.answers.group_bounds import Found, Scope, require_all_there
from sfumato.answers.kernels import tally
from sfumato.answers.packing import Where
from sfumato.answers.rows import KeyCounts, Rows
from sfumato.answers.value_bounds import Choices
from sfumato.core.arrays import Codes, Counts, Ints
from sfumato.core.attribute import encode
from sfumato.core.compiled import announce
from sfumato.core.microdata import Microdata
from sfumato.core.query import Function
from sfumato.errors import DataError
from sfumato.queries.columns import Catalog
from sfumato.releases.anatomized import COUNT, GROUP, AnatomizedTables


@dataclass(frozen=True, slots=True, eq=False)
class GroupedTables:
    """Tables over the same groups of these sizes; the first is the largest."""

    catalog: Catalog
    sizes: Counts
    tables: tuple[Rows, ...]
    left_out: int = 0

    @classmethod
    def of_release(cls, release: AnatomizedTables) -> GroupedTables:
        """Prepare a release; only its tables and its manifest are read."""
        announce(tally)
        numbers, groups = _numbered(release.qit[GROUP].to_numpy())
        sizes = np.bincount(groups)
        shown = release.qit.drop_columns([GROUP])
        encoded = encoded_columns(shown)
        qit = Rows.of(encoded.columns, groups, len(sizes))
        sts = (_of_st(name, st, numbers) for name, st in release.sts.items())
        fields = [*shown.schema, *(st.schema.field(name) for name, st in release.sts.items())]
        catalog = catalog_of(release.manifest, fields).refusing(encoded.refusals)
        return cls(catalog, sizes, (qit, *sts), release.manifest.suppressed)

    @classmethod
    def of_microdata(cls, table: Microdata) -> GroupedTables:
        """Prepare a table, for whoever owns it."""
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
        holder = self._holder(name)
        found = holder.tally_by(where, name, self._scope(where, holder))
        return found.with_left_out(self.left_out)

    def choices(self, where: Where, name: str, function: Function) -> Choices:
        """Choose among the rows of the table that has the attribute."""
        require_all_there(self.left_out, function)
        holder = self._holder(name)
        return holder.choices(where, name, self._scope(where, holder))

    def _holder(self, name: str) -> Rows:
        return next(table for table in self.tables if name in table.names)

    def _scope(self, where: Where, holder: Rows) -> Scope:
        scope = Scope.whole(self.sizes)
        for table in self.tables:
            if table is not holder and table.asked(where):
                scope = scope.within(table.tally(where, scope), self.sizes)
        return scope


def _numbered(groups: Ints) -> tuple[Ints, Codes]:
    """The different group numbers, and which of them each row has; rows of a group often follow."""
    changes = np.diff(groups)
    if (changes >= 0).all():
        heads = np.append(True, changes > 0)
        return groups[heads], (np.cumsum(heads) - 1).astype(np.int32)
    numbers, places = np.unique(groups, return_inverse=True)
    return numbers, places.astype(np.int32)


def _of_st(name: str, st: pa.Table, numbers: Ints) -> Rows:
    known, places = _numbered(st[GROUP].to_numpy())
    groups = np.searchsorted(numbers, known)
    if not np.array_equal(numbers[np.minimum(groups, len(numbers) - 1)], known):
        raise DataError(f"the ST of {name!r} has groups that the QIT lacks", source=name)
    columns = [encode(name, st.column(name))]
    return Rows.of(columns, groups.astype(np.int32)[places], len(numbers), st[COUNT].to_numpy())
