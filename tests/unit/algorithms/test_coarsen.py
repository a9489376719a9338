"""Merged sensitive values are a safe stand-in for the real ones."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.algorithms.coarsen import MANY, coarsened
from sfumato.models.base import Model
from sfumato.models.requirements import passing, requirements

DIVERSE = [
    sf.LDiversity(3),
    sf.DistinctLDiversity(4),
    sf.EntropyLDiversity(3.5),
    sf.RecursiveLDiversity(2.0, 3),
]


def incomes(n: int = 6000) -> sf.Microdata:
    """Exact incomes: a few frequent ones, and thousands that occur once or twice."""
    generator = np.random.default_rng(3)
    pay = np.where(generator.random(n) < 0.2, 1000, generator.integers(0, 5000, n))
    table = pa.table({"age": generator.integers(0, 80, n), "pay": pay})
    return sf.Microdata.from_arrow(table, sf.Schema(quasi=["age"], sensitive="pay"))


@pytest.mark.parametrize("model", DIVERSE, ids=str)
def test_what_passes_on_merged_values_passes_on_real_ones(model: Model) -> None:
    table = incomes()
    needs = requirements(model, table.schema)
    merged = coarsened(table, needs)
    assert merged.attributes["pay"].size == MANY
    generator = np.random.default_rng(1)
    real, coarse = [], []
    for _ in range(20):
        groups = sf.Partition.of(generator.permutation(np.arange(6000) // 6).astype(np.int32))
        real.append(passing(needs, table, groups))
        coarse.append(passing(needs, merged, groups))
    assert np.all(np.concatenate(real)[np.concatenate(coarse)])
    # and little is lost by looking at the merged ones
    assert np.concatenate(coarse).sum() > 0.8 * np.concatenate(real).sum()


def test_closeness_is_never_judged_on_merged_values() -> None:
    table = incomes()
    needs = requirements(sf.TCloseness(0.5) & sf.DistinctLDiversity(2), table.schema)
    assert coarsened(table, needs) is table


def test_more_values_than_classes_are_judged_exactly() -> None:
    table = incomes()
    needs = requirements(sf.DistinctLDiversity(MANY + 1), table.schema)
    assert coarsened(table, needs) is table


def test_small_domains_are_left_alone() -> None:
    table = sf.Microdata.from_arrow(
        pa.table({"age": [1, 2], "s": ["a", "b"]}), sf.Schema(quasi=["age"], sensitive="s")
    )
    assert coarsened(table, requirements(sf.LDiversity(2), table.schema)) is table
