"""The permuted release: one table in which the sensitive values of a group are shuffled.

Zhang, Koudas, Srivastava, Yu: "Aggregate query answering on anonymized tables", ICDE 2007; the
slides list permutation beside anatomization. Rows show their group, and their quasi-identifiers and
insensitive values exactly; each sensitive attribute is shuffled inside the groups, independently of
the others. So a row has each value of its group with the value's share in it, which is what QIT and
ST say (Anatomy, Lemma 1): ``as_anatomized`` counts the values, and models, answers and audits are
those of an anatomized release. What is gained is one table that any program reads as if it were the
microdata; only what goes with what inside a group is not true.

Rows follow each other by group, in random order inside it. Whether values were really shuffled
cannot be seen in the files.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from sfumato.core.arrays import Ints
from sfumato.core.askable import Askable
from sfumato.core.histograms import Histograms
from sfumato.core.randomness import Randomness
from sfumato.core.schema import Role
from sfumato.forms.anatomized.release import COUNT, GROUP, AnatomizedTables, anatomized_tables
from sfumato.forms.files import FileFormat, Files, write_release
from sfumato.forms.form import Shown
from sfumato.forms.manifest import Manifest, PublishedColumn, encoded
from sfumato.forms.remembering import remembered

STEM = "permuted"


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class PermutedTable(Askable):
    """The rows, and the manifest that explains them."""

    kind: ClassVar[str] = "permuted"
    table: pa.Table
    manifest: Manifest

    @property
    def tables(self) -> tuple[pa.Table, ...]:
        """The one table."""
        return (self.table,)

    @property
    def stems(self) -> tuple[str, ...]:
        """Names of its tables' files, without the format."""
        return (STEM,)

    @property
    def metrics(self) -> dict[str, Any]:
        """What was lost."""
        return self.manifest.metrics

    def as_anatomized(self) -> AnatomizedTables:
        """The same information as QIT and ST."""
        columns = self.manifest.of_role(Role.SENSITIVE)
        numbers, groups = np.unique(self.table[GROUP].to_numpy(), return_inverse=True)
        return AnatomizedTables(
            self.table.drop_columns([column.name for column in columns]),
            {column.name: _counted(column, self.table, numbers, groups) for column in columns},
            replace(self.manifest, kind=AnatomizedTables.kind),
        )

    @remembered
    def write(
        self,
        path: str | Path,
        *,
        force: bool = False,
        format: FileFormat = "parquet",
        experiment: bool = False,
    ) -> Path:
        """Write a release folder, whole or not at all; see ``write_release``."""
        return write_release(
            path,
            {STEM: self.table},
            self.manifest,
            force=force,
            format=format,
            experiment=experiment,
        )

    @classmethod
    def read(cls, files: Files) -> PermutedTable:
        """Read the table of a release folder."""
        return cls(files.whole(STEM), files.manifest)

    def __repr__(self) -> str:
        """Sizes and promise."""
        promised = " & ".join(str(part.get("model")) for part in self.manifest.promise)
        return (
            f"PermutedTable({self.manifest.rows:,} rows in {self.manifest.groups:,} groups, "
            f"{promised})"
        )


def permuted_table(
    shown: Shown, randomness: Randomness
) -> tuple[pa.Table, tuple[PublishedColumn, ...]]:
    """The rows, and the description of their columns."""
    permuted, _, described = anatomized_tables(shown, {})
    for attribute in shown.table.sensitive:
        # a random order of its own: nothing leads from a value to the row it came from
        rows = shown.partition.published_order(randomness.half_words(len(shown.rows)))
        values = attribute.decode(shown.table.codes[attribute.name][rows])
        permuted = permuted.append_column(attribute.name, values)
    return permuted, described


def _counted(column: PublishedColumn, table: pa.Table, numbers: Ints, groups: Ints) -> pa.Table:
    """The ST of an attribute: groups have these numbers, rows are in these groups."""
    attribute, codes = encoded(column, table.column(column.name))
    seen = Histograms.of_groups(attribute, codes, groups.astype(np.int32), len(numbers))
    return pa.table(
        {
            GROUP: pa.array(numbers[seen.groups]),
            column.name: attribute.decode(seen.values),
            COUNT: pa.array(seen.counts),
        }
    )
