"""The seam between the forms of a release and the models, and what all forms share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from sfumato.core.arrays import Counts, Ints
from sfumato.core.attribute import Attribute
from sfumato.core.histograms import Histograms
from sfumato.core.schema import Role
from sfumato.errors import DataError, SchemaError, SfumatoError, shortened
from sfumato.forms.manifest import Manifest, PublishedColumn, encoded


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


@dataclass(frozen=True, slots=True)
class Check:
    """One statement of release.json and whether the files bear it out."""

    statement: str
    kept: bool
    detail: str = ""

    def __post_init__(self) -> None:
        """A value in a detail may be of any length."""
        for name in ("statement", "detail"):
            object.__setattr__(self, name, shortened(getattr(self, name)))


def require_sound(flaws: Iterator[str]) -> None:
    """Raise if there is a flaw: nothing can be computed from tables that are not as stated."""
    for flaw in flaws:
        raise DataError(f"the release is not what its release.json says: {flaw}")


def other_columns(found: list[str], stated: list[str], where: str) -> Iterator[str]:
    """Columns that are published and not stated, or stated and not published."""
    declared, published = set(stated), set(found)
    for name in found:
        if name not in declared:
            yield f"column {name!r} is published but not declared in {where}"
    for name in stated:
        if name not in published:
            yield f"column {name!r} is declared but not published in {where}"


def other_rows(rows: int, manifest: Manifest) -> Iterator[str]:
    """More or fewer rows than stated, or none at all."""
    if rows != manifest.rows or not rows:
        yield f"{manifest.rows:,} rows are stated, {rows:,} published"


def sensitive_column(manifest: Manifest, on: str) -> PublishedColumn:
    """How a sensitive attribute is published."""
    for column in manifest.of_role(Role.SENSITIVE):
        if column.name == on:
            return column
    raise SchemaError(f"it is about {on!r}, which is not published as sensitive", column=on)


def codes_of(column: PublishedColumn, values: pa.ChunkedArray) -> tuple[Attribute, Ints]:
    """Codes of published values; release.json, which may say anything, describes them."""
    try:
        return encoded(column, values)
    except SfumatoError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, NotImplementedError) as error:
        raise SchemaError(
            f"release.json describes {column.name!r} in a way that cannot be read: {error}",
            column=str(column.name),
        ) from error


class Numbered(NamedTuple):
    """Group numbers that occur, ascending, the place of each entry among them, and how often."""

    numbers: Counts
    places: Counts
    times: Counts

    @classmethod
    def of(cls, ids: Ints) -> Numbered:
        """Count the group numbers of a column; fast where they are 1, 2, ..."""
        if len(ids) and ids.min() >= 0 and ids.max() <= 2 * len(ids):
            times = np.bincount(ids)
            present = times > 0
            place = np.cumsum(present) - 1
            return cls(np.flatnonzero(present), place[ids], times[present])
        numbers, places, times = np.unique(ids, return_inverse=True, return_counts=True)
        return cls(numbers, places, times)

    @property
    def in_turn(self) -> bool:
        """Whether groups are numbered from 1 on without a gap."""
        return bool(np.array_equal(self.numbers, np.arange(1, len(self.numbers) + 1)))


def other_numbers(table: pa.Table, where: str, **stated: pa.DataType) -> Iterator[str]:
    """Columns of group numbers and counts that are not whole numbers of their one type."""
    for name, kind in stated.items():
        if name in table.column_names:
            column = table[name]
            if column.type != kind or column.null_count:
                yield f"column {name!r} of {where} does not hold whole numbers throughout ({kind})"


def of_rows(size: int) -> str:
    """A size in words."""
    return f"{size:,} row{'' if size == 1 else 's'}"
