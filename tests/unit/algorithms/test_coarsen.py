"""Merged sensitive values are a safe stand-in for the real ones."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.algorithms import coarsen
from sfumato.algorithms.coarsen import MANY, coarsened
from sfumato.models.base import Model
from tests.support.models import bound_of

MODELS: list[Model] = [
    sf.TCloseness(0.25),
    sf.TCloseness(0.3, "ordered") & sf.DistinctLDiversity(2),
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


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_what_passes_on_merged_values_passes_on_real_ones(model: Model) -> None:
    table = incomes()
    exact = bound_of(model, table)
    merged = coarsened(exact)
    assert merged.table.attributes["pay"].size == MANY
    generator = np.random.default_rng(1)
    real, coarse = [], []
    for _ in range(20):
        groups = sf.Partition.of(generator.permutation(np.arange(6000) // 6).astype(np.int32))
        real.append(exact.passing(groups))
        coarse.append(merged.passing(groups))
    assert np.all(np.concatenate(real)[np.concatenate(coarse)])
    # and little is lost by looking at the merged ones
    assert np.concatenate(coarse).sum() > 0.8 * np.concatenate(real).sum()


@pytest.mark.slow
@pytest.mark.parametrize("n_values", [7, 20, 33, 100])
def test_closeness_on_merged_neighbours_is_never_closer_than_it_is(
    n_values: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With classes so few that the slack counts; some values of the domain are nobody's."""
    monkeypatch.setattr(coarsen, "MANY", 6)
    generator = np.random.default_rng(n_values)
    close = passed = 0
    for _ in range(200):
        pay = generator.integers(0, n_values, 60) ** generator.integers(1, 3)
        data = pa.table({"age": np.arange(60), "pay": np.append(pay[:-7], np.arange(7))})
        table = sf.Microdata.from_arrow(data, sf.Schema(quasi=["age"], sensitive="pay"))
        exact = bound_of(sf.TCloseness(0.8), table)
        merged = coarsened(exact)
        groups = sf.Partition.of(generator.permutation(np.arange(60) // 7).astype(np.int32))
        real, coarse = exact.passing(groups), merged.passing(groups)
        assert real[coarse].all()
        close += int(merged is not exact)
        passed += int(coarse.sum())
    assert close > 100
    assert passed > 100


@pytest.mark.parametrize("model", [sf.TCloseness(0.5, "equal"), sf.TCloseness(0.0004)], ids=str)
def test_closeness_that_merging_would_hide_is_judged_exactly(model: Model) -> None:
    table = incomes()
    exact = bound_of(model, table)
    assert coarsened(exact) is exact


def test_more_values_than_classes_are_judged_exactly() -> None:
    table = incomes()
    exact = bound_of(sf.DistinctLDiversity(MANY + 1), table)
    assert coarsened(exact) is exact


def test_small_domains_are_left_alone() -> None:
    table = sf.Microdata.from_arrow(
        pa.table({"age": [1, 2], "s": ["a", "b"]}), sf.Schema(quasi=["age"], sensitive="s")
    )
    exact = bound_of(sf.LDiversity(2), table)
    assert coarsened(exact) is exact
