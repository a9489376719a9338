"""Who knows how groups of neighbours are made must not learn values from who is in which group.

Values have nothing to do with age, and one of them has one row in l, so that hardly a cut is
allowed. The attacker looks at people whom a group passed over: in a later one, though nearer than
the middle of its members. Along the frontier they have a value that the group had enough of: that
is the control, and must be seen. Dealt at random, their values are in the group as often as
anybody's.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.core.arrays import Codes
from sfumato.models.requirements import requirements

N, L, VALUES, RUNS = 1500, 5, 25, 6


def people(seed: int) -> sf.Microdata:
    random = np.random.default_rng(seed)
    value = random.integers(1, VALUES, N)
    value[random.permutation(N)[: N // L]] = 0
    return sf.read(
        pa.table({"age": np.arange(N), "value": value}),
        sf.Schema(quasi=["age"], sensitive="value"),
    )


def shared(way: sf.Anatomize | sf.Frontier) -> tuple[float, float, int]:
    """How often people who were passed over, and all others, have a value that the group has most
    of; and how many were passed over.
    """
    passed, others = [], []
    for seed in range(RUNS):
        table = people(seed)
        needs = requirements(sf.LDiversity(L), table.schema)
        groups = way.partition(table, needs, sf.Randomness(seed)).groups
        values: Codes = table.codes["value"]
        means = np.bincount(groups, np.arange(N)) / np.bincount(groups)
        for group in range(groups.max() + 1):
            own = np.flatnonzero(groups == group)
            counts = np.bincount(values[own], minlength=VALUES)
            most = np.flatnonzero(counts == counts.max())
            near = np.zeros(N, np.bool_)
            near[own.min() : int(np.median(own))] = True
            later = means[groups] > means[group]
            passed.append(np.isin(values[near & later], most))
            others.append(np.isin(values[~near & later], most))
    there, everywhere = np.concatenate(passed), np.concatenate(others)
    return float(there.mean()), float(everywhere.mean()), len(there)


def test_people_who_are_passed_over_are_known_along_the_frontier() -> None:
    """The control."""
    there, everywhere, n = shared(sf.Frontier())
    assert n > 1000
    assert there > everywhere + 0.5


@pytest.mark.parametrize("size", [L, 2 * L, 5 * L])
def test_dealt_at_random_they_are_anybody(size: int) -> None:
    there, everywhere, n = shared(sf.Anatomize(size=size))
    assert n > 1000
    assert abs(there - everywhere) < 0.02
