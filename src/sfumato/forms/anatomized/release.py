"""The anatomized release: QI values exactly, sensitive values apart, joined only by groups.

Xiao, Tao: "Anatomy", VLDB 2006, Definition 3. The QIT holds every row's quasi-identifiers and
insensitive values with its group; an ST holds how often each value of a sensitive attribute occurs
in each group. What the two tables say about a row is Lemma 1: a group's values with their shares.

Order tells nothing (the paper is silent, and a naive implementation leaks here): group numbers are
a random relabelling, rows are shuffled inside their group, records of an ST are in the order of the
values. With several sensitive attributes there is one ST each over the same groups; each value is
protected as its model says, and their combination not at all: which of a group's diseases goes with
which of its salaries is not published, but somebody who knows a person's disease may rule out rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pyarrow as pa

from sfumato.core.histograms import Histograms
from sfumato.core.microdata import Microdata
from sfumato.core.schema import Role, Schema
from sfumato.core.threads import in_threads
from sfumato.errors import ParameterError, SchemaError
from sfumato.forms.columns import counts_table, insensitive_columns
from sfumato.forms.files import Files
from sfumato.forms.form import Shown
from sfumato.forms.manifest import Manifest, PublishedColumn, describe_column
from sfumato.forms.published import Published

GROUP, COUNT = "group_id", "count"
_JOINED_ROWS = 65_536


@dataclass(frozen=True, slots=True, eq=False, repr=False, weakref_slot=True)
class AnatomizedTables(Published):
    """The QIT, one ST per sensitive attribute, and the manifest that explains them.

    ``files`` are the names that the STs' files have, if they are not the usual ones.
    """

    kind: ClassVar[str] = "anatomized"
    stem: ClassVar[str] = "qit"
    column_stem: ClassVar[str] = "st"
    ascending: ClassVar[str | None] = GROUP
    qit: pa.Table
    sts: Mapping[str, pa.Table]
    manifest: Manifest
    files: tuple[str, ...] = field(default=(), repr=False)

    @property
    def st(self) -> pa.Table:
        """The ST, where there is one sensitive attribute."""
        if len(self.sts) != 1:
            names = ", ".join(self.sts)
            raise ParameterError(f"there is an ST for each of {names}: use .sts", parameter="st")
        return next(iter(self.sts.values()))

    @property
    def _by_column(self) -> Mapping[str, pa.Table]:
        """The STs."""
        return self.sts

    @property
    def tables(self) -> tuple[pa.Table, ...]:
        """The QIT and the STs."""
        return (self.qit, *self.sts.values())

    @classmethod
    def read(cls, files: Files) -> AnatomizedTables:
        """Read the tables of a release folder."""
        manifest = files.manifest
        names = [column.name for column in manifest.of_role(Role.SENSITIVE)]
        sts, stems = files.by_column(cls.column_stem, names)
        return cls(files.whole(cls.stem), sts, manifest, stems)

    def join(self, sensitive: str | None = None) -> pa.RecordBatchReader:
        """Lemma 1: every row of the QIT with every value it may have, lazily.

        The last columns are the value, its count in the group, and its probability.
        """
        name = sensitive or self._only()
        st = self.sts[name]
        shown = pa.schema(
            [*self.qit.schema, st.schema.field(name), st.schema.field(COUNT),
             pa.field("probability", pa.float64())]
        )  # fmt: skip
        return pa.RecordBatchReader.from_batches(shown, self._joined(name, shown))

    def _only(self) -> str:
        if len(self.sts) != 1:
            raise ParameterError(
                f"name one of {', '.join(self.sts)}: join(sensitive=...)", parameter="sensitive"
            )
        return next(iter(self.sts))

    def _joined(self, name: str, shown: pa.Schema) -> Iterator[pa.RecordBatch]:
        st = self.sts[name]
        keys, counts = st[GROUP].to_numpy(), st[COUNT].to_numpy()
        sizes = np.bincount(keys, weights=counts)
        for low in range(0, self.qit.num_rows, _JOINED_ROWS):
            part = self.qit.slice(low, _JOINED_ROWS)
            groups = part[GROUP].to_numpy()
            first, last = (np.searchsorted(keys, groups, side) for side in ("left", "right"))
            repeats = last - first
            rows = np.repeat(np.arange(part.num_rows), repeats)
            within = np.arange(len(rows)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
            records = np.repeat(first, repeats) + within
            left, right = part.take(pa.array(rows)), st.take(pa.array(records))
            share = pa.array(counts[records] / sizes[keys[records]])
            columns = [*left.columns, right[name], right[COUNT], share]
            yield from pa.table(columns, schema=shown).to_batches()


def anatomized_tables(
    shown: Shown, groups: Mapping[str, Histograms]
) -> tuple[pa.Table, dict[str, pa.Table], tuple[PublishedColumn, ...]]:
    """The QIT, the STs, and the description of their columns.

    The partition's group numbers are published as they are, counted from 1.
    """
    table, rows = shown.table, shown.rows
    require_names(table.schema)
    qit = dict(
        zip(
            table.schema.quasi,
            in_threads(
                lambda attribute: attribute.decode(table.codes[attribute.name][rows]), table.quasi
            ),
            strict=True,
        )
    )
    qit.update(insensitive_columns(table, rows))
    qit[GROUP] = pa.array(shown.partition.published_groups() + np.int32(1))
    sts = {
        name: counts_table((GROUP, name, COUNT), seen.groups + np.int32(1), seen)
        for name, seen in groups.items()
    }
    return pa.table(qit), sts, _described(table)


def _described(table: Microdata) -> tuple[PublishedColumn, ...]:
    return (
        *(describe_column(attribute, Role.QUASI, "value") for attribute in table.quasi),
        *(describe_column(attribute, Role.SENSITIVE, "value") for attribute in table.sensitive),
        *(
            PublishedColumn(name, Role.INSENSITIVE, "value", (name,))
            for name in table.schema.insensitive
        ),
    )


def require_names(schema: Schema) -> None:
    """Raise unless there is a sensitive column, and no name that QIT and ST have for themselves."""
    if not schema.sensitive:
        raise SchemaError("an anatomized release needs a sensitive column; the schema names none")
    for name in (*schema.quasi, *schema.sensitive, *schema.insensitive):
        if name in (GROUP, COUNT):
            raise SchemaError(
                f"column {name!r} would clash with the {name} of QIT and ST; rename it", column=name
            )
