"""The join release: boxes around people of the microdata and of an external table alike.

Sacharidis, Mouratidis, Papadias: "k-Anonymity in the Presence of External Databases", TKDE 2010.
The JAT has one line per joined row that was kept, and all lines of a group are equal: nothing in
them, neither order nor number nor a null, tells which rows are of the microdata. Sensitive values
stand apart (section 3.2): the SI lists, for each sensitive group, the values of the microdata's
rows in it; every line of the JAT names the sensitive group that its box lies in. Without sensitive
columns the SI counts those rows. Releases made by Direct have no SI.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import ClassVar

import numpy as np
import pyarrow as pa

from sfumato.core.arrays import Codes, Counts
from sfumato.core.boxes import Boxes
from sfumato.core.histograms import Histograms
from sfumato.core.joined import Matching
from sfumato.core.schema import Role
from sfumato.errors import ParameterError, SchemaError
from sfumato.forms.columns import Columns, Labels, columns_of, counts_table
from sfumato.forms.compact import compact
from sfumato.forms.files import FileFormat, Files, Pieces
from sfumato.forms.manifest import Manifest, PublishedColumn, describe_column
from sfumato.forms.parts import parts_of
from sfumato.forms.published import Published
from sfumato.io.writing import printable

SENSITIVE_GROUP, COUNT = "sensitive_group", "count"
DIRECT, REFINEMENT = "direct", "refinement"  # the algorithms that make it, in release.json
EMPTY_LIST = "the external table is empty: this is plain k-anonymity"


@dataclass(frozen=True, slots=True)
class OwnFigures:
    """What only the owner may see; it is in memory alone, and in no file.

    ``ncp`` and ``discernibility`` count rows of the microdata only (section 3.3 of the paper);
    ``perimeter`` is the paper's raw NCP, None where a box has no perimeter.
    """

    matching: Matching
    ncp: float
    discernibility: int
    perimeter: float | None


@dataclass(frozen=True, slots=True, eq=False, repr=False, weakref_slot=True)
class JoinRelease(Published):
    """The JAT, the SI, and the manifest that explains them.

    ``groups`` holds the columns of the JAT once per group and ``group_of_row`` leads every line
    there; ``joined`` puts them together. ``sensitive_groups`` is the SI of each sensitive column,
    or the one of "" without any; it is empty for a release made by Direct. ``files`` are the names
    that the SIs' files have, if they are not the usual ones.
    """

    kind: ClassVar[str] = "joined"
    stem: ClassVar[str] = "joined"
    column_stem: ClassVar[str] = "sensitive_groups"
    groups: pa.Table
    group_of_row: Codes
    sis: Mapping[str, pa.Table]
    manifest: Manifest
    own: OwnFigures | None = field(default=None, repr=False)
    files: tuple[str, ...] = field(default=(), repr=False)

    @classmethod
    def read(cls, files: Files) -> JoinRelease:
        """Read the tables of a release folder."""
        manifest = files.manifest
        names = [*manifest.quasi_columns]
        sensitive = [column.name for column in manifest.of_role(Role.SENSITIVE)]
        sis: dict[str, pa.Table] = {}
        stems: tuple[str, ...] = ()
        if SENSITIVE_GROUP in dict(manifest.types):
            names.append(SENSITIVE_GROUP)
            sis, stems = files.by_column(cls.column_stem, sensitive or [""])
        pieces = files.pieces(cls.stem, coded=names)
        first = next(pieces)
        found = set(first.column_names)
        shown = [name for name in names if name in found]
        if len(shown) < len(found):
            # a column that is declared nowhere: left in, so that verify sees it
            shown = first.column_names
        groups, group_of_row, _ = compact(
            chain((first,), pieces), shown, lambda lines: files.typed(cls.stem, lines)
        )
        return cls(groups, group_of_row, sis, manifest, files=stems)

    @property
    def joined(self) -> pa.Table:
        """The JAT: all lines, those of a group one after another."""
        return pa.concat_tables(self._first("parquet"))

    @property
    def parts(self) -> list[int]:
        """The lines of the parts in which the JAT is written."""
        return parts_of(self.groups, self.group_of_row)

    def _first(self, format: FileFormat) -> Pieces:
        """The JAT; a set is turned into its text once, not in every line."""
        groups = printable(self.groups) if format == "csv" else self.groups
        low = 0
        for size in parts_of(groups, self.group_of_row):
            yield groups.take(pa.array(self.group_of_row[low : low + size]))
            low += size

    @property
    def sensitive_groups(self) -> pa.Table:
        """The SI, where there is one."""
        if not self.sis:
            raise ParameterError(
                "a release made by Direct has no sensitive groups; use Refinement",
                parameter="sensitive_groups",
            )
        if len(self.sis) > 1:
            raise ParameterError(
                f"there is one for each of {', '.join(self.sis)}: use .sis",
                parameter="sensitive_groups",
            )
        return next(iter(self.sis.values()))

    @property
    def _by_column(self) -> Mapping[str, pa.Table]:
        """The SIs."""
        return self.sis

    @property
    def tables(self) -> tuple[pa.Table, ...]:
        """The JAT, once for each group, and the SIs."""
        return (self.groups, *self.sis.values())


def joined_tables(
    boxes: Boxes, sensitive: Codes | None, labels: Labels
) -> tuple[pa.Table, tuple[PublishedColumn, ...]]:
    """The columns of the JAT, once per group, and their description."""
    shown: Columns = {}
    described: list[PublishedColumn] = []
    for side in boxes:
        form, columns = columns_of(side, labels)
        # not said to be tight: the ends are values of joined rows, maybe of none of the microdata
        described.append(describe_column(side.attribute, Role.QUASI, form, tuple(columns)))
        for name in columns:
            if name in shown or name == SENSITIVE_GROUP:
                raise SchemaError(
                    f"two published columns would be named {name!r}; rename one", column=name
                )
        shown.update(columns)
    if sensitive is not None:
        shown[SENSITIVE_GROUP] = pa.array(sensitive + np.int32(1))
    return pa.table(shown), tuple(described)


def sensitive_tables(
    sizes: Counts, groups: Mapping[str, Histograms]
) -> tuple[dict[str, pa.Table], tuple[PublishedColumn, ...]]:
    """The SI of every sensitive column, by sensitive group, then value; or the groups' sizes."""
    numbers = np.arange(1, len(sizes) + 1, dtype=np.int32)
    if not groups:
        counts = pa.table({SENSITIVE_GROUP: pa.array(numbers), COUNT: pa.array(sizes)})
        return {"": counts}, ()
    sis: dict[str, pa.Table] = {}
    described: list[PublishedColumn] = []
    for name, seen in groups.items():
        if name in (SENSITIVE_GROUP, COUNT):
            raise SchemaError(f"column {name!r} would clash with the SI's; rename it", column=name)
        assert seen.attribute is not None
        sis[name] = counts_table((SENSITIVE_GROUP, name, COUNT), seen.groups + np.int32(1), seen)
        described.append(describe_column(seen.attribute, Role.SENSITIVE, "value"))
    return sis, tuple(described)
