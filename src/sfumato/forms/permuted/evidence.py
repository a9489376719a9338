"""A permuted table tells what QIT and ST tell, in one table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sfumato.core.arrays import Counts
from sfumato.core.histograms import Histograms
from sfumato.forms.anatomized.evidence import Anatomized, disorder, number_type
from sfumato.forms.anatomized.release import GROUP
from sfumato.forms.evidence import Numbered, other_columns, other_numbers, other_rows
from sfumato.forms.permuted.release import PermutedTable


@dataclass(frozen=True, slots=True, eq=False)
class Permuted:
    """The numbered groups of a permuted table."""

    release: PermutedTable

    @property
    def rows(self) -> int:
        """Published rows."""
        return int(self.release.table.num_rows)

    @property
    def sizes(self) -> Counts:
        """Rows with each group number."""
        return Numbered.of(self.release.table[GROUP].to_numpy()).times

    def flaws(self) -> Iterator[str]:
        """A table that is not as stated or ordered otherwise."""
        manifest, table = self.release.manifest, self.release.table
        stated = [column.name for column in manifest.columns]
        yield from other_columns(table.column_names, [*stated, GROUP], "the table")
        yield from other_rows(self.rows, manifest)
        yield from other_numbers(table, "the table", group_id=number_type(manifest))
        yield from disorder(table, "the table")
        if GROUP in table.column_names and not Numbered.of(table[GROUP].to_numpy()).in_turn:
            yield "groups are not numbered 1, 2, ..."

    def histograms(self, on: str) -> Histograms:
        """As in the ST that the table stands for."""
        return self._apart.histograms(on)

    def name(self, group: int) -> str:
        """By its number and size."""
        return self._apart.name(group)

    @property
    def _apart(self) -> Anatomized:
        return Anatomized(self.release.as_anatomized())
