"""The masked release: one table, in which values were replaced in a way that is stated.

There is a column for every published attribute, under its own name: masked ones as the mask left
them, others exactly, and rows in random order. Whoever reads the table as if it were the microdata
makes the errors that the mask made; what is known of these is stated (distortion.py), and the
estimators here, and the answers to questions, take it back so far as that goes.

Only microaggregation is a promise: rows that are alike on every quasi-identifier are k or more.
Everything else that is stated describes what was done, and hides people as well as it happens to:
``sf.masking_risk`` measures that, for the owner.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import pyarrow as pa

from sfumato.core.arrays import Floats, Ints
from sfumato.core.microdata import Microdata
from sfumato.core.schema import Role
from sfumato.forms.columns import insensitive_columns
from sfumato.forms.files import Files
from sfumato.forms.manifest import Manifest, PublishedColumn, describe_column
from sfumato.forms.masked.distortion import SYNTHETIC, Distortion, distortions
from sfumato.forms.masked.moments import correlation, mean, variance
from sfumato.forms.published import Published
from sfumato.models.anonymity import KAnonymity


@dataclass(frozen=True, slots=True, eq=False, repr=False, weakref_slot=True)
class MaskedTable(Published):
    """The rows, and the manifest that explains them.

    ``origin`` is the row of the microdata that each row was made of. It is the owner's, for
    measuring risk: it is there where the release was made, and in no file.
    """

    kind: ClassVar[str] = "masked"
    stem: ClassVar[str] = "masked"
    table: pa.Table
    manifest: Manifest
    origin: Ints | None = field(default=None, repr=False)

    @property
    def tables(self) -> tuple[pa.Table, ...]:
        """The one table."""
        return (self.table,)

    @property
    def distortions(self) -> dict[str, Distortion]:
        """What is stated of each masked column."""
        return distortions(self.manifest)

    @property
    def hides(self) -> bool:
        """Whether rows that are alike are promised to be many."""
        return any(one.get("model") == KAnonymity.name for one in self.manifest.promise)

    @property
    def drawn(self) -> bool:
        """Whether rows are nobody's, but drawn from a model."""
        return any(one.get("model") == SYNTHETIC for one in self.manifest.promise)

    def mean(self, name: str) -> float:
        """The mean of a column of numbers, so far as it can be told."""
        return mean(self.table, self.distortions, name)

    def variance(self, name: str) -> float:
        """The variance of a column of numbers, without what the mask added or took away."""
        return variance(self.table, self.distortions, name)

    def correlation(self, one: str, other: str) -> float:
        """The correlation of two columns of numbers, corrected in the same way."""
        return correlation(self.table, self.distortions, one, other)

    def histogram(self, name: str, edges: Sequence[float]) -> Floats:
        """How many rows to expect from each edge up to the next, the last one included."""
        from sfumato.forms.masked.answers import expected_between

        return expected_between(self, name, edges)

    @classmethod
    def read(cls, files: Files) -> MaskedTable:
        """Read the table of a release folder."""
        return cls(files.whole(cls.stem), files.manifest)

    def __repr__(self) -> str:
        """Size and mask."""
        method, names = self.manifest.algorithm.get("name"), ", ".join(self.distortions)
        return f"MaskedTable({self.manifest.rows:,} rows, {method} of {names})"


def masked_table(
    table: Microdata, columns: dict[str, pa.Array], rows: Ints | None, order: Ints
) -> tuple[pa.Table, tuple[PublishedColumn, ...]]:
    """The rows in their published order, and the description of their columns.

    ``rows`` are the rows of the table that masked ones stand for. Where there are none, a column
    that is not masked would be another person's: it is left out.
    """
    shown: dict[str, pa.Array] = {}
    described: list[PublishedColumn] = []
    for role, attributes in ((Role.QUASI, table.quasi), (Role.SENSITIVE, table.sensitive)):
        for attribute in attributes:
            name = attribute.name
            if name in columns:
                shown[name] = columns[name].take(pa.array(order))
                described.append(describe_column(attribute, role, "masked"))
            elif rows is not None:
                shown[name] = attribute.decode(table.codes[name][rows[order]])
                described.append(describe_column(attribute, role, "value"))
    if rows is not None:
        shown.update(insensitive_columns(table, rows[order]))
        described += (
            PublishedColumn(name, Role.INSENSITIVE, "value", (name,))
            for name in table.schema.insensitive
        )
    return pa.table(shown), tuple(described)
