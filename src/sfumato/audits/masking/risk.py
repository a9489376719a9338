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
from sfumato.audits.attacks.frame import KnownPeople
from sfumato.audits.masking.distances import nearest, people_among, sides_of
from sfumato.audits.masking.unseen import halves
from sfumato.audits.stated_algorithms import ALGORITHMS, made
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
    has the true one within ``width`` of all ranks. Of ``drawn`` rows, which are nobody's, the
    method was used again, and the figures are of people whom it has seen, beside others.
    """

    people: int
    linked: float
    linked_blindly: float
    width: float
    near: Mapping[str, float]
    near_blindly: Mapping[str, float]
    drawn: bool = False

    @property
    def words(self) -> tuple[str, str]:
        """What ``linked`` is about, and whom it stands beside."""
        if self.drawn:
            return "people who are nearest to their nearest row", "people unknown to the model"
        return "people whose nearest row is their own", "blindly"

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return {
            "people": self.people,
            "linked": self.linked,
            "linked_blindly": self.linked_blindly,
            "width": self.width,
            "near": dict(self.near),
            "near_blindly": dict(self.near_blindly),
            "drawn": self.drawn,
        }


@our_errors("measuring risk")
def masking_risk(release: MaskedTable, table: Microdata, *, width: float = _WIDTH) -> MaskingRisk:
    """Attack a masked release with the table that it was made of.

    The release must be the one that ``mask`` returned: whose a row is stands in no file. Synthetic
    rows are nobody's; there the method is used again, on half of the people, and the figures are of
    them, beside those of the other half (audits/masking/unseen.py). Up to
    2,000 people are looked for, fewer in tables of more than 200,000 rows. ``width`` is the share
    of all ranks, on either side of a shown number, within which the true one counts as disclosed.

    >>> patients = sf.read("patients.csv", sf.read_schema("patients.toml"))
    >>> risk = sf.masking_risk(sf.mask(patients, sf.Microaggregate(k=5)), patients)
    >>> risk.linked <= 0.2
    True
    """
    if not 0 < width < 1:
        raise ParameterError(f"width must lie between 0 and 1, not {width}", parameter="width")
    if release.drawn:
        return _of_drawn(release, table, width)
    origin = _origin(release, table)
    people = people_among(release.table.num_rows)
    near, blindly = {}, {}
    for column in release.manifest.columns:
        if column.name in release.distortions and column.kind == Kind.NUMERICAL:
            ranks = _ranks(release, table, column, origin)
            near[column.name] = _near(*ranks, width)
            # rows are in random order: half a table further stands anybody
            moved = np.roll(ranks[0], len(origin) // 2)
            blindly[column.name] = _near(moved, *ranks[1:], width)
    linked = float(linked_chances(release, table, origin[:people]).mean())
    return MaskingRisk(people, linked, 1 / len(origin), width, near, blindly)


def _of_drawn(release: MaskedTable, table: Microdata, width: float) -> MaskingRisk:
    stated = release.manifest.algorithm.items()
    options = {key: [*one] if isinstance(one, tuple) else one for key, one in stated}
    kind = ALGORITHMS.get(str(options.pop("name", None)))
    if kind is None:
        raise ParameterError(
            "a method of your own is not known here, and cannot be used again", parameter="release"
        )
    seen, unseen = halves(table, made(kind, options), width)  # type: ignore[arg-type]
    return MaskingRisk(
        seen.people, seen.linked, unseen.linked, width, seen.near, unseen.near, drawn=True
    )


def alike_chances(release: MaskedTable, people: KnownPeople, some: Ints) -> Floats:
    """The most it can be: one by the rows that are as near, whosever they are."""
    sides = sides_of(release, people)
    return np.concatenate([1 / near.sum(axis=1) for _, near in nearest(sides, some)])


def _origin(release: MaskedTable, table: Microdata) -> Ints:
    origin = release.origin
    if origin is None:
        raise ParameterError(
            "whose a row is stands in no file; measure the release that sf.mask returned",
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


def linked_chances(release: MaskedTable, table: Microdata, people: Ints) -> Floats:
    """For each of some people the chance that their own row is the one picked of the nearest."""
    row_of = np.argsort(_origin(release, table))
    found = [
        near[np.arange(len(some)), row_of[some]] / near.sum(axis=1)
        for some, near in nearest(sides_of(release, table), people)
    ]
    return np.concatenate(found)
