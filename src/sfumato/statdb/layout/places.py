"""What every database keeps of its rows: an index over places, and the codes that stand there.

All of it is plain arrays with names, so that a store can write each to a file and map it back. It
is the secret that the guarantee hangs on: made once, never made anew, never shown. Two layouts say
how places make groups: layout.py for those that are regrouped for every question, neighbourhoods.py
for those that never are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.algorithms.anatomize import require_discrete
from sfumato.core.arrays import Codes, Counts, Flags, Floats, Ints, Words
from sfumato.core.attribute import Attribute
from sfumato.core.microdata import Microdata
from sfumato.errors import SchemaError
from sfumato.statdb.layout.index import EVERYBODY, Index


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Places(ABC):
    """``codes`` hold the codes of every quasi-identifier at every place, 0 where no row is.

    Where a place does not tell the sensitive value, its codes come last.
    """

    index: Index
    codes: Mapping[str, Ints]

    @property
    @abstractmethod
    def kinds(self) -> tuple[str, int]:
        """What rows that hide together are called, and how many of these there are."""

    @abstractmethod
    def values_at(self, places: Counts) -> Codes:
        """The sensitive codes that belong to places; each is in a group."""

    @abstractmethod
    def best_guesses(self) -> Floats:
        """The chance of the best guess of every row's value, counterfeits' values among them."""

    @abstractmethod
    def named(self) -> dict[str, NDArray[Any]]:
        """Every array under a name of its own, such as "index.bitmaps" or "codes.age"."""

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return int(np.bitwise_count(self.everybody).sum())

    @property
    def everybody(self) -> Words:
        """The bitmap of the places that have a row."""
        words: Words = self.index.bitmaps[EVERYBODY]
        return words

    @property
    def nbytes(self) -> int:
        """Memory of all arrays."""
        return sum(array.nbytes for array in self.named().values())

    def flags(self, bitmap: Words) -> Flags:
        """A bitmap as one flag per place."""
        return np.unpackbits(bitmap.view(np.uint8), bitorder="little").astype(np.bool_)

    def occupied(self) -> Counts:
        """The places that have a row."""
        return np.flatnonzero(self.flags(self.everybody))

    def __repr__(self) -> str:
        """Sizes only: this is the secret."""
        kind, n = self.kinds
        return f"{type(self).__name__}({n:,} {kind}, {len(self.codes)} attributes)"


def with_names(**parts: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The arrays of all parts, each under the part's name and its own."""
    return {f"{part}.{name}": one for part, own in parts.items() for name, one in own.items()}


def by_part(arrays: Mapping[str, NDArray[Any]]) -> dict[str, dict[str, Any]]:
    """The same by part again.

    They must be contiguous, and writable in the eyes of NumPy: kernels are compiled for that kind
    only (a mapped file is one if it is mapped copy-on-write).
    """
    parts: dict[str, dict[str, Any]] = {}
    for name, array in arrays.items():
        part, _, own = name.partition(".")
        parts.setdefault(part, {})[own] = array
    return parts


def sensitive_of(table: Microdata) -> Attribute:
    """The one sensitive attribute of a table."""
    if len(table.sensitive) != 1:
        raise SchemaError(
            f"a statistical database has one sensitive column; the schema names "
            f"{', '.join(table.schema.sensitive) or 'none'}"
        )
    require_discrete(table.sensitive[0])
    return table.sensitive[0]


def at_places(codes: Ints, rows: Codes) -> Ints:
    """The codes of the rows at places, 0 where there is none (-1)."""
    placed = codes[rows]  # row -1, the last, stands for none
    placed[rows < 0] = 0
    return placed


def bytes_of(size: int) -> int:
    """How many bytes a code of a domain of this size takes."""
    return int(np.min_scalar_type(-size - 1).itemsize)
