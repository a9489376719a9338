"""Groups that are numbered in the QIT and counted, value by value, in the STs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sfumato.core.arrays import Counts
from sfumato.core.histograms import Histograms
from sfumato.core.schema import Role
from sfumato.forms.anatomized.release import COUNT, GROUP, AnatomizedTables
from sfumato.forms.evidence import (
    Numbered,
    codes_of,
    of_rows,
    other_columns,
    other_numbers,
    other_rows,
)
from sfumato.forms.evidence import sensitive_column as column_of
from sfumato.forms.manifest import Manifest


@dataclass(frozen=True, slots=True, eq=False)
class Anatomized:
    """The groups of QIT and STs."""

    release: AnatomizedTables

    @property
    def rows(self) -> int:
        """Rows of the QIT."""
        return int(self.release.qit.num_rows)

    @property
    def sizes(self) -> Counts:
        """Rows of the QIT with each group number."""
        return Numbered.of(self.release.qit[GROUP].to_numpy()).times

    def flaws(self) -> Iterator[str]:
        """Tables that are not as stated, are ordered otherwise, or do not fit together."""
        manifest, qit = self.release.manifest, self.release.qit
        sensitive = [column.name for column in manifest.of_role(Role.SENSITIVE)]
        others = [column.name for column in manifest.columns if column.role != Role.SENSITIVE]
        yield from other_columns(qit.column_names, [*others, GROUP], "the QIT")
        yield from other_rows(self.rows, manifest)
        for name in sensitive:
            yield from other_columns(
                self.release.sts[name].column_names, [GROUP, name, COUNT], "the ST"
            )
        number = number_type(manifest)
        yield from other_numbers(qit, "the QIT", group_id=number)
        for name in sensitive:
            st = self.release.sts[name]
            yield from other_numbers(st, f"the ST of {name!r}", group_id=number, count=pa.int64())
        yield from disorder(qit, "the QIT")
        for name in sensitive:
            yield from self._misfits(name)

    def _misfits(self, name: str) -> Iterator[str]:
        """Ways in which an ST does not fit the QIT."""
        st = self.release.sts[name]
        if (
            set(st.column_names) != {GROUP, name, COUNT}
            or GROUP not in self.release.qit.column_names
        ):
            return
        qit = Numbered.of(self.release.qit[GROUP].to_numpy())
        keys, counts = st[GROUP].to_numpy(), st[COUNT].to_numpy()
        found = Numbered.of(keys)
        totals = np.bincount(found.places, weights=counts).astype(np.int64)
        if not qit.in_turn:
            yield "groups of the QIT are not numbered 1, 2, ..."
        if not np.array_equal(qit.numbers, found.numbers):
            yield f"the QIT and the ST of {name!r} have different groups"
        elif not np.array_equal(qit.times, totals):
            wrong = int(qit.numbers[np.argmax(qit.times != totals)])
            yield f"group {wrong} has more or fewer rows in the QIT than in the ST of {name!r}"
        if np.any(counts < 1):
            yield f"the ST of {name!r} counts a value less than once"
        attribute, codes = codes_of(column_of(self.release.manifest, name), st.column(name))
        if np.any(np.diff(found.places * attribute.size + codes) <= 0):
            yield f"records of the ST of {name!r} are not in the order of groups and values"

    def histograms(self, on: str) -> Histograms:
        """The ST of a column."""
        st = self.release.sts[column_of(self.release.manifest, on).name]
        attribute, codes = codes_of(column_of(self.release.manifest, on), st.column(on))
        found = Numbered.of(st[GROUP].to_numpy())
        keys = found.places * attribute.size + codes
        return Histograms.of_keys(attribute, keys, st[COUNT].to_numpy(), len(found.numbers))

    def name(self, group: int) -> str:
        """By its number and size."""
        number = int(Numbered.of(self.release.qit[GROUP].to_numpy()).numbers[group])
        return f"group {number} of {of_rows(int(self.sizes[group]))}"


def number_type(manifest: Manifest) -> pa.DataType:
    """The type of group numbers."""
    return pa.int32() if manifest.groups < 2**31 else pa.int64()


def disorder(table: pa.Table, where: str) -> Iterator[str]:
    """Rows that do not stand by group."""
    if GROUP in table.column_names and np.any(np.diff(table[GROUP].to_numpy()) < 0):
        yield f"rows of {where} are not ordered by group, so their order may tell something"
