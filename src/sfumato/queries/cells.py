"""Exact values in groups: how many rows of each group satisfy the conditions on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.core._kernels import number_rows, rows_by_group
from sfumato.core.arrays import Codes, Floats, HalfWords, Ints, Words
from sfumato.core.attribute import Attribute
from sfumato.queries._kernels import weigh
from sfumato.queries.count import CountQuery
from sfumato.queries.packing import Pack, marks_of, packed


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Cells of equal group one after the other; each stands for one row, or for counts of them."""

    packs: tuple[Pack, ...]
    columns: HalfWords
    starts: Words
    counts: HalfWords

    @classmethod
    def of_counts(
        cls,
        columns: Sequence[tuple[Attribute, Ints]],
        counts: Ints,
        groups: Codes,
        n_groups: int,
    ) -> Cells:
        """Every record a cell that stands for ``counts`` rows."""
        rows, starts = rows_by_group(groups, n_groups)
        ordered = [(attribute, codes[rows]) for attribute, codes in columns]
        kept = np.empty(0, np.uint32) if (counts == 1).all() else counts[rows].astype(np.uint32)
        return cls(*packed(ordered, len(rows)), starts.astype(np.uint64), kept)

    @classmethod
    def of_equals(
        cls, columns: Sequence[tuple[Attribute, Ints]], groups: Codes, n_groups: int
    ) -> Cells:
        """Equal rows of a group become one cell."""
        stacked = np.stack([groups, *(codes for _, codes in columns)], axis=1, dtype=np.int32)
        sizes = [n_groups, *(attribute.size for attribute, _ in columns)]
        _, first, counts = number_rows(stacked, np.array(sizes, np.int64))
        kept = [(attribute, codes[first]) for attribute, codes in columns]
        return cls.of_counts(kept, counts, groups[first], n_groups)

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes that conditions can be about."""
        return tuple(domain.name for pack in self.packs for domain in pack)

    def weigh(self, weights: Floats, query: CountQuery) -> bool:
        """Multiply each group's weight by its rows that satisfy the query's conditions on these
        attributes; without any such condition nothing changes, and the result is False.
        """
        wanted = [(j, marks_of(pack, query)) for j, pack in enumerate(self.packs)]
        marks = {j: found for j, found in wanted if found is not None}
        if marks:
            places = np.zeros(len(self.packs), np.int64)
            lengths = [len(found) for found in marks.values()]
            places[list(marks)] = np.cumsum(lengths) - lengths
            active, joined = np.array(list(marks), np.int64), np.concatenate([*marks.values()])
            weigh(weights, self.starts, self.columns, active, joined, places, self.counts)
        return bool(marks)
