"""Which rows are nearest to people, by their quasi-identifiers.

Numbers differ in standard deviations of the true ones, categories by 0 or 1. All rows that are as
near are nearest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.algorithms.masking.mask import numbers_of
from sfumato.core.arrays import Flags, Floats, Ints
from sfumato.core.attribute import Kind
from sfumato.core.microdata import Microdata
from sfumato.core.schema import Role
from sfumato.forms.manifest import PublishedColumn, encoded
from sfumato.forms.masked.blurs import numbers_shown
from sfumato.forms.masked.release import MaskedTable

PEOPLE = 2_000
_CELLS = 4_000_000  # of distances that are held at once
_WORK = 400_000_000  # distances at most
_ALIKE = 1e-9
_FAR = 10.0  # what is missing is like nothing but what is missing too


@dataclass(frozen=True, slots=True)
class Side:
    """A column as people have it, and as rows show it: in standard deviations or as codes."""

    true: Floats
    shown: Floats
    is_number: bool

    def back(self) -> Side:
        """The other way round."""
        return Side(self.shown, self.true, self.is_number)


def people_among(rows: int) -> int:
    """How many can be looked for."""
    return min(rows, PEOPLE, max(1, _WORK // rows))


def sides_of(release: MaskedTable, table: Microdata) -> list[Side]:
    """All published quasi-identifiers."""
    return [side_of(release, table, one) for one in release.manifest.of_role(Role.QUASI)]


def side_of(release: MaskedTable, table: Microdata, column: PublishedColumn) -> Side:
    """True and shown values of a column."""
    attribute, codes = table.attributes[column.name], table.codes[column.name]
    if attribute.kind is Kind.NUMERICAL:
        true, known = numbers_of(attribute, codes)
        shown, there = numbers_shown(release.table.column(column.name))
        unit = float(true[known].std()) or 1.0 if known.any() else 1.0
        return Side(np.where(known, true / unit, _FAR), np.where(there, shown / unit, _FAR), True)
    found, shown_codes = encoded(column, release.table.column(column.name))
    place = {value: code for code, value in enumerate(attribute.values.to_pylist())}
    match = [place.get(value, -1) for value in found.values.to_pylist()] + [attribute.missing_code]
    return Side(codes.astype(np.float64), np.array(match, np.float64)[shown_codes], False)


def nearest(sides: Sequence[Side], people: Ints) -> Iterator[tuple[Ints, Flags]]:
    """Some people at a time, and which rows are nearest to each of them."""
    for some, apart in distances(sides, people):
        least = apart.min(axis=1, keepdims=True)
        yield some, apart <= least * (1 + _ALIKE) + _ALIKE


def apart_from(sides: Sequence[Side], people: Ints, rows: Ints) -> Floats:
    """How far each of some people is from some rows, a line of these for everybody."""
    apart = np.zeros(rows.shape)
    for side in sides:
        difference = side.true[people][:, None] - side.shown[rows]
        apart += difference**2 if side.is_number else difference != 0
    return apart


def distances(sides: Sequence[Side], people: Ints) -> Iterator[tuple[Ints, Floats]]:
    """Some people at a time, and how far every row is from each of them."""
    rows = len(sides[0].shown)
    at_once = max(1, _CELLS // rows)
    for low in range(0, len(people), at_once):
        some = people[low : low + at_once]
        apart = np.zeros((len(some), rows))
        for side in sides:
            difference = side.true[some][:, None] - side.shown[None, :]
            apart += difference**2 if side.is_number else difference != 0
        yield some, apart
