"""Rows alike on every quasi-identifying column are a group, whoever made it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from sfumato.core.arrays import Counts
from sfumato.core.histograms import Histograms
from sfumato.core.schema import Role
from sfumato.errors import SchemaError
from sfumato.forms.compact import number_lines
from sfumato.forms.evidence import codes_of, of_rows, other_columns, other_rows
from sfumato.forms.evidence import sensitive_column as sensitive
from sfumato.forms.generalized.release import GeneralizedTable
from sfumato.forms.manifest import Manifest


@dataclass(frozen=True, slots=True, eq=False)
class Generalized:
    """The boxes of a generalized table."""

    release: GeneralizedTable

    @property
    def rows(self) -> int:
        """Published rows."""
        return len(self.release.group_of_row)

    @property
    def sizes(self) -> Counts:
        """Rows of each box."""
        return self.release.sizes

    def flaws(self) -> Iterator[str]:
        """Columns and rows that are not as stated."""
        release, numbers = self.release, self.release.group_of_row
        found = [*release.groups.column_names, *release.rows.column_names]
        runs = int(np.count_nonzero(numbers[1:] != numbers[:-1])) + 1
        yield from table_flaws(release.manifest, found, self.rows, runs, release.groups.num_rows)

    def histograms(self, on: str) -> Histograms:
        """Values stand in the rows as they are."""
        column = sensitive(self.release.manifest, on)
        attribute, codes = codes_of(column, self.release.rows.column(on))
        groups = self.release.group_of_row
        return Histograms.of_groups(attribute, codes, groups, self.release.groups.num_rows)

    def name(self, group: int) -> str:
        """By its size and its box."""
        line = self.release.groups.slice(group, 1).to_pylist()[0]
        cells = ", ".join(f"{name}={value}" for name, value in line.items())
        return f"the {of_rows(int(self.sizes[group]))} with {cells}"


def table_flaws(
    manifest: Manifest, found: list[str], rows: int, runs: int, groups: int
) -> Iterator[str]:
    """What is wrong with a table of these columns and rows, whose groups stand in so many runs."""
    stated = [name for column in manifest.columns for name in column.columns]
    yield from other_columns(found, stated, "the table")
    yield from other_rows(rows, manifest)
    if runs > groups:
        yield "rows of a group do not stand together, so their order may tell something"


def within(release: GeneralizedTable, names: list[str]) -> Generalized:
    """The same rows, grouped by some of the quasi-identifiers only."""
    columns = [one for one in release.manifest.of_role(Role.QUASI) if one.name in names]
    if not names or len(columns) < len(set(names)):
        raise SchemaError(f"it is about {', '.join(names)}, which are not all published")
    lines = release.groups.select([name for one in columns for name in one.columns])
    numbers, first = number_lines(lines)
    alike = lines.take(pa.array(first))
    return Generalized(replace(release, groups=alike, group_of_row=numbers[release.group_of_row]))
