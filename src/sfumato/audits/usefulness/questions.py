"""What readers of such a table ask: a sensitive column by category of another, and of two others.

Categories are bins: ranges of numbers, the most frequent of other values and the rest. Two columns
are cut together where each of them alone goes with the sensitive one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from sfumato.asking.ask import answerer_about, bound_all
from sfumato.audits.bins import Bin, bins_of
from sfumato.core.arrays import Counts, Floats
from sfumato.core.attribute import Attribute, Kind
from sfumato.core.moments import comparable
from sfumato.core.predicates import Predicate
from sfumato.core.query import Query
from sfumato.engines.parts import TableParts

_ALONE, _TOGETHER, _CLASSES = 8, 4, 8  # bins of one column, of each of two, of a sensitive one


@dataclass(frozen=True, slots=True, eq=False)
class Classes:
    """A sensitive column: few bins, the bin of every code, and what numbers it stands for."""

    name: str
    bins: tuple[Bin, ...]
    of_code: Counts
    place: Mapping[object, int]
    numbers: Floats | None  # of the values, without the missing one
    spread: float = 0.0  # their standard deviation

    @classmethod
    def of(cls, table: TableParts, name: str) -> Classes:
        """The bins of a column, found by asking the table."""
        attribute = table.attributes[name]
        bins = bins_of(attribute, table.value_counts[name], _CLASSES)
        numbers = attribute.positions if attribute.kind is Kind.NUMERICAL else None
        rows = table.value_counts[name][: len(attribute.values)]
        return cls(
            name,
            bins,
            bins_of_codes(table, name, bins),
            places_of(attribute),
            numbers,
            0.0 if numbers is None or not rows.sum() else _spread(numbers, rows),
        )

    @property
    def numeric(self) -> bool:
        """Whether there is a mean."""
        return self.numbers is not None and len(self.numbers) > 0


@dataclass(frozen=True, slots=True, eq=False)
class Cross:
    """Categories of one or two columns, every one of which is asked about."""

    columns: tuple[str, ...]
    bins: tuple[tuple[Bin, ...], ...]

    @classmethod
    def of(cls, table: TableParts, columns: Sequence[str]) -> Cross:
        """Few bins of each column."""
        most = _ALONE if len(columns) == 1 else _TOGETHER
        return cls(
            tuple(columns),
            tuple(
                bins_of(table.attributes[name], table.value_counts[name], most) for name in columns
            ),
        )

    @property
    def conditions(self) -> list[dict[str, Predicate]]:
        """What the rows of each category satisfy."""
        return [
            {name: one.predicate for name, one in zip(self.columns, some, strict=True)}
            for some in product(*self.bins)
        ]

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the categories."""
        return tuple(", ".join(one.label for one in some) for some in product(*self.bins))


def singles(table: TableParts, names: Sequence[str]) -> list[Cross]:
    """Every quasi-identifier alone; one with a single value divides nothing."""
    crosses = [Cross.of(table, [name]) for name in names]
    return [cross for cross in crosses if len(cross.bins[0]) > 1]


def pairs(table: TableParts, names: Sequence[str]) -> list[Cross]:
    """These quasi-identifiers, two at a time."""
    return [Cross.of(table, both) for both in combinations(names, 2)]


def bins_of_codes(table: TableParts, name: str, bins: Sequence[Bin]) -> Counts:
    """The bin of every code of a column that occurs; 0 for those that do not."""
    asked, place = answerer_about(table, {name}), places_of(table.attributes[name])
    found = np.zeros(len(place), np.int64)
    queries = [Query({name: one.predicate}) for one in bins]
    for number, bound in enumerate(bound_all(asked, queries)):
        counted = asked.counts_by(bound.where, name)
        keys = zip(counted.keys, counted.hi.tolist(), strict=True)
        found[[place[key] for key, most in keys if most]] = number
    return found


def places_of(attribute: Attribute) -> dict[object, int]:
    """The code of every value, as answers name it."""
    return {value: code for code, value in enumerate([*comparable(attribute.values), None])}


def _spread(numbers: Floats, rows: Counts) -> float:
    share = rows / rows.sum()
    return float(np.sqrt(share @ (numbers - share @ numbers) ** 2))
