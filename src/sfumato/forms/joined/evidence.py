"""A join release: lines of the JAT that are alike, and sensitive groups that the SI counts.

The lines of a group must not differ in anything, nor stand apart from each other: whatever sets one
of them off could mark it as a row of the microdata. JAT and SI share the sensitive groups, and of
every box of the JAT one line at least is of the microdata, all of them at most.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.core.arrays import Counts
from sfumato.core.histograms import Histograms
from sfumato.core.schema import Role
from sfumato.errors import SchemaError
from sfumato.forms.compact import number_lines
from sfumato.forms.evidence import (
    codes_of,
    of_rows,
    other_columns,
    other_numbers,
    other_rows,
    sensitive_column,
)
from sfumato.forms.joined.release import COUNT, DIRECT, SENSITIVE_GROUP, JoinRelease
from sfumato.forms.manifest import Manifest, PublishedColumn


@dataclass(frozen=True, slots=True, eq=False)
class JoinedLines:
    """Lines of the JAT, grouped by all that they show."""

    release: JoinRelease

    @property
    def rows(self) -> int:
        """Published lines."""
        return len(self.release.group_of_row)

    @property
    def sizes(self) -> Counts:
        """Lines that are alike in all columns."""
        return np.bincount(self._alike) if self.rows else np.zeros(0, np.int64)

    def flaws(self) -> Iterator[str]:
        """Tables that are not as stated, whatever could mark a line, and misfits with the SI."""
        manifest, release = self.release.manifest, self.release
        yield from _strange_roles(manifest)
        yield from other_columns(
            release.groups.column_names,
            [*manifest.quasi_columns, *([SENSITIVE_GROUP] if release.sis else [])],
            "the JAT",
        )
        yield from other_rows(self.rows, manifest)
        yield from self._marks()
        if release.sis:
            yield from SensitiveGroups(release).flaws()

    def _marks(self) -> Iterator[str]:
        """What could set some lines off from others."""
        found = set(self.release.groups.column_names)
        for column in self.release.manifest.of_role(Role.QUASI):
            yield from _nulls(column, self.release.groups, found)
        if not self.release.groups.num_columns:
            yield "the JAT shows nothing"
        elif np.count_nonzero(np.diff(self._alike)) + 1 > len(self.sizes):
            yield "equal lines of the JAT do not stand together, so their order may tell something"

    def histograms(self, on: str) -> Histograms:
        """Values are counted by sensitive group."""
        return SensitiveGroups(self.release).histograms(on)

    def name(self, group: int) -> str:
        """By what its lines show."""
        first = int(np.argmax(self._alike == group))
        line = self.release.groups.slice(int(self.release.group_of_row[first]), 1).to_pylist()[0]
        cells = ", ".join(f"{name}={value}" for name, value in line.items())
        size = int(self.sizes[group])
        return f"the {size:,} line{'' if size == 1 else 's'} with {cells}"

    @property
    def _alike(self) -> Counts:
        """The number of what each line shows; groups of a release in memory may show the same."""
        numbers, _ = number_lines(self.release.groups)
        return numbers[self.release.group_of_row].astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class SensitiveGroups:
    """Rows of the microdata, grouped as the SI counts them."""

    release: JoinRelease

    @property
    def rows(self) -> int:
        """Rows of the microdata."""
        return int(self.sizes.sum())

    @property
    def sizes(self) -> Counts:
        """Rows of each sensitive group."""
        return _totals(next(iter(self._sis.values())))

    def flaws(self) -> Iterator[str]:
        """SIs that are not as stated, and do not fit each other or the JAT."""
        if self.release.manifest.algorithm.get("name") == DIRECT:
            yield "a release made by Direct has no SI, and this one does"
        for name, si in self.release.sis.items():
            stated = [SENSITIVE_GROUP, *([name] if name else []), COUNT]
            yield from other_columns(si.column_names, stated, _called(name))
            yield from other_numbers(
                si, _called(name), sensitive_group=pa.int32(), count=pa.int64()
            )
        yield from other_numbers(self.release.groups, "the JAT", sensitive_group=pa.int32())
        if SENSITIVE_GROUP in self.release.groups.column_names:
            for name in self.release.sis:
                yield from self._misfits(name)

    def _misfits(self, name: str) -> Iterator[str]:
        """Ways in which an SI is not in order, or does not fit the JAT."""
        si, release = self.release.sis[name], self.release
        yield from self._disorder(name)
        shown = release.groups[SENSITIVE_GROUP].to_numpy()
        groups, of_line = np.unique(shown, return_inverse=True)
        if not np.array_equal(groups, np.unique(si[SENSITIVE_GROUP].to_numpy())):
            yield f"the JAT and {_called(name)} have different sensitive groups"
            return
        lines = np.bincount(of_line[release.group_of_row], minlength=len(groups))
        _, first = number_lines(release.groups)
        boxes = np.bincount(of_line[first], minlength=len(groups))
        rows = _totals(si)
        others = _totals(next(iter(release.sis.values())))
        for wrong, said in (
            (rows > lines, "counts more rows than the JAT has lines for"),
            (rows < boxes, "counts fewer rows than the JAT has boxes, each of which holds one,"),
            (rows != others, "counts other numbers of rows than the other SI"),
        ):
            if wrong.any():
                yield f"{_called(name)} {said} in sensitive group {groups[np.argmax(wrong)]}"

    def _disorder(self, name: str) -> Iterator[str]:
        """Records in an order, or under numbers, that could tell something."""
        si = self.release.sis[name]
        keys = si[SENSITIVE_GROUP].to_numpy().astype(np.int64)
        groups = np.unique(keys)
        if not np.array_equal(groups, np.arange(1, len(groups) + 1)):
            yield f"sensitive groups are not numbered 1, 2, ... in {_called(name)}"
        if np.any(si[COUNT].to_numpy() < 1):
            yield f"{_called(name)} counts a value less than once"
        if name:
            attribute, codes = codes_of(
                sensitive_column(self.release.manifest, name), si.column(name)
            )
            keys = keys * max(1, attribute.size) + codes
        if np.any(np.diff(keys) <= 0):
            yield f"records of {_called(name)} are not in the order of groups and values"

    def histograms(self, on: str) -> Histograms:
        """The SI of a column, or the sizes of the sensitive groups."""
        if on == SENSITIVE_GROUP:
            return Histograms.of_sizes(self.sizes)
        column = sensitive_column(self.release.manifest, on)
        si = self._sis[column.name]
        attribute, codes = codes_of(column, si.column(on))
        _, groups = np.unique(si[SENSITIVE_GROUP].to_numpy(), return_inverse=True)
        keys = groups.astype(np.int64) * attribute.size + codes
        return Histograms.of_keys(attribute, keys, si[COUNT].to_numpy(), int(groups.max()) + 1)

    def name(self, group: int) -> str:
        """By its number and size."""
        shown = next(iter(self._sis.values()))[SENSITIVE_GROUP].to_numpy()
        number = int(np.unique(shown)[group])
        return f"sensitive group {number} of {of_rows(int(self.sizes[group]))}"

    @property
    def _sis(self) -> dict[str, pa.Table]:
        if not self.release.sis:
            raise SchemaError("it is about sensitive groups, and the release has none")
        return dict(self.release.sis)


def _called(name: str) -> str:
    return f"the SI of {name!r}" if name else "the SI"


def _totals(si: pa.Table) -> Counts:
    """Rows of each sensitive group, by its number."""
    _, places = np.unique(si[SENSITIVE_GROUP].to_numpy(), return_inverse=True)
    totals: Counts = np.bincount(places, weights=si[COUNT].to_numpy()).astype(np.int64)
    return totals


def _strange_roles(manifest: Manifest) -> Iterator[str]:
    for column in manifest.columns:
        if column.role not in (Role.QUASI, Role.SENSITIVE):
            yield (
                f"column {column.name!r} is declared as {column.role}; external rows have no such "
                "columns, so they would tell which lines are of the microdata"
            )
        elif column.role == Role.SENSITIVE and manifest.algorithm.get("name") == DIRECT:
            yield f"column {column.name!r} is declared but not published in a release by Direct"


def _nulls(column: PublishedColumn, groups: pa.Table, found: set[str]) -> Iterator[str]:
    """A null where nothing is suppressed: joined rows have no missing values."""
    for name in column.columns:
        if name not in found:
            continue
        shown = groups[name].combine_chunks()
        lacking = shown.is_null()
        flags = f"{column.name}_suppressed"
        if column.form == "cell" and name == column.name and flags in found:
            hidden = groups[flags].combine_chunks()
            if pa.types.is_boolean(hidden.type):
                lacking = pc.not_equal(lacking, hidden.fill_null(False))
        if pc.any(lacking, min_count=0).as_py() or _holes(shown):
            yield f"column {name!r} of the JAT has a null, which could mark lines"


def _holes(shown: pa.Array) -> bool:
    """Whether a set is empty or names nothing."""
    if not pa.types.is_list(shown.type):
        return False
    empty = pc.any(pc.equal(shown.value_lengths(), 0), min_count=0).as_py()
    return bool(empty or shown.flatten().null_count)
