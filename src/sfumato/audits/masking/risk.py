"""How often people are found in a masked table, and how near their values are.

Two measures of the literature on disclosure control (Domingo-Ferrer, Torra: "A quantitative
comparison of disclosure control methods for microdata", 2001):

    distance linkage     an attacker knows a person's quasi-identifiers and takes the nearest row.
                         Numbers differ in standard deviations, categories by 0 or 1. Where several
                         rows are as near, a guess among them is right in one of so many cases
    interval disclosure  how often the true value of a number lies within so many of all ranks of
                         the shown one

Each stands beside what somebody gets who looks at any row. Nobody but the owner can measure
this: files do not say whose a row is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.algorithms.masking.mask import numbers_of
from sfumato.audits.masking.distances import nearest, people_among, sides_of
from sfumato.core.arrays import Counts, Flags, Floats, Ints
from sfumato.core.attribute import Kind
from sfumato.core.foreign import our_errors
from sfumato.core.microdata import Microdata
from sfumato.errors import DataError, ParameterError
from sfumato.forms.manifest import PublishedColumn
from sfumato.forms.masked.blurs import numbers_shown
from sfumato.forms.masked.release import MaskedTable

_WIDTH = 0.05  # of all ranks, on either side


@dataclass(frozen=True, slots=True)
class MaskingRisk:
    """What was found of ``people``: shares, and those of somebody who looks at any row.

    ``linked`` is how often the nearest row is a person's own; ``near`` how often a shown number
    has the true one within ``width`` of all ranks.
    """

    people: int
    linked: float
    linked_blindly: float
    width: float
    near: Mapping[str, float]
    near_blindly: Mapping[str, float]

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return {
            "people": self.people,
            "linked": self.linked,
            "linked_blindly": self.linked_blindly,
            "width": self.width,
            "near": dict(self.near),
            "near_blindly": dict(self.near_blindly),
        }


@our_errors("measuring risk")
def masking_risk(release: MaskedTable, table: Microdata, *, width: float = _WIDTH) -> MaskingRisk:
    """Attack a masked release with the table that it was made of.

    The release must be the one that ``mask`` returned: whose a row is stands in no file. Up to
    2,000 people are looked for, fewer in tables of more than 200,000 rows. ``width`` is the share
    of all ranks, on either side of a shown number, within which the true one counts as disclosed.

    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> risk = sf.masking_risk(sf.mask(patients, sf.Microaggregate(k=5)), patients)
    >>> risk.linked <= 0.2
    True
    """
    if not 0 < width < 1:
        raise ParameterError(f"width must lie between 0 and 1, not {width}", parameter="width")
    origin = _origin(release, table)
    people = min(release.table.num_rows, people_among(release.table.num_rows))
    near, blindly = {}, {}
    for column in release.manifest.columns:
        if column.name in release.distortions and column.kind == Kind.NUMERICAL:
            ranks = _ranks(release, table, column, origin)
            near[column.name] = _near(*ranks, width)
            # rows are in random order: half a table further stands anybody
            moved = np.roll(ranks[0], len(origin) // 2)
            blindly[column.name] = _near(moved, *ranks[1:], width)
    linked = _linked(release, table, origin, people)
    return MaskingRisk(people, linked, 1 / len(origin), width, near, blindly)


def _origin(release: MaskedTable, table: Microdata) -> Ints:
    origin = release.origin
    if origin is None:
        raise ParameterError(
            "whose a row is stands in no file, and synthetic rows are nobody's; measure the "
            "release that sf.mask returned",
            parameter="release",
        )
    if len(origin) != table.n_rows:
        raise DataError(
            f"the release was made of {len(origin):,} rows and the table has {table.n_rows:,}; "
            "give the table that was published"
        )
    return origin


def _ranks(
    release: MaskedTable, table: Microdata, column: PublishedColumn, origin: Ints
) -> tuple[Floats, Counts, Counts]:
    """Of every row the rank of the true value, and the first and last rank of the shown one."""
    true, known = numbers_of(table.attributes[column.name], table.codes[column.name][origin])
    shown, there = numbers_shown(release.table.column(column.name))
    both = known & there
    line = np.sort(true[both])
    rank = (np.searchsorted(line, true[both]) + np.searchsorted(line, true[both], "right")) / 2
    first, last = (np.searchsorted(line, shown[both], side) for side in ("left", "right"))
    return rank, first, last


def _near(rank: Floats, first: Counts, last: Counts, width: float) -> float:
    reach = width * len(rank)
    hits: Flags = (rank >= first - reach) & (rank <= last + reach)
    return float(hits.mean()) if len(rank) else 0.0


def _linked(release: MaskedTable, table: Microdata, origin: Ints, people: int) -> float:
    """The share of people whose own row is the nearest, or one of so many."""
    row_of = np.argsort(origin)
    right = 0.0
    for some, near in nearest(sides_of(release, table), origin[:people]):
        own = near[np.arange(len(some)), row_of[some]]
        right += float((own / near.sum(axis=1)).sum())
    return right / people
