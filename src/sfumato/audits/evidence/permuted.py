"""A permuted table tells what QIT and ST tell, in one table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sfumato.audits.evidence.anatomized import Anatomized, disorder
from sfumato.audits.evidence.base import other_columns, other_rows
from sfumato.core.arrays import Counts
from sfumato.core.histograms import Histograms
from sfumato.releases.anatomized import GROUP
from sfumato.releases.permuted import PermutedTable


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
        return self._apart.sizes

    def flaws(self) -> Iterator[str]:
        """A table that is not as stated or ordered otherwise."""
        manifest, table = self.release.manifest, self.release.table
        stated = [column.name for column in manifest.columns]
        yield from other_columns(table.column_names, [*stated, GROUP], "the table")
        yield from other_rows(self.rows, manifest)
        yield from disorder(table, "the table")

    def histograms(self, on: str) -> Histograms:
        """As in the ST that the table stands for."""
        return self._apart.histograms(on)

    def name(self, group: int) -> str:
        """By its number and size."""
        return self._apart.name(group)

    @property
    def _apart(self) -> Anatomized:
        return Anatomized(self.release.as_anatomized())
