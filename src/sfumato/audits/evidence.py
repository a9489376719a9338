"""What a release's files say about its groups, whatever their form.

A generalized table shows groups as rows that are alike on every quasi-identifying column; an
anatomized release numbers them and counts their values in the STs, a permuted one shows them. All
come down to histograms. In a perturbed table every row stands for itself, and its own value is not
there to be counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core.arrays import Counts
from sfumato.core.histograms import Histograms
from sfumato.core.partition import Partition
from sfumato.core.schema import Role
from sfumato.errors import SchemaError
from sfumato.releases.anatomized import COUNT, GROUP, AnatomizedTables
from sfumato.releases.compact import number_lines
from sfumato.releases.generalized import GeneralizedTable
from sfumato.releases.load import Release
from sfumato.releases.manifest import Manifest, PublishedColumn, encoded
from sfumato.releases.permuted import PermutedTable
from sfumato.releases.perturbed import PerturbedTable


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
    if isinstance(release, PermutedTable):
        return _Permuted(release)
    if isinstance(release, PerturbedTable):
        return _Perturbed(release)
    return _Generalized(release)


def evidence_within(release: Release, names: object) -> Evidence:
    """The same rows, grouped by some of the quasi-identifiers only, as release.json names them."""
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise SchemaError("it does not name the columns that it is about")
    if not isinstance(release, GeneralizedTable):
        raise SchemaError("only a generalized release can promise something about some columns")
    columns = [one for one in release.manifest.of_role(Role.QUASI) if one.name in names]
    if not names or len(columns) < len(set(names)):
        raise SchemaError(f"it is about {', '.join(names)}, which are not all published")
    lines = release.groups.select([name for one in columns for name in one.columns])
    numbers, first = number_lines(lines)
    alike = lines.take(pa.array(first))
    grouped = replace(release, groups=alike, group_of_row=numbers[release.group_of_row])
    return _Generalized(grouped)


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
        attribute, codes = encoded(column, self.release.rows.column(on))
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
        yield from _disorder(qit, "the QIT")
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
        attribute, codes = encoded(_sensitive(self.release.manifest, name), st.column(name))
        if np.any(np.diff(places.astype(np.int64) * attribute.size + codes) <= 0):
            yield f"records of the ST of {name!r} are not in the order of groups and values"

    def histograms(self, on: str) -> Histograms:
        st = self.release.sts[_sensitive(self.release.manifest, on).name]
        attribute, codes = encoded(_sensitive(self.release.manifest, on), st.column(on))
        _, groups = np.unique(st[GROUP].to_numpy(), return_inverse=True)
        matrix_keys = groups.astype(np.int64) * attribute.size + codes
        return Histograms.of_keys(
            attribute, matrix_keys, st[COUNT].to_numpy(), int(groups.max()) + 1
        )

    def name(self, group: int) -> str:
        number = int(np.unique(self.release.qit[GROUP].to_numpy())[group])
        size = int(self.sizes[group])
        return f"group {number} of {size} row{'s' if size != 1 else ''}"


@dataclass(frozen=True, slots=True, eq=False)
class _Permuted:
    release: PermutedTable

    @property
    def rows(self) -> int:
        return int(self.release.table.num_rows)

    @property
    def sizes(self) -> Counts:
        return self._apart.sizes

    def flaws(self) -> Iterator[str]:
        manifest, table = self.release.manifest, self.release.table
        stated = [column.name for column in manifest.columns]
        yield from _other_columns(table.column_names, [*stated, GROUP], "the table")
        yield from _other_rows(self.rows, manifest)
        yield from _disorder(table, "the table")

    def histograms(self, on: str) -> Histograms:
        return self._apart.histograms(on)

    def name(self, group: int) -> str:
        return self._apart.name(group)

    @property
    def _apart(self) -> _Anatomized:
        return _Anatomized(self.release.as_anatomized())


@dataclass(frozen=True, slots=True, eq=False)
class _Perturbed:
    release: PerturbedTable

    @property
    def rows(self) -> int:
        return int(self.release.table.num_rows)

    @property
    def sizes(self) -> Counts:
        return np.ones(self.rows, np.int64)

    def flaws(self) -> Iterator[str]:
        manifest, table = self.release.manifest, self.release.table
        stated = [column.name for column in manifest.columns]
        yield from _other_columns(table.column_names, stated, "the table")
        yield from _other_rows(self.rows, manifest)
        promised = {stated.get("on") for stated in manifest.promise}
        for name, domain in self.release.domains.items():
            if name not in promised:
                yield f"nothing is promised of {name!r}"
            yield from _other_columns(domain.column_names, [name], f"the domain of {name!r}")
            if name in domain.column_names and name in table.column_names:
                yield from self._strange_values(name)

    def _strange_values(self, name: str) -> Iterator[str]:
        domain, shown = (held[name] for held in (self.release.domains[name], self.release.table))
        if len(pc.unique(domain)) < len(domain):
            yield f"the domain of {name!r} names a value twice"
        if not pc.all(pc.is_in(shown, domain.combine_chunks())).as_py():
            yield f"{name!r} shows a value that its domain lacks"

    def histograms(self, on: str) -> Histograms:
        raise SchemaError(
            f"{on!r} is perturbed: rows do not show their own values, so they cannot be counted",
            column=on,
        )

    def name(self, group: int) -> str:
        return f"row {group + 1:,}"


def _disorder(table: pa.Table, where: str) -> Iterator[str]:
    if GROUP in table.column_names and np.any(np.diff(table[GROUP].to_numpy()) < 0):
        yield f"rows of {where} are not ordered by group, so their order may tell something"


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
