"""What a cut that Mondrian did not make may tell: the example of docs/neighbours.md, counted out.

60 people, 11 of whom have the flu, everybody else something of their own. 10 live in the east, 10
own their house, and one person does both. With m = 2 a half may have the flu in 5 of 10 people. If
neither half is cut off, both have it 6 times; 11 have it in all, so the one in both does.
"""

from __future__ import annotations

from math import comb

import numpy as np
import pyarrow as pa

import sfumato as sf
from sfumato.core.arrays import Codes, Flags
from sfumato.models.requirements import requirements

N, ILL, HALF = 60, 11, 9  # people of the east alone, and owners alone, are 9 each
EAST = np.arange(N) < HALF + 1
OWNER = (np.arange(N) == 0) | ((np.arange(N) > HALF) & (np.arange(N) <= 2 * HALF))
SCHEMA = sf.Schema(quasi=["east", "owner"], sensitive="illness")


def people(first: bool, east: int, owner: int) -> sf.Microdata:
    """The first has it or not, so many of the east alone, so many owners alone, others the rest."""
    rest = ILL - first - east - owner
    ill = [*range(0 if first else 1, 1 + east), *range(10, 10 + owner), *range(19, 19 + rest)]
    illness = [f"own {i}" for i in range(N)]
    for i in ill:
        illness[i] = "flu"
    return sf.Microdata.from_arrow(
        pa.table({"east": EAST, "owner": OWNER, "illness": illness}), SCHEMA
    )


def cut(table: sf.Microdata) -> bool:
    """Whether a cut was made, as everybody sees from the groups: in none of them people mix."""
    needs = requirements(sf.LDiversity(2), SCHEMA)
    groups = sf.Anatomize(size=10).partition(table, needs, sf.Randomness(1)).groups
    return any(not _mixed(groups, column) for column in (EAST, OWNER))


def _mixed(groups: Codes, column: Flags) -> bool:
    return any(len(np.unique(column[groups == one])) > 1 for one in range(groups.max() + 1))


def ways(first: bool, east: int, owner: int) -> int:
    """How many ways to hand out the flu look like this."""
    rest = ILL - first - east - owner
    return comb(HALF, east) * comb(HALF, owner) * comb(N - 2 * HALF - 1, rest)


def test_two_cuts_that_were_refused_can_tell_one_value() -> None:
    worlds = [
        (first, east, owner)
        for first in (False, True)
        for east in range(HALF + 1)
        for owner in range(min(HALF, ILL - first - east) + 1)
    ]
    assert sum(ways(*one) for one in worlds) == comb(N, ILL)
    alike = [one for one in worlds if not cut(people(*one))]
    assert alike == [(True, 5, 5)]  # known for certain, where the promise says 1/2
    seldom = sum(ways(*one) for one in alike) / comb(N, ILL)
    assert 1e-8 < seldom < 1e-7  # one table in twenty million
