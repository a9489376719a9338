"""What a release's files say about its groups, whatever their form.

A generalized table shows groups as rows that are alike on every quasi-identifying column; an
anatomized release numbers them and counts their values in the STs. Both come down to histograms.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa

from sfumato.core.arrays import Counts, Ints
from sfumato.core.attribute import Attribute, Kind, encode
from sfumato.core.histograms import Histograms
from sfumato.core.partition import Partition
from sfumato.core.schema import Role
from sfumato.core.taxonomy import Taxonomy
from sfumato.errors import SchemaError
from sfumato.releases.anatomized import COUNT, GROUP, AnatomizedTables
from sfumato.releases.generalized import GeneralizedTable
from sfumato.releases.load import Release
from sfumato.releases.manifest import Manifest, PublishedColumn


class Evidence(Protocol):
    """The seam between the forms of a release and the models."""

    @property
    def rows(self) -> int:
        """Published rows."""
        ...

    @property
    def sizes(self) -> Counts:
        """Rows of each group."""
        ...

    def flaws(self) -> Iterator[str]:
        """Ways in which the tables are not what release.json says, or do not fit together."""
        ...

    def histograms(self, on: str) -> Histograms:
        """Counts of a sensitive attribute's values in each group."""
        ...

    def name(self, group: int) -> str:
        """A group in words, by what is published of it."""
        ...


def evidence_of(release: Release) -> Evidence:
    """Read the groups of a release."""
    if isinstance(release, AnatomizedTables):
        return _Anatomized(release)
    return _Generalized(release)


@dataclass(frozen=True, slots=True, eq=False)
class _Generalized:
    """Rows alike on every quasi-identifying column are a group, whoever made it."""

    release: GeneralizedTable

    @property
    def rows(self) -> int:
        return len(self.release.group_of_row)

    @property
    def sizes(self) -> Counts:
        return self._partition.sizes

    @property
    def _partition(self) -> Partition:
        return Partition.of(self.release.group_of_row)

    def flaws(self) -> Iterator[str]:
        manifest, release = self.release.manifest, self.release
        stated = [name for column in manifest.columns for name in column.columns]
        found = [*release.groups.column_names, *release.rows.column_names]
        yield from _other_columns(found, stated, "the table")
        yield from _other_rows(self.rows, manifest)

    def histograms(self, on: str) -> Histograms:
        column = _sensitive(self.release.manifest, on)
        attribute, codes = _encode(column, self.release.rows.column(on))
        groups = self.release.group_of_row
        return Histograms.of_groups(attribute, codes, groups, self.release.groups.num_rows)

    def name(self, group: int) -> str:
        line = self.release.groups.slice(group, 1).to_pylist()[0]
        cells = ", ".join(f"{name}={value}" for name, value in line.items())
        size = int(self.sizes[group])
        return f"the {size} row{'s' if size != 1 else ''} with {cells}"


@dataclass(frozen=True, slots=True, eq=False)
class _Anatomized:
    release: AnatomizedTables

    @property
    def rows(self) -> int:
        return int(self.release.qit.num_rows)

    @property
    def sizes(self) -> Counts:
        _, sizes = np.unique(self.release.qit[GROUP].to_numpy(), return_counts=True)
        return sizes

    def flaws(self) -> Iterator[str]:
        manifest, qit = self.release.manifest, self.release.qit
        sensitive = [column.name for column in manifest.of_role(Role.SENSITIVE)]
        others = [column.name for column in manifest.columns if column.name not in sensitive]
        yield from _other_columns(qit.column_names, [*others, GROUP], "the QIT")
        yield from _other_rows(self.rows, manifest)
        for name in sensitive:
            yield from _other_columns(
                self.release.sts[name].column_names, [GROUP, name, COUNT], "the ST"
            )
        if GROUP in qit.column_names and np.any(np.diff(qit[GROUP].to_numpy()) < 0):
            yield "rows of the QIT are not ordered by group, so their order may tell something"
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
        groups, sizes = np.unique(self.release.qit[GROUP].to_numpy(), return_counts=True)
        keys, counts = st[GROUP].to_numpy(), st[COUNT].to_numpy()
        found, places = np.unique(keys, return_inverse=True)
        totals = np.bincount(places, weights=counts).astype(np.int64)
        if not np.array_equal(groups, found):
            yield f"the QIT and the ST of {name!r} have different groups"
        elif not np.array_equal(sizes, totals):
            wrong = int(groups[np.argmax(sizes != totals)])
            yield f"group {wrong} has more or fewer rows in the QIT than in the ST of {name!r}"
        if np.any(counts < 1):
            yield f"the ST of {name!r} counts a value less than once"
        attribute, codes = _encode(_sensitive(self.release.manifest, name), st.column(name))
        if np.any(np.diff(places.astype(np.int64) * attribute.size + codes) <= 0):
            yield f"records of the ST of {name!r} are not in the order of groups and values"

    def histograms(self, on: str) -> Histograms:
        st = self.release.sts[_sensitive(self.release.manifest, on).name]
        attribute, codes = _encode(_sensitive(self.release.manifest, on), st.column(on))
        _, groups = np.unique(st[GROUP].to_numpy(), return_inverse=True)
        matrix_keys = groups.astype(np.int64) * attribute.size + codes
        return Histograms.of_keys(
            attribute, matrix_keys, st[COUNT].to_numpy(), int(groups.max()) + 1
        )

    def name(self, group: int) -> str:
        number = int(np.unique(self.release.qit[GROUP].to_numpy())[group])
        size = int(self.sizes[group])
        return f"group {number} of {size} row{'s' if size != 1 else ''}"


def _other_columns(found: list[str], stated: list[str], where: str) -> Iterator[str]:
    for name in found:
        if name not in stated:
            yield f"column {name!r} is published but not declared in {where}"
    for name in stated:
        if name not in found:
            yield f"column {name!r} is declared but not published in {where}"


def _other_rows(rows: int, manifest: Manifest) -> Iterator[str]:
    if rows != manifest.rows or not rows:
        yield f"{manifest.rows:,} rows are stated, {rows:,} published"


def _sensitive(manifest: Manifest, on: str) -> PublishedColumn:
    for column in manifest.of_role(Role.SENSITIVE):
        if column.name == on:
            return column
    raise SchemaError(f"it is about {on!r}, which is not published as sensitive", column=on)


def _encode(column: PublishedColumn, published: pa.ChunkedArray) -> tuple[Attribute, Ints]:
    taxonomy = Taxonomy.from_nested(column.taxonomy) if column.taxonomy else None
    return encode(
        column.name,
        published,
        kind=Kind(column.kind) if column.kind else None,
        order=column.order,
        taxonomy=taxonomy,
    )
