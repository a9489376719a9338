"""Several rows per person: what k rows promise of people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.audits.risk.classes import people_of
from sfumato.engines.rows import together
from sfumato.io.tables import Source, read_table


@dataclass(frozen=True, slots=True)
class RowsPerPerson:
    """How many rows people have, by a column that names them."""

    name: str
    people: int
    rows: int
    most: int

    @classmethod
    def of(cls, source: Source, name: str, **reading: Any) -> RowsPerPerson:
        """Count the rows of everybody; ``reading`` is that of ``sf.read``."""
        who = people_of(
            read_table(together(source), columns=[name], trim=True, **reading).column(name)
        )
        times = np.bincount(who)
        return cls(name, len(times), len(who), int(times.max()))

    def people_among(self, rows: int) -> int:
        """The fewest people whom so many rows can be about."""
        return -(-rows // self.most)

    def warning(self, k: int | None) -> str | None:
        """What a group of k rows promises of people, where that is less; None if it is the same."""
        if self.most == 1:
            return None
        said = (
            f"{self.rows:,} rows are of {self.people:,} people by {self.name!r}, up to "
            f"{self.most:,} of one person, and k counts rows"
        )
        if k is None:
            return f"{said}; keep one row per person, or promise a k of {self.most:,} times as much"
        return (
            f"{said}: a group of {k:,} rows may be {self.people_among(k):,} "
            f"{'person' if self.people_among(k) == 1 else 'people'}; --k {k * self.most} promises "
            f"{k:,} people"
        )
