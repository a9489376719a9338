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

from sfumato.core._kernels import number_rows
from sfumato.core.arrays import Codes, Counts, Ints
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
    return _Generalized(release, _alike(release))


@dataclass(frozen=True, slots=True, eq=False)
class _Generalized:
    release: GeneralizedTable
    groups: Partition | None

    @property
    def rows(self) -> int:
        return int(self.release.table.num_rows)

    @property
    def sizes(self) -> Counts:
        return self.groups.sizes if self.groups is not None else np.zeros(0, np.int64)

    def flaws(self) -> Iterator[str]:
        manifest = self.release.manifest
        stated = [name for column in manifest.columns for name in column.columns]
        yield from _other_columns(self.release.table, stated, "the table")
        yield from _other_rows(self.rows, manifest)

    def histograms(self, on: str) -> Histograms:
        assert self.groups is not None
        column = _sensitive(self.release.manifest, on)
        attribute, codes = _encode(column, self.release.table.column(on))
        return Histograms.of_groups(attribute, codes, self.groups.groups, self.groups.n_groups)

    def name(self, group: int) -> str:
        assert self.groups is not None
        row = int(np.argmax(self.groups.groups == group))
        names = _quasi_columns(self.release.manifest)
        cells = (f"{name}={self.release.table.column(name)[row].as_py()}" for name in names)
        size = int(self.groups.sizes[group])
        return f"the {size} row{'s' if size != 1 else ''} with {', '.join(cells)}"


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
        yield from _other_columns(qit, [*others, GROUP], "the QIT")
        yield from _other_rows(self.rows, manifest)
        for name in sensitive:
            yield from _other_columns(self.release.sts[name], [GROUP, name, COUNT], "the ST")
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


def _other_columns(table: pa.Table, stated: list[str], where: str) -> Iterator[str]:
    for name in table.column_names:
        if name not in stated:
            yield f"column {name!r} is published but not declared in {where}"
    for name in stated:
        if name not in table.column_names:
            yield f"column {name!r} is declared but not published in {where}"


def _other_rows(rows: int, manifest: Manifest) -> Iterator[str]:
    if rows != manifest.rows or not rows:
        yield f"{manifest.rows:,} rows are stated, {rows:,} published"


def _alike(release: GeneralizedTable) -> Partition | None:
    """Rows alike on every quasi-identifying column, if these are there at all."""
    names = _quasi_columns(release.manifest)
    if not release.table.num_rows or not set(names) <= set(release.table.column_names):
        return None
    codes = [_plain_codes(release.table.column(name)) for name in names]
    sizes = np.array([column.max() + 1 for column in codes], np.int64)
    groups, _, _ = number_rows(np.stack(codes, axis=1), sizes)
    return Partition.of(groups)


def _quasi_columns(manifest: Manifest) -> list[str]:
    return [name for column in manifest.of_role(Role.QUASI) for name in column.columns]


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


def _plain_codes(column: pa.ChunkedArray) -> Codes:
    """A number per different cell, lists and nulls included."""
    array = column.combine_chunks()
    if pa.types.is_list(array.type):
        items = array.flatten().dictionary_encode(null_encoding="encode").indices.to_numpy()
        lengths = array.value_lengths().fill_null(0).to_numpy()
        return _number_lists(items.astype(np.int32), lengths.astype(np.int64))
    encoded = array.dictionary_encode(null_encoding="encode")
    return np.asarray(encoded.indices, np.int32)


def _number_lists(items: Codes, lengths: Counts) -> Codes:
    """A number per different list, by numbering prefixes until the longest list is read."""
    starts = np.cumsum(lengths) - lengths
    numbers = np.zeros(len(lengths), np.int32)
    for place in range(int(lengths.max(initial=0))):
        longer = np.flatnonzero(lengths > place)
        following = np.full(len(lengths), -1, np.int32)
        following[longer] = items[starts[longer] + place]
        pairs = np.stack([numbers, following + np.int32(1)], axis=1)
        numbers, _, _ = number_rows(pairs, pairs.max(axis=0).astype(np.int64) + 1)
    return numbers
