"""A masked table: rows that are alike on every quasi-identifier are a group, if that is promised.

Where it is not, every row stands for itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sfumato.core.arrays import Codes, Counts
from sfumato.core.histograms import Histograms
from sfumato.core.schema import Role
from sfumato.errors import SchemaError
from sfumato.forms.compact import number_lines
from sfumato.forms.evidence import codes_of, of_rows, other_columns, other_rows, sensitive_column
from sfumato.forms.masked.distortion import is_distortion
from sfumato.forms.masked.release import MaskedTable


@dataclass(frozen=True, slots=True, eq=False)
class Masked:
    """The rows of a masked table."""

    release: MaskedTable

    @property
    def rows(self) -> int:
        """Published rows."""
        return int(self.release.table.num_rows)

    @property
    def sizes(self) -> Counts:
        """Rows that are alike."""
        return np.bincount(self._groups).astype(np.int64, copy=False)

    def flaws(self) -> Iterator[str]:
        """Columns that are not as stated, or masked and not said how."""
        manifest, table = self.release.manifest, self.release.table
        stated = [column.name for column in manifest.columns]
        yield from other_columns(table.column_names, stated, "the table")
        yield from other_rows(self.rows, manifest)
        lines = [one.get("on") for one in manifest.promise if is_distortion(str(one.get("model")))]
        masked = [column.name for column in manifest.columns if column.form == "masked"]
        if lines != masked:
            yield "release.json does not say of each masked column, once and in order, how it was"

    def histograms(self, on: str) -> Histograms:
        """Sensitive values stand beside groups as they are."""
        column = sensitive_column(self.release.manifest, on)
        if column.form == "masked" or not self.release.hides:
            raise SchemaError(f"{on!r} is masked, or stands in no groups", column=on)
        attribute, codes = codes_of(column, self.release.table.column(on))
        groups = self._groups
        return Histograms.of_groups(attribute, codes, groups, int(groups.max()) + 1)

    def name(self, group: int) -> str:
        """By its size and what it shows."""
        if not self.release.hides:
            return f"row {group + 1:,}"
        first = int(np.argmax(self._groups == group))
        line = self.release.table.select(self._quasi).slice(first, 1).to_pylist()[0]
        cells = ", ".join(f"{name}={value}" for name, value in line.items())
        return f"the {of_rows(int(self.sizes[group]))} with {cells}"

    @property
    def _quasi(self) -> list[str]:
        return [column.name for column in self.release.manifest.of_role(Role.QUASI)]

    @property
    def _groups(self) -> Codes:
        if not self.release.hides:
            return np.arange(self.rows, dtype=np.int32)
        numbers, _ = number_lines(self.release.table.select(self._quasi))
        return numbers
