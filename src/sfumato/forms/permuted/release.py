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
from typing import ClassVar

import numpy as np
import pyarrow as pa

from sfumato.core.arrays import Ints
from sfumato.core.histograms import Histograms
from sfumato.core.randomness import Randomness
from sfumato.core.schema import Role
from sfumato.forms.anatomized.release import COUNT, GROUP, AnatomizedTables, anatomized_tables
from sfumato.forms.columns import counts_table
from sfumato.forms.files import Files
from sfumato.forms.form import Shown
from sfumato.forms.manifest import Manifest, PublishedColumn, encoded
from sfumato.forms.published import Published


@dataclass(frozen=True, slots=True, eq=False, repr=False, weakref_slot=True)
class PermutedTable(Published):
    """The rows, and the manifest that explains them."""

    kind: ClassVar[str] = "permuted"
    stem: ClassVar[str] = "permuted"
    table: pa.Table
    manifest: Manifest

    @property
    def tables(self) -> tuple[pa.Table, ...]:
        """The one table."""
        return (self.table,)

    def as_anatomized(self) -> AnatomizedTables:
        """The same information as QIT and ST."""
        columns = self.manifest.of_role(Role.SENSITIVE)
        numbers, groups = np.unique(self.table[GROUP].to_numpy(), return_inverse=True)
        return AnatomizedTables(
            self.table.drop_columns([column.name for column in columns]),
            {column.name: _counted(column, self.table, numbers, groups) for column in columns},
            replace(self.manifest, kind=AnatomizedTables.kind),
        )

    @classmethod
    def read(cls, files: Files) -> PermutedTable:
        """Read the table of a release folder."""
        return cls(files.whole(cls.stem), files.manifest)


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
    return counts_table((GROUP, column.name, COUNT), numbers[seen.groups], seen)
