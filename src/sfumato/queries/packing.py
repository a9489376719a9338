"""Several attributes in one column of codes, so that a conjunction costs few lookups per row.

Attributes with small domains share a column: a packed code is a combination of their values. A
query marks the combinations it wants, which takes as many steps as there are combinations, and then
reads one mark per row and packed column, however many attributes it names. Combinations are limited
so that their marks stay in the processor's fast cache; seven census attributes make two columns.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from sfumato.core.arrays import HalfWords, Ints
from sfumato.core.attribute import Attribute
from sfumato.errors import SchemaError
from sfumato.queries.arrays import Marks
from sfumato.queries.count import CountQuery

_COMBINATIONS = 2**15


@dataclass(frozen=True, slots=True, eq=False)
class Domain:
    """The values of an attribute and their codes; a missing value's code comes last."""

    name: str
    size: int
    codes: Mapping[Any, int]

    @classmethod
    def of(cls, attribute: Attribute) -> Domain:
        """The domain of an encoded attribute."""
        codes = {value: code for code, value in enumerate(attribute.values.to_pylist())}
        if attribute.has_missing:
            codes[None] = attribute.missing_code
        return cls(attribute.name, attribute.size, codes)

    def marks(self, wanted: Iterable[Any]) -> Marks:
        """1 for every wanted code; values outside the domain occur nowhere."""
        marks = np.zeros(self.size, np.uint8)
        known = self.codes
        marks[[known[value] for value in wanted if value in known]] = 1
        return marks


Pack: TypeAlias = tuple[Domain, ...]


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
    return tuple(tuple(Domain.of(attribute) for attribute, _ in pack) for pack in packs), packed


def marks_of(pack: Pack, query: CountQuery) -> Marks | None:
    """Marks of the wanted combinations, or None where the query wants all.

    The last attribute's codes run fastest.
    """
    wanted = query.conditions
    if not any(domain.name in wanted for domain in pack):
        return None
    sides = [
        domain.marks(wanted[domain.name])
        if domain.name in wanted
        else np.ones(domain.size, np.uint8)
        for domain in pack
    ]
    return reduce(lambda left, right: np.multiply.outer(left, right).ravel(), sides)


def require_known(query: CountQuery, known: Sequence[str]) -> None:
    """Raise unless every condition is about a known attribute."""
    for name in query.conditions:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(known)}"
            raise SchemaError(f"no attribute {name!r} to ask about; {hint}", column=name)


def is_codable(kind: pa.DataType) -> bool:
    """Whether values of this type can be encoded, and so be asked for."""
    return not (pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_interval(kind))
