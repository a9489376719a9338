"""Several attributes in one column of codes, so that a conjunction costs few lookups per row.

Attributes with small domains share a column: a packed code is a combination of their values. A
query marks the combinations it wants, which takes as many steps as there are combinations, and then
reads one mark per row and packed column, however many attributes it names. Combinations are limited
so that their marks stay in the processor's fast cache; seven census attributes make two columns.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from math import prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from sfumato.answers.arrays import Marks
from sfumato.core.arrays import HalfWords, Ints
from sfumato.core.attribute import Attribute, Kind
from sfumato.core.exact import Numbers, exact_numbers
from sfumato.core.moments import comparable
from sfumato.queries.values import Range, Values

Where: TypeAlias = Mapping[str, Values]
_COMBINATIONS = 2**15


@dataclass(frozen=True, eq=False)
class Domain:
    """The values of an attribute and their codes; a missing value's code comes last."""

    attribute: Attribute

    @property
    def name(self) -> str:
        """The attribute's name."""
        return self.attribute.name

    @property
    def size(self) -> int:
        """Number of codes."""
        return self.attribute.size

    @cached_property
    def values(self) -> list[Any]:
        """What the codes stand for, as it is compared (core.moments)."""
        missing = [None] if self.attribute.has_missing else []
        return [*comparable(self.attribute.values), *missing]

    @cached_property
    def codes(self) -> Mapping[Any, int]:
        """The code of every value."""
        return {value: code for code, value in enumerate(self.values)}

    @cached_property
    def numbers(self) -> Numbers:
        """The values as numbers, anything where missing."""
        numbers = exact_numbers(self.attribute.values)
        padded: Numbers = np.append(
            numbers, np.zeros(int(self.attribute.has_missing), numbers.dtype)
        )
        return padded

    @cached_property
    def _line(self) -> list[Any]:
        """The values without the missing one, where codes follow their natural order."""
        return self.values[: len(self.attribute.values)]

    def marks(self, wanted: Values) -> Marks:
        """1 for every wanted code; values outside the domain occur nowhere."""
        marks = np.zeros(self.size, np.uint8)
        if wanted.points:
            known = self.codes
            marks[[known[value] for value in wanted.points if value in known]] = 1
        for part in wanted.ranges:
            self._mark(marks, part)
        if wanted.missing and self.attribute.has_missing:
            marks[-1] = 1
        return marks

    def _mark(self, marks: Marks, part: Range) -> None:
        line = self._line
        if self.attribute.kind is Kind.CATEGORICAL and self.attribute.ordered:
            marks[[code for code, value in enumerate(line) if part.holds(value)]] = 1
            return
        low = 0 if part.low is None else (bisect_left, bisect_right)[part.low_open](line, part.low)
        if part.high is None:
            high = len(line)
        else:
            high = (bisect_right, bisect_left)[part.high_open](line, part.high)
        marks[low:high] = 1


Pack: TypeAlias = tuple[Domain, ...]


class Place(NamedTuple):
    """Where an attribute's code is in packed columns: ``columns[pack] // stride % size``."""

    pack: int
    stride: int
    domain: Domain


def packed(columns: Sequence[tuple[Attribute, Ints]], n: int) -> tuple[tuple[Pack, ...], HalfWords]:
    """Attributes that share columns (first fit, largest domain first), and those columns."""
    packs: list[list[tuple[Attribute, Ints]]] = []
    room: list[int] = []
    for attribute, codes in sorted(columns, key=lambda column: -column[0].size):
        size = max(1, attribute.size)
        for j, left in enumerate(room):
            if size <= left:
                packs[j].append((attribute, codes))
                room[j] = left // size
                break
        else:
            packs.append([(attribute, codes)])
            room.append(_COMBINATIONS // size)
    packed = np.zeros((len(packs), n), np.uint32)
    for line, pack in zip(packed, packs, strict=True):
        pack.reverse()  # the largest domain runs fastest: marks are made in long stretches
        for attribute, codes in pack:
            line *= np.uint32(max(1, attribute.size))
            line += codes.astype(np.uint32)
    return tuple(tuple(Domain(attribute) for attribute, _ in pack) for pack in packs), packed


def place_of(packs: Sequence[Pack], name: str) -> Place:
    """Where an attribute is."""
    for j, pack in enumerate(packs):
        for k, domain in enumerate(pack):
            if domain.name == name:
                return Place(j, prod(max(1, other.size) for other in pack[k + 1 :]), domain)
    raise KeyError(name)


def marks_of(pack: Pack, where: Where) -> Marks | None:
    """Marks of the wanted combinations, or None where all are wanted.

    The last attribute's codes run fastest.
    """
    if not any(domain.name in where for domain in pack):
        return None
    sides = [
        domain.marks(where[domain.name]) if domain.name in where else np.ones(domain.size, np.uint8)
        for domain in pack
    ]
    return reduce(lambda left, right: np.multiply.outer(left, right).ravel(), sides)
